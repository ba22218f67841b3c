// kernel_rows.cpp: tasks are blocks of columns, every thread holds the packed rows; or, gathering, single
// rows.
#include "kernel_rows.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "block_kernel.hpp"

namespace hinge {

KernelRows::KernelRows(const Samples& samples, const KernelFunction& function)
    : samples_(samples),
      function_(function),
      gather_(gather_is_cheaper(samples, samples)),
      centre_(!gather_ && function.needs().squared ? column_means(samples) : std::vector<double>{}),
      float_keeps_(centre_.empty() || float_keeps(function.sharpness() * spread(samples, centre_))),
      norms_(samples, gather_ ? function.needs() : Needs{}) {}

template <class T, class Out>
void KernelRows::by_products(Span<const std::int32_t> which, Out* const* out,
                             const Parallel& parallel) const {
  const std::size_t n = rows(samples_);
  const Blocking blocking(8 * which.size(), features(samples_), sizeof(T));
  for (std::size_t start = 0; start < which.size(); start += blocking.task, out += blocking.task) {
    const auto some = which.subspan(start, std::min(blocking.task, which.size() - start));
    const std::vector<std::size_t> list(some.begin(), some.end());
    run_tasks((n + blocking.columns - 1) / blocking.columns, parallel, [&] {
      BlockKernel<T> kernel(samples_, RowList(list), samples_, RowList(n), function_, centre_, blocking);
      kernel.load_x({0, list.size()});
      return [&, kernel = std::move(kernel)](std::size_t task, Pulse& pulse) mutable {
        const std::size_t first = task * blocking.columns, count = std::min(blocking.columns, n - first);
        kernel.load_z({first, first + count});
        for (std::size_t i = 0; i < list.size(); i += Blocking::kTile) {
          pulse.beat();
          const std::size_t height = std::min(Blocking::kTile, list.size() - i);
          const T* values = kernel.evaluate(i, height);
          for (std::size_t r = 0; r < height; ++r, values += kernel.stride()) {
            std::copy(values, values + count, out[i + r] + first);
          }
        }
      };
    });
  }
}

template <class Out>
void KernelRows::by_gathering(Span<const std::int32_t> which, Span<Out* const> out,
                              const Parallel& parallel) const {
  constexpr std::size_t width = RowKernel::kColumns;
  const std::size_t n = rows(samples_);
  run_tasks(which.size(), parallel, [&] {
    RowKernel kernel(samples_, samples_, RowList(n), function_, norms_);
    return [&, kernel = std::move(kernel)](std::size_t k, Pulse& pulse) mutable {
      kernel.open(static_cast<std::size_t>(which[k]));
      for (std::size_t j = 0; j < n; j += width) {
        pulse.beat();
        const std::size_t count = std::min(width, n - j);
        const double* const values = kernel.evaluate(j, count);
        std::copy(values, values + count, out[k] + j);
      }
      kernel.close();
    };
  });
}

template <class Out>
void KernelRows::compute(Span<const std::int32_t> which, Span<Out* const> out,
                         const Parallel& parallel) const {
  if (gather_) {
    by_gathering(which, out, parallel);
  } else if (std::is_same_v<Out, float> && is_float32(samples_) && float_keeps_) {
    by_products<float>(which, out.data(), parallel);
  } else {
    by_products<double>(which, out.data(), parallel);
  }
}

template void KernelRows::compute(Span<const std::int32_t>, Span<float* const>, const Parallel&) const;
template void KernelRows::compute(Span<const std::int32_t>, Span<double* const>, const Parallel&) const;

}  // namespace hinge

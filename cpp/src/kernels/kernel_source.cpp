// kernel_source.cpp: default implementations of blocks of rows, row by row.
#include "hinge/kernels/kernel_source.hpp"

#include "parallel/tasks.hpp"

namespace hinge {
namespace {

// One thread: row() is not safe for several.
template <class T>
void rows_in_turn(const KernelSource& kernel, Span<const std::int32_t> which, const Columns& columns,
                  Span<T* const> out,
                  const Parallel& parallel) {
  run_tasks(which.size(), Parallel{1, parallel.poll}, [&] {
    return [&](std::size_t k, Poller&) {
      kernel.row(static_cast<std::size_t>(which[k]), columns.list(), Span<T>(out[k], columns.size()));
    };
  });
}

template <class T>
void add_rows_in_turn(const KernelSource& kernel, Span<const std::int32_t> which, Span<const double> coef,
                      const Columns& columns, Span<double> out, const Parallel& parallel) {
  std::vector<T> values(columns.size());
  T* const row[] = {values.data()};
  for (std::size_t k = 0; k < which.size(); ++k) {
    kernel.block_rows(which.subspan(k, 1), columns, Span<T* const>(row, 1), parallel);
    for (std::size_t j = 0; j < values.size(); ++j) out[j] += coef[k] * static_cast<double>(values[j]);
  }
}

}  // namespace

std::unique_ptr<const Columns> KernelSource::columns(Span<const std::int32_t> list, std::size_t) const {
  return std::make_unique<Columns>(size(), list);
}

void KernelSource::block_rows(Span<const std::int32_t> which, const Columns& columns, Span<double* const> out,
                              const Parallel& parallel, Part) const {
  rows_in_turn(*this, which, columns, out, parallel);
}

void KernelSource::block_rows(Span<const std::int32_t> which, const Columns& columns, Span<float* const> out,
                              const Parallel& parallel, Part) const {
  rows_in_turn(*this, which, columns, out, parallel);
}

void KernelSource::add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, float,
                            Span<double> out, const Parallel& parallel) const {
  add_rows_in_turn<float>(*this, which, coef, columns, out, parallel);
}

void KernelSource::add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, double,
                            Span<double> out, const Parallel& parallel) const {
  add_rows_in_turn<double>(*this, which, coef, columns, out, parallel);
}

void KernelSource::add_square(Span<const std::int32_t> which, Span<const double> coef, Span<double> out,
                              std::size_t bytes, const Parallel& parallel) const {
  if (!which.empty()) add_rows(which, coef, *columns(which, bytes), double{}, out, parallel);
}

void copy_rows(const KernelSource& kernel, Span<const std::int32_t> which, Span<const std::int32_t> columns,
               Span<double> out, const Parallel& parallel) {
  if (which.empty() || out.empty()) return;
  const std::size_t width = out.size() / which.size();
  run_tasks(which.size(), Parallel{1, parallel.poll}, [&] {
    return [&](std::size_t k, Poller&) {
      kernel.row(static_cast<std::size_t>(which[k]), columns, out.subspan(k * width, width));
    };
  });
}

}  // namespace hinge

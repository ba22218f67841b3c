// samples.cpp: properties and checks of samples, for all storages.
#include "hinge/kernels/samples.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "parallel/tasks.hpp"
#include "parallel/thread_pool.hpp"

namespace hinge {

std::size_t rows(const Samples& samples) {
  return std::visit([](const auto& s) { return s.rows; }, samples);
}

std::size_t features(const Samples& samples) {
  return std::visit([](const auto& s) { return s.features; }, samples);
}

bool is_sparse(const Samples& samples) {
  return std::visit([](const auto& s) { return IsCsr<std::decay_t<decltype(s)>>::value; }, samples);
}

bool is_float32(const Samples& samples) {
  return std::visit(
      [](const auto& s) { return std::is_same_v<typename std::decay_t<decltype(s)>::Value, float>; },
      samples);
}

double density(const Samples& samples) {
  const double cells = static_cast<double>(rows(samples)) * static_cast<double>(features(samples));
  if (cells == 0) return 0;
  return std::visit(
      [cells](const auto& s) {
        if constexpr (IsCsr<std::decay_t<decltype(s)>>::value) {
          return static_cast<double>(s.start[s.rows]) / cells;
        } else {
          return 1.0;
        }
      },
      samples);
}

namespace {

constexpr std::size_t kFaultAroundBytes = 1 << 21;  // one page fault may map a whole large page of the file cache
constexpr std::size_t kReleaseInterval = std::size_t{1} << 20;  // indices checked between two releases of pages

}  // namespace

void release_pages(const void* first, const void* last, const void* begin, const void* end) {
#if defined(__unix__) || defined(__APPLE__)
  static const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto down = [](const void* p, std::size_t unit) { return reinterpret_cast<std::uintptr_t>(p) / unit * unit; };
  const auto up = [](const void* p, std::size_t unit) {
    return (reinterpret_cast<std::uintptr_t>(p) + unit - 1) / unit * unit;
  };
  const auto from = std::max(up(begin, page), down(first, kFaultAroundBytes));
  const auto to = std::min(down(end, page), up(last, kFaultAroundBytes));
  if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
#else  // the system decides when it releases the pages of a file
  static_cast<void>(first), static_cast<void>(last), static_cast<void>(begin), static_cast<void>(end);
#endif
}

namespace {

// Whether the indices are at least 0, less than `limit` and strictly ascending.  The loop has no branch, so that it is
// vectorized.
template <class I>
bool ascends(const I* first, const I* last, std::size_t limit) {
  if (first == last) return true;
  int violations = *first < 0;
  for (const I* k = first + 1; k < last; ++k) violations |= k[0] <= k[-1];
  return violations == 0 && static_cast<std::size_t>(last[-1]) < limit;
}

constexpr std::size_t kMinParallelValues = 1'000'000;  // fewer values are checked on one thread
constexpr std::size_t kValuesPerTask = 1 << 17;

// 0 · v is 0 for finite v and NaN otherwise.  The loop has no branch, so that it is vectorized.
template <class T>
bool finite_values(const T* values, std::size_t count) {
  T sums[16] = {};
  std::size_t k = 0;
  for (; k + 16 <= count; k += 16)
    for (std::size_t j = 0; j < 16; ++j) sums[j] += T(0) * values[k + j];
  for (; k < count; ++k) sums[0] += T(0) * values[k];
  T sum = 0;
  for (T part : sums) sum += part;
  return sum == T(0);
}

// Calls work(first, last) for consecutive ranges of `count` values.
template <class Work>
void for_each_range(std::size_t count, int threads, Work work) {
  ThreadPool pool(threads - 1);
  run_tasks((count + kValuesPerTask - 1) / kValuesPerTask, Parallel{threads, {}, &pool}, [&] {
    return [&](std::size_t task, Poller&) {
      work(task * kValuesPerTask, std::min(count, (task + 1) * kValuesPerTask));
    };
  });
}

}  // namespace

bool all_finite(const Samples& samples, int threads) {
  return std::visit(
      [&](const auto& data) {
        std::size_t count = data.rows * data.features;
        if constexpr (IsCsr<std::decay_t<decltype(data)>>::value)
          count = static_cast<std::size_t>(data.start[data.rows]);
        if (count < kMinParallelValues) return finite_values(data.values, count);
        std::atomic<bool> finite{true};
        for_each_range(count, threads, [&](std::size_t first, std::size_t last) {
          if (!finite_values(data.values + first, last - first)) finite = false;
        });
        return finite.load();
      },
      samples);
}

namespace {

// Whether all rows ascend, checked in one loop over all indices: an index that does not exceed its predecessor must be
// the first of its row.  check_csr examines the rows one by one only to report the first violation.
template <class T, class I>
bool rows_ascend(const Csr<T, I>& csr, int threads) {
  const auto stored = static_cast<std::size_t>(csr.start[csr.rows]);
  if (stored == 0) return true;
  const auto limit = static_cast<I>(std::min<std::uint64_t>(csr.features, std::numeric_limits<I>::max()));
  std::size_t row_starts = 0;  // descents that are allowed
  std::atomic<std::size_t> descents{0}, outside{static_cast<std::size_t>(csr.index[0] < 0 || csr.index[0] >= limit)};
  for_each_range(stored - 1, stored < kMinParallelValues ? 1 : threads, [&](std::size_t first, std::size_t last) {
    I descents_here = 0, outside_here = 0;
    for (const I *k = csr.index + first + 1, *end = csr.index + last + 1; k < end; ++k) {
      descents_here += k[0] <= k[-1];
      outside_here += (k[0] < 0) | (k[0] >= limit);
    }
    descents += static_cast<std::size_t>(descents_here), outside += static_cast<std::size_t>(outside_here);
  });
  for (std::size_t i = 1; i < csr.rows; ++i) {
    const auto at = static_cast<std::size_t>(csr.start[i]);
    // Skips empty rows and rows without a preceding index.
    if (csr.start[i] == csr.start[i - 1] || at == 0 || at >= stored) continue;
    row_starts += csr.index[at] <= csr.index[at - 1];
  }
  return outside == 0 && descents == row_starts;
}

}  // namespace

template <class T, class I>
void check_csr(const Csr<T, I>& csr, std::size_t stored, bool release, int threads) {
  std::size_t released = 0;
  if (csr.start[0] != 0 || csr.start[csr.rows] < 0 ||
      static_cast<std::size_t>(csr.start[csr.rows]) > stored) {
    throw std::invalid_argument("csr: indptr must start at 0 and end within the stored values");
  }
  bool increasing = true;
  for (std::size_t i = 0; i < csr.rows; ++i) increasing = increasing & (csr.start[i + 1] >= csr.start[i]);
  if (!release && increasing && rows_ascend(csr, threads)) return;
  for (std::size_t i = 0; i < csr.rows; ++i) {
    if (csr.start[i + 1] < csr.start[i] || csr.start[i + 1] > csr.start[csr.rows]) {
      throw std::invalid_argument("csr: indptr decreases at row " + std::to_string(i));
    }
    if (!ascends(csr.index + csr.start[i], csr.index + csr.start[i + 1], csr.features)) {
      throw std::invalid_argument("csr: the indices of row " + std::to_string(i) + " must ascend within [0, " +
                                  std::to_string(csr.features) + "); call sort_indices and sum_duplicates");
    }
    const std::size_t checked = static_cast<std::size_t>(csr.start[i + 1]);
    if (release && checked - released > kReleaseInterval) {
      release_pages(csr.index + released, csr.index + checked, csr.index, csr.index + csr.start[csr.rows]);
      released = checked;
    }
  }
  if (release) {
    const I* end = csr.index + csr.start[csr.rows];
    release_pages(csr.index + released, end, csr.index, end);
  }
}

template void check_csr(const Csr<float, std::int32_t>&, std::size_t, bool, int);
template void check_csr(const Csr<float, std::int64_t>&, std::size_t, bool, int);
template void check_csr(const Csr<double, std::int32_t>&, std::size_t, bool, int);
template void check_csr(const Csr<double, std::int64_t>&, std::size_t, bool, int);

}  // namespace hinge

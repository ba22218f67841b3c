// row_access.hpp: the kernel rows of a run, stored or discarded after use, and the time they took.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/row_store.hpp"
#include "hinge/kernels/kernel_source.hpp"
#include "hinge/run_control.hpp"
#include "parallel/tasks.hpp"
#include "working_set/active_samples.hpp"

namespace hinge {

template <class T>
class RowAccess {
 public:
  RowAccess(const KernelSource& kernel, std::size_t store_bytes) : store(kernel, store_bytes), kernel_(kernel) {}

  RowStore<T> store;

  std::int64_t misses() const { return store.misses() + discarded_; }

  // Whether kernel values are computed, in blocks at less cost than alone, rather than read.
  bool computed() const { return kernel_.cost() > 0; }

  // Estimated time to compute this many kernel values.
  double seconds_for(double values) const { return values_ > 0 ? seconds_ / values_ * values : 0; }

  // Measures the time of kernel values with a few rows.
  void measure(std::size_t rows, const Parallel& parallel) {
    WeightedSamples probe;
    for (std::size_t i = 0; i < std::min(rows, kernel_.size()); ++i) probe.add(i, 0.0);
    std::vector<double> out(store.columns().size(), 0.0);
    add_discarded(probe, store.columns(), out, parallel);
  }

  void fetch(const std::vector<std::int32_t>& list, const Parallel& parallel) {
    const std::int64_t before = store.misses();
    const Stopwatch stopwatch;
    store.fetch(list, parallel);
    count(store.misses() - before, store.columns().size(), stopwatch);
  }

  // f += Σ change · stored row.
  void add_stored(const WeightedSamples& changes, PairSteps<T>& steps, int threads) const {
    std::vector<const T*> rows;
    for (std::int32_t i : changes.samples) rows.push_back(store.row(static_cast<std::size_t>(i)));
    const std::size_t n = store.columns().size();
    run_tasks((n + kColumns - 1) / kColumns, Parallel{threads, {}}, [&] {
      return [&](std::size_t task, Poller&) {
        const std::size_t first = task * kColumns, length = std::min(kColumns, n - first);
        steps.add(rows.data(), changes.values.data(), rows.size(), first, length);
      };
    });
  }

  // out += K[columns, samples] values, with rows that are not stored.
  void add_discarded(const WeightedSamples& changes, const Columns& columns, std::vector<double>& out,
                     const Parallel& parallel) {
    if (changes.samples.empty() || out.empty()) return;  // an empty list of columns would mean all
    const Stopwatch stopwatch;
    kernel_.add_rows(changes.samples, changes.values, columns, T{}, out, parallel);
    count(static_cast<std::int64_t>(changes.samples.size()), columns.size(), stopwatch);
    discarded_ += static_cast<std::int64_t>(changes.samples.size());
  }

  // The same in double precision.
  void add_in_double(const WeightedSamples& changes, const Columns& columns, std::vector<double>& out,
                     const Parallel& parallel) const {
    kernel_.add_rows(changes.samples, changes.values, columns, double{}, out, parallel);
  }

  // The number of rows that are worth storing: allocating memory costs as much as computing a few simple kernel values.
  std::size_t worth_storing() const {
    const double factor = std::min(kMaxCostFactor, kernel_.cost() / kUnitCost);
    const std::size_t row = sizeof(T) * std::max<std::size_t>(1, store.columns().size());
    return std::min(store.capacity(),
                    static_cast<std::size_t>(double(kRowBytes) * (factor < 1 && factor > 0 ? 1 : factor)) / row);
  }

 private:
  static constexpr std::size_t kColumns = 2048;  // of a task: the part of f stays in the L1 cache
  static constexpr std::size_t kRowBytes = std::size_t(64) << 20;  // of stored rows of a kernel with cost kUnitCost
  static constexpr double kUnitCost = 32, kMaxCostFactor = 16;     // more bytes for more expensive kernels

  void count(std::int64_t rows, std::size_t columns, const Stopwatch& stopwatch) {
    seconds_ += stopwatch.seconds();
    values_ += static_cast<double>(rows) * static_cast<double>(columns);
  }

  const KernelSource& kernel_;
  double seconds_ = 0, values_ = 0;
  std::int64_t discarded_ = 0;
};

}  // namespace hinge

// row_access.hpp: the kernel rows of a run: kept in a store, or passing through; and what they have cost so far.
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
class RowTraffic {
 public:
  RowTraffic(const KernelSource& kernel, std::size_t store_bytes) : store(kernel, store_bytes), kernel_(kernel) {}

  RowStore<T> store;

  std::int64_t misses() const { return store.misses() + passed_; }

  // So long, about, so many kernel values will take.
  double seconds_for(double values) const { return values_ > 0 ? seconds_ / values_ * values : 0; }

  void fetch(const std::vector<std::int32_t>& list, const Parallel& parallel) {
    const std::int64_t before = store.misses();
    const Stopwatch watch;
    store.fetch(list, parallel);
    count(store.misses() - before, store.columns().size(), watch);
  }

  // f += Σ change · stored row, in runs of columns.
  void add_stored(const Weighted& some, PairSteps<T>& steps, int threads) const {
    std::vector<const T*> rows;
    for (std::int32_t i : some.samples) rows.push_back(store.row(static_cast<std::size_t>(i)));
    const std::size_t n = store.columns().size();
    run_tasks((n + kColumns - 1) / kColumns, Parallel{threads, {}}, [&] {
      return [&](std::size_t task, Poller&) {
        const std::size_t first = task * kColumns, length = std::min(kColumns, n - first);
        steps.add(rows.data(), some.values.data(), rows.size(), first, length);
      };
    });
  }

  // out += K[columns, samples] values, with rows that are forgotten at once.
  void add_passing(const Weighted& some, const Columns& columns, std::vector<double>& out, const Parallel& parallel) {
    if (some.samples.empty() || out.empty()) return;  // a list of no columns would mean all
    const Stopwatch watch;
    kernel_.add_rows(some.samples, some.values, columns, T{}, out, parallel);
    count(static_cast<std::int64_t>(some.samples.size()), columns.size(), watch);
    passed_ += static_cast<std::int64_t>(some.samples.size());
  }

  // The same in double precision.
  void add_exactly(const Weighted& some, const Columns& columns, std::vector<double>& out,
                   const Parallel& parallel) const {
    kernel_.add_rows(some.samples, some.values, columns, double{}, out, parallel);
  }

  // How many rows are worth the memory: fresh memory costs as much as a few cheap kernel values.
  std::size_t worth_storing() const {
    const double worth = std::min(16.0, kernel_.cost() / 32);
    const std::size_t row = sizeof(T) * std::max<std::size_t>(1, store.columns().size());
    return std::min(store.capacity(),
                    static_cast<std::size_t>(double(kRowBytes) * (worth < 1 && worth > 0 ? 1 : worth)) / row);
  }

 private:
  // of f brought up to date at a time: they stay in the first-level cache
  static constexpr std::size_t kColumns = 2048;
  // of stored rows of a cheap kernel; up to 16 times that
  static constexpr std::size_t kRowBytes = std::size_t(64) << 20;

  void count(std::int64_t rows, std::size_t columns, const Stopwatch& watch) {
    seconds_ += watch.seconds();
    values_ += static_cast<double>(rows) * static_cast<double>(columns);
  }

  const KernelSource& kernel_;
  double seconds_ = 0, values_ = 0;
  std::int64_t passed_ = 0;
};

}  // namespace hinge

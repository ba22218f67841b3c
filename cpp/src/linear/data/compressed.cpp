// compressed.cpp: see the header.
#include "linear/data/compressed.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "linear/data/ops.hpp"
#include "parallel/tasks.hpp"

namespace hinge {
namespace {

constexpr double kMinValues = 100'000;  // samples with fewer values are not copied
constexpr std::size_t kMinFeatures = 16, kSampledRows = 256;  // fewest features of a copy; rows sampled for an estimate
constexpr std::size_t kBlockBytes = 1 << 17;  // size of a block of rows, which stays in the cache until it is copied
constexpr double kMaxSizeRatio = 0.5;  // largest size of the copy relative to the samples

template <class T>
std::int32_t nonzeros(const T* row, std::size_t features) {
  std::int32_t count = 0;
  for (std::size_t k = 0; k < features; ++k) count += row[k] != 0;
  return count;
}

template <class T>
bool is_worthwhile(double count, double of) {
  return count * (sizeof(T) + sizeof(std::int32_t)) <= kMaxSizeRatio * sizeof(T) * of;
}

// Estimate from a sample of the rows.
template <class T>
bool mostly_zeros(const Dense<T>& from) {
  const std::size_t step = std::max<std::size_t>(1, from.rows / kSampledRows);
  double count = 0, sampled = 0;
  for (std::size_t i = 0; i < from.rows; i += step, sampled += 1) count += nonzeros(from.row(i), from.features);
  return is_worthwhile<T>(count, sampled * static_cast<double>(from.features));
}

// A block of consecutive rows: positions of the nonzero values, and the values.
template <class T>
class BlockOfRows {
 public:
  explicit BlockOfRows(const Dense<T>& from)
      : from_(from), words_((from.features + 63) / 64), values_(from.features + kOverwrite),
        index_(from.features + kOverwrite) {}

  void count_nonzeros(std::size_t first, std::size_t last) {
    first_ = first, count_ = 0;
    bits_.resize((last - first) * words_), counts_.resize(last - first);
    for (std::size_t k = 0; k < counts_.size(); ++k)
      count_ += counts_[k] = hinge::bits(ops_, from_.row(first + k), from_.features, bits_.data() + k * words_);
  }
  std::size_t count() const { return count_; }

  // Writes the values to [at, at + count()) and nothing beyond.
  void copy(std::size_t at, T* values, std::int32_t* index, std::int32_t* start) {
    const std::size_t end = at + count_;
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      const std::size_t i = first_ + k, count = counts_[k];
      const bool fits = at + count + kOverwrite <= end;
      T* const to = fits ? values + at : values_.data();
      std::int32_t* const to_index = fits ? index + at : index_.data();
      hinge::pack(ops_, from_.row(i), from_.features, bits_.data() + k * words_, to, to_index);
      if (!fits) std::copy_n(to, count, values + at), std::copy_n(to_index, count, index + at);
      at += count;
      start[i + 1] = static_cast<std::int32_t>(at);
    }
  }

 private:
  static constexpr std::size_t kOverwrite = 7;  // places that pack writes beyond the last value

  Dense<T> from_;
  const LinearOps& ops_ = linear_ops();
  std::size_t words_, first_ = 0, count_ = 0;
  std::vector<std::uint64_t> bits_;
  std::vector<std::size_t> counts_;
  std::vector<T> values_;  // of the last rows
  std::vector<std::int32_t> index_;
};

}  // namespace

Samples CompactRows::of(const Samples& samples, const Parallel& parallel) {
  Samples view = samples;
  std::visit(
      [&](const auto& data) {
        if constexpr (!IsCsr<std::decay_t<decltype(data)>>::value) make(data, parallel, view);
      },
      samples);
  return view;
}

template <class T>
bool CompactRows::make(const Dense<T>& from, const Parallel& parallel, Samples& view) {
  const std::size_t n = from.rows, d = from.features;
  const double all = static_cast<double>(n) * static_cast<double>(d);
  if (d < kMinFeatures || all < kMinValues || !mostly_zeros(from)) return false;
  const double most = std::floor(kMaxSizeRatio * sizeof(T) * all / (sizeof(T) + sizeof(std::int32_t)));
  if (most > std::numeric_limits<std::int32_t>::max()) return false;
  start_ = Pages<std::int32_t>(n + 1);
  values_ = Pages<char>(static_cast<std::size_t>(most) * sizeof(T));  // pages that are not written take no memory
  index_ = Pages<std::int32_t>(static_cast<std::size_t>(most));
  T* const values = reinterpret_cast<T*>(values_.data());
  std::int32_t *const index = index_.data(), *const start = start_.data();
  start[0] = 0;
  const std::size_t size = std::max<std::size_t>(1, kBlockBytes / (d * sizeof(T)));
  std::atomic<std::size_t> turn{0};
  std::atomic<bool> full{false};
  std::size_t count = 0;  // values of the blocks before the current turn
  // Threads take blocks in order.  A block is counted, waits until all previous blocks have been counted, and is copied
  // while it is in the cache, so that samples are read from memory once.
  run_tasks((n + size - 1) / size, parallel, [&] {
    return [&, block = BlockOfRows<T>(from)](std::size_t c, Poller& poller) mutable {
      if (full.load(std::memory_order_relaxed)) return;  // the copy has been abandoned
      block.count_nonzeros(c * size, std::min(n, (c + 1) * size));
      while (turn.load(std::memory_order_acquire) != c) {
        if (full.load(std::memory_order_relaxed)) return;
        poller.poll();
        std::this_thread::yield();
      }
      const std::size_t first = count;
      count += block.count();
      if (static_cast<double>(count) > most) {
        full = true;
        return;
      }
      turn.store(c + 1, std::memory_order_release);
      block.copy(first, values, index, start);
    };
  });
  if (full) {
    values_ = {}, index_ = {}, start_ = {};
    return false;
  }
  view = Csr<T, std::int32_t>{values, index, start, n, d};
  return true;
}

}  // namespace hinge

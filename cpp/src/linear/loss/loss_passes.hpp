// loss_passes.hpp: parallel loops over the losses of all samples.  The partition depends only on the number of samples,
// and sums are formed part by part, so that results are bit-identical for any number of threads.  A part takes some µs;
// stop requests are not polled here.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "linear/data/ops.hpp"
#include "parallel/tasks.hpp"

namespace hinge {

class LossPasses {
 public:
  LossPasses() = default;  // on one thread
  explicit LossPasses(const Parallel& parallel) : parallel_{parallel.threads, {}, parallel.pool} {}

  // Like the loops of linear/data/ops.hpp.
  void best(const LossArrays& loss, const double* f, double b, double* beta) const;
  LossBounds bounds(const LossArrays& loss, const double* f, double b, const double* beta, double* parts) const;
  LossLine line(const LossArrays& loss, const double* f, double b, const double* q, double q_bias, double tau) const;
  LossRoot root(const LossArrays& loss, const double* f, double b) const;

  // Calls work(part, first, last) for a partition of n samples.
  template <class Work>
  void each(std::size_t n, Work work) const {
    const std::size_t parts = parts_of(n);
    if (parts == 1) return work(std::size_t{0}, std::size_t{0}, n);
    run_tasks(parts, parallel_, [&] {
      return [&](std::size_t c, Poller&) { work(c, first_of(c, parts, n), first_of(c + 1, parts, n)); };
    });
  }

  // Lists the samples with keep(i) in ascending order.  Branch-free, because keep is hard to predict.
  template <class Keep>
  void choose(std::size_t n, std::vector<std::uint32_t>& chosen, Keep keep) const {
    std::array<std::size_t, kMaxParts> counts;
    chosen.resize(n);
    std::uint32_t* const out = chosen.data();
    each(n, [&](std::size_t c, std::size_t first, std::size_t last) {
      std::size_t count = first;
      for (std::size_t i = first; i < last; ++i) {
        out[count] = static_cast<std::uint32_t>(i);
        count += static_cast<std::size_t>(keep(i));
      }
      counts[c] = count - first;
    });
    std::size_t total = counts[0];
    const std::size_t parts = parts_of(n);
    for (std::size_t c = 1; c < parts; ++c) {
      const std::uint32_t* from = out + first_of(c, parts, n);
      if (from != out + total) std::copy(from, from + counts[c], out + total);
      total += counts[c];
    }
    chosen.resize(total);
  }

 private:
  static constexpr std::size_t kPart = 8192, kMaxParts = 64;  // samples of a part; largest number of parts
  static std::size_t parts_of(std::size_t n) { return std::max<std::size_t>(1, std::min(kMaxParts, n / kPart)); }
  static std::size_t first_of(std::size_t c, std::size_t parts, std::size_t n) {
    return c == parts ? n : n * c / parts / 4 * 4;  // multiples of four for the vector loops
  }

  template <class Found, class Loop, class Add>
  Found sum_of(std::size_t n, Loop loop, Add add) const {
    std::array<Found, kMaxParts> found;
    each(n, [&](std::size_t c, std::size_t first, std::size_t last) { found[c] = loop(first, last); });
    for (std::size_t c = 1; c < parts_of(n); ++c) add(found[0], found[c]);
    return found[0];
  }

  Parallel parallel_;
};

}  // namespace hinge

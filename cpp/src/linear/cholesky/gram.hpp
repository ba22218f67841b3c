// gram.hpp: inner products of samples that are free, or have been; each is made once.   docs/math (141)
// Memory: half of a square of kMostKnown rows of double (151 MB), and while rows are added a copy of the samples that
// are known, feature by feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/kernels/samples.hpp"
#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

constexpr std::size_t kMostKnown = 6144;  // samples

class LinearGram {
 public:
  virtual ~LinearGram() = default;

  // Makes the products of all pairs of the list, and sorts it by when its samples became known.  There are no more
  // than kMostKnown of them; those known before are forgotten where there is no room for both.
  virtual void learn(std::vector<std::uint32_t>& list) = 0;
  // The products of sample k with sample l ≤ k of the list that was learned last, for all l: out[0 … k].
  virtual void read(Span<const std::uint32_t> list, std::size_t k, double* out) const = 0;
  virtual double work_of_all() const = 0;  // of the products of all pairs of samples, in the units of LinearChoice
  double work = 0;  // of `learn` so far
};

std::unique_ptr<LinearGram> make_gram(const Samples& samples, const Parallel& parallel);

}  // namespace hinge

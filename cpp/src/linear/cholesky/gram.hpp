// gram.hpp: inner products of samples that are or were free; each is computed once.   docs/math (141)
// Memory: half of a square matrix of kMaxStoredSamples rows (151 MB) and, while rows are added, a copy of the known
// samples by feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/kernels/samples.hpp"
#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

constexpr std::size_t kMaxStoredSamples = 6144;  // samples stored; beyond this, earlier samples are dropped

class LinearGram {
 public:
  virtual ~LinearGram() = default;

  // Computes the products of all pairs of the list, at most kMaxStoredSamples samples, and sorts the list in the order
  // of storage. Earlier samples are dropped if there is not enough space.
  virtual void require(std::vector<std::uint32_t>& list) = 0;
  // Writes the products of sample k with samples l ≤ k of the last list to out[0 … k].
  virtual void read(Span<const std::uint32_t> list, std::size_t k, double* out) const = 0;
  virtual double work_of_all()
      const = 0;    // work of the products of all pairs of samples, in the units of method_choice.hpp
  double work = 0;  // work of `require` so far
};

std::unique_ptr<LinearGram> make_gram(const Samples& samples, const Parallel& parallel);

}  // namespace hinge

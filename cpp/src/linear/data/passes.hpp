// passes.hpp: parallel passes over the samples of a linear problem.  Sums are formed in chunks that depend only on the
// samples, so that results are bit-identical for any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "hinge/kernels/samples.hpp"
#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

constexpr const char* kOverflow =
    "the squared norms of these samples overflow. Scale the data, for example with StandardScaler";

class LinearPasses {
 public:
  virtual ~LinearPasses() = default;
  virtual std::size_t rows() const = 0;
  virtual std::size_t features() const = 0;
  virtual double stored() const = 0;  // values read by a pass
  virtual const Parallel& parallel() const = 0;

  virtual void squared_norms(Span<double> out) = 0;
  virtual void margins(Span<const double> w, Span<double> out) = 0;                    // ⟨w, x_i⟩
  virtual void combine(Span<const double> beta, Span<double> out) = 0;                 // Σ β_i x_i
  // Over a list of rows with weights s:  Σ s_i (⟨v, x_i⟩) x_i;  returns Σ s_i ⟨v, x_i⟩.
  virtual double curvature(Span<const std::uint32_t> list, Span<const double> s, Span<const double> v,
                           Span<double> out) = 0;
  // Σ s_i x_i and Σ s_i x_i² for every feature.
  virtual void moments(Span<const std::uint32_t> list, Span<const double> s, Span<double> first,
                       Span<double> second) = 0;
  virtual void combine_list(Span<const std::uint32_t> list, Span<const double> s, Span<double> out) = 0;  // Σ s_i x_i
  // Upper triangle, row-major with `stride`, of Σ s_i z_i z_iᵀ, z = (x, 1); with `add`, added to `out`.
  virtual void hessian(Span<const std::uint32_t> list, Span<const double> s, std::size_t stride,
                       std::vector<double>& out, bool add) = 0;
  std::int64_t count = 0;  // number of passes
  double visited = 0;      // values read
};

// release_bytes > 0: the samples are memory maps of files, whose pages are released after each part of a pass.
std::unique_ptr<LinearPasses> make_passes(const Samples& samples, const Parallel& parallel, std::size_t release_bytes);

// Releases the pages of rows [first, last).  Only for read-only maps of files.
void release_rows(const Samples& samples, std::size_t first, std::size_t last);

}  // namespace hinge

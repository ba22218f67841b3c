// expansion.hpp: kernel expansions, out = K(X, Z) coef, and kernel blocks K(X, Z), for prediction and products.
// X is n × d, Z is m × d, in any storage; all other arrays are row-major and owned by the caller.
//
// Dense samples, and sparse samples with enough nonzeros, are processed in blocks by matrix products.  The products do
// not use BLAS, so that they run on the given threads only.  Squared distances are computed from norms and dot products
// of data centered on the mean of Z; they are 0 for equal rows.  Sparser samples are processed row by row.  Memory:
// about 20 MB per thread; the samples are never copied to a dense matrix.  Results do not depend on the number of
// threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

// full: all arithmetic in double.
// samples: kernel values in float if X and Z are float and gamma times the spread of Z is small enough for six digits;
//          sums over samples in double.
// single: as `samples`, and products of sparse rows in float as well; for values that are stored as float.
enum class Precision { full, samples, single };

// coef is m × outputs, out n × outputs.  Samples of Z whose coefficients are all 0 are skipped.  Throws
// std::invalid_argument if sizes do not match.
void expand(const Samples& x, const Samples& z, const KernelFunction& function, Span<const double> coef,
            std::size_t outputs, Span<double> out, Precision precision, const Parallel& parallel);

// K(X, Z) in full precision; out is n × m.
void cross(const Samples& x, const Samples& z, const KernelFunction& function, Span<double> out,
           const Parallel& parallel);

// K(X, Z) in float, for tall matrices that are multiplied many times.
void columns(const Samples& x, const Samples& z, const KernelFunction& function, Span<float> out,
             const Parallel& parallel);

// The same as bits of float16; values above 65504 become infinite.  Throws std::logic_error unless has_float16_loops().
void columns(const Samples& x, const Samples& z, const KernelFunction& function, Span<std::uint16_t> out,
             const Parallel& parallel);

}  // namespace hinge

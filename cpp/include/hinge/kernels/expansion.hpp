// expansion.hpp: kernel expansions, out = K(X, Z) coef, and kernel blocks K(X, Z), for prediction and products.
// X is n × d, Z is m × d, in any storage; all other arrays are row-major and the caller's.
//
// Dense samples, and sparse ones with enough nonzeros, go block by block through matrix products of our own:
// they run on the threads given here and on no others, as SciPy's BLAS would not.  Squared distances come
// from the norms trick on data centred on the mean of Z, and are exactly 0 for equal rows.  Sparser samples
// are gathered row by row. Memory: some 20 MB per thread, never a dense copy of the samples. Results do not
// depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

// full: all arithmetic in double.  samples: kernel values in float where X and Z both are float, and where
// gamma times the spread of Z is small enough for them to keep six digits; sums are in double all the same.
// single: the same, and products of sparse rows in float as well; for values that are stored as float.
enum class Precision { full, samples, single };

// coef is m × outputs, out n × outputs; samples of Z whose coefficients are all 0 cost nothing.  Throws
// std::invalid_argument if sizes do not fit.
void expand(const Samples& x, const Samples& z, const KernelFunction& function, Span<const double> coef,
            std::size_t outputs, Span<double> out, Precision precision, const Parallel& parallel);

// out is n × m; full precision.
void cross(const Samples& x, const Samples& z, const KernelFunction& function, Span<double> out,
           const Parallel& parallel);

// The same in float, for tall matrices that are gone through many times.
void columns(const Samples& x, const Samples& z, const KernelFunction& function, Span<float> out,
             const Parallel& parallel);

// The same in float16 (its bits); values beyond 65504 become infinite.  Throws std::logic_error unless has_float16_loops().
void columns(const Samples& x, const Samples& z, const KernelFunction& function, Span<std::uint16_t> out,
             const Parallel& parallel);

}  // namespace hinge

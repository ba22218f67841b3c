// value_error.hpp: bound on the rounding error of kernel values in double precision; docs/math (611).
#pragma once

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"

namespace hinge {

// Bound on |computed − exact k(x, z)| for all pairs of samples.  `radius` bounds the squared distance of a sample from
// the center that squared distances are computed with; `shifted` if a center may be subtracted from sparse samples.  One
// pass over the samples.
double kernel_value_error(const KernelFunction& function, const Samples& samples, double radius,
                          bool shifted);

}  // namespace hinge

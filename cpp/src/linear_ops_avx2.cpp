// linear_ops_avx2.cpp: the loops of linear machines, compiled for AVX2 and FMA.
#include "linear_ops.hpp"
#include "linear_ops.inl"

namespace hinge {

extern const LinearOps linear_ops_avx2;
const LinearOps linear_ops_avx2 = every_linear_operation;

}  // namespace hinge

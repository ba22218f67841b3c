// ops_avx2.cpp: the loops of the linear solver, compiled for AVX2 and FMA.
#include "linear/data/ops.inl"

namespace hinge {

const LinearOps linear_ops_avx2 = every_linear_operation;

}  // namespace hinge

// ops_base.cpp: the loops of the linear solver, compiled for any processor.
#include "linear/data/ops.inl"

namespace hinge {

const LinearOps linear_ops_base = every_linear_operation;

}  // namespace hinge

// ops_base.cpp: the loops of linear machines, compiled for any processor.
#include "linear/data/ops.inl"

namespace hinge {

const LinearOps linear_ops_base = every_linear_operation;

}  // namespace hinge

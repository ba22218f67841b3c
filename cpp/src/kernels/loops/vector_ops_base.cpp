// vector_ops_base.cpp: the hot loops for every processor.
#include "kernels/loops/vector_ops.hpp"
#include "kernels/loops/vector_ops.inl"

namespace hinge {

extern const VectorOps vector_ops_base;
const VectorOps vector_ops_base = every_operation("baseline");

}  // namespace hinge

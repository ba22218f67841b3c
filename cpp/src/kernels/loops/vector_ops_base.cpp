// vector_ops_base.cpp: the loops of vector_ops.inl, compiled for any processor.
#include "kernels/loops/vector_ops.inl"

namespace hinge {

const VectorOps vector_ops_base = vector_ops_table();

}  // namespace hinge

// vector_ops_avx2.cpp: the loops of vector_ops.inl, compiled for AVX2 and FMA.
#include "kernels/loops/vector_ops.inl"

namespace hinge {

const VectorOps vector_ops_avx2 = vector_ops_table();

}  // namespace hinge

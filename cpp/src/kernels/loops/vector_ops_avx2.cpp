// vector_ops_avx2.cpp: the hot loops for processors with AVX2 and FMA (compiled with -mavx2 -mfma).
#include "kernels/loops/vector_ops.hpp"
#include "kernels/loops/vector_ops.inl"

namespace hinge {

extern const VectorOps vector_ops_avx2;
const VectorOps vector_ops_avx2 = every_operation("avx2");

}  // namespace hinge

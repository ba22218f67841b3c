// vector_ops.cpp: which set of hot loops this processor runs.
#include "kernels/loops/vector_ops.hpp"

namespace hinge {

extern const VectorOps vector_ops_base;
extern const VectorOps vector_ops_avx2;

const VectorOps& vector_ops() {
#if defined(__x86_64__) || defined(__i386__)
  static const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return fast ? vector_ops_avx2 : vector_ops_base;
#else
  return vector_ops_base;
#endif
}

}  // namespace hinge

// ops.cpp: which set of loops this processor runs.
#include "linear/data/ops.hpp"

namespace hinge {

extern const LinearOps linear_ops_base;
extern const LinearOps linear_ops_avx2;

const LinearOps& linear_ops() {
#if defined(__x86_64__) || defined(__i386__)
  static const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return fast ? linear_ops_avx2 : linear_ops_base;
#else
  return linear_ops_base;
#endif
}

}  // namespace hinge

// dispatch.cpp: detection of the instruction set.
#include "simd/dispatch.hpp"

#include "hinge/simd.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace hinge {
namespace {

#if defined(__x86_64__) || defined(__i386__)
bool has_f16c() {  // older compilers do not accept __builtin_cpu_supports("f16c")
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

InstructionSet detect() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c()) return InstructionSet::baseline;
  return __builtin_cpu_supports("avx512f") ? InstructionSet::avx512 : InstructionSet::avx2;
}
#else
InstructionSet detect() { return InstructionSet::baseline; }
#endif

}  // namespace

InstructionSet processor_instruction_set() {
  static const InstructionSet detected = detect();
  return detected;
}

// Most loops are not compiled for AVX-512: they do not gain from it.
const char* instruction_set() {
  return processor_instruction_set() == InstructionSet::baseline ? "baseline" : "avx2";
}

}  // namespace hinge

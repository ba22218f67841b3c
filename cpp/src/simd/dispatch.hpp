// dispatch.hpp: selection of compiled loops at run time.
//
// The loops of a family form a struct of function pointers.  They are written once, in an .inl file, which is compiled
// for every instruction set: *_base.cpp without flags, *_avx2.cpp and *_avx512.cpp with those of CMakeLists.txt.  Each
// of these files defines one constant of the struct, and for_processor selects one of them:
//
//   inline const SmoLoops& smo_loops() { return for_processor(smo_loops_base, smo_loops_avx2); }
#pragma once

namespace hinge {

enum class InstructionSet {
  baseline,
  avx2,    // AVX2, FMA and F16C
  avx512,  // the same and AVX-512F
};

// The largest set that this processor has; constant for the life of the process, so results are too.
InstructionSet processor_instruction_set();

template <class Loops>
const Loops& for_processor(const Loops& baseline, const Loops& avx2, const Loops& avx512) {
  switch (processor_instruction_set()) {
    case InstructionSet::avx512: return avx512;
    case InstructionSet::avx2: return avx2;
    case InstructionSet::baseline: break;
  }
  return baseline;
}

template <class Loops>
const Loops& for_processor(const Loops& baseline, const Loops& avx2) {
  return for_processor(baseline, avx2, avx2);
}

}  // namespace hinge

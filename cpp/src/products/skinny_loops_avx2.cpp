// skinny_loops_avx2.cpp: the loops of skinny_loops.inl, compiled for AVX2, FMA and F16C.
#include "products/skinny_loops.inl"

namespace hinge {

const SkinnyLoops skinny_loops_avx2 = kSkinnyLoops;

}  // namespace hinge

// skinny_loops_avx2.cpp: the loops of thin products, compiled for AVX2, FMA and F16C.
#include "products/skinny_loops.inl"

namespace hinge {

const SkinnyLoops skinny_loops_avx2 = kSkinnyLoops;

}  // namespace hinge

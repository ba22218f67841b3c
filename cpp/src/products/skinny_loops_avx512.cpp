// skinny_loops_avx512.cpp: the loops of skinny_loops.inl, compiled for AVX-512.
#include "products/skinny_loops.inl"

namespace hinge {

const SkinnyLoops skinny_loops_avx512 = kSkinnyLoops;

}  // namespace hinge

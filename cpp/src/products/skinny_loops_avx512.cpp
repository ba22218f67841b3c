// skinny_loops_avx512.cpp: the loops of thin products, compiled for AVX-512.
#include "products/skinny_loops.inl"

namespace hinge {

const ThinLoops thin_loops_avx512 = every_thin_loop;

}  // namespace hinge

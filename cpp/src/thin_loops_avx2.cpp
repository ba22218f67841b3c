// thin_loops_avx2.cpp: the loops of thin products, compiled for AVX2, FMA and F16C.
#include "thin_loops.hpp"
#include "thin_loops.inl"

namespace hinge {

extern const ThinLoops thin_loops_avx2;
const ThinLoops thin_loops_avx2 = every_thin_loop;

}  // namespace hinge

// loops_avx2.cpp: the loops of loops.inl, compiled for AVX2 and FMA.
#include "path/loops.inl"

namespace hinge {

const PathLoops path_loops_avx2{dot, axpy, combine, combine_compensated, rates};

}  // namespace hinge

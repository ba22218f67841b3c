// loops_avx2.cpp: the loops of loops.inl, compiled for AVX2 and FMA.
#include "inspection/loops.inl"

namespace hinge {

const ShapleyLoops shapley_loops_avx2{exp_nonpositive, spread, blend, add_quotients, divide, axpy};

}  // namespace hinge

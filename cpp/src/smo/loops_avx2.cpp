// loops_avx2.cpp: the loops of loops.inl, compiled for AVX2 and FMA.
#include "smo/loops.inl"

namespace hinge {

const SmoLoops smo_loops_avx2{select, step<float>, step<double>, partner, partner, add<float>, add<double>};

}  // namespace hinge

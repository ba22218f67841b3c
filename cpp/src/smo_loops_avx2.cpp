// smo_loops_avx2.cpp: the loops of smo_loops.inl, compiled for AVX2 and FMA.
#include "smo_loops.inl"

namespace hinge {

const SmoLoops smo_loops_avx2{thresholds, gains<float>, gains<double>, update<float>, update<double>};

}  // namespace hinge

// smo_loops_base.cpp: the loops of smo_loops.inl, compiled for any processor.
#include "smo_loops.inl"

namespace hinge {

const SmoLoops smo_loops_base{thresholds, gains<float>, gains<double>, update<float>, update<double>};

}  // namespace hinge

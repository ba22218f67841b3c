// loops_base.cpp: the loops of loops.inl, compiled for any processor.
#include "smo/loops.inl"

namespace hinge {

const SmoLoops smo_loops_base{select, step<float>, step<double>, partner, partner, add<float>, add<double>};

}  // namespace hinge

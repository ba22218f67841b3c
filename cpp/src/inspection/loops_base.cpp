// loops_base.cpp: the loops of loops.inl, compiled for any processor.
#include "inspection/loops.inl"

namespace hinge {

const ShapleyLoops shapley_loops_base{exp_nonpositive, spread, blend, add_quotients, divide, axpy};

}  // namespace hinge

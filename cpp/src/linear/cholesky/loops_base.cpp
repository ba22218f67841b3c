// loops_base.cpp: the loops of factors, compiled for any processor.
#include "linear/cholesky/loops.inl"

namespace hinge {

const FactorLoops factor_loops_base = every_factor_loop;

}  // namespace hinge

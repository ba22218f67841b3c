// linear_factor_base.cpp: the loops of factors, compiled for any processor.
#include "linear_factor_loops.hpp"
#include "linear_factor.inl"

namespace hinge {

extern const FactorLoops factor_loops_base;
const FactorLoops factor_loops_base = every_factor_loop;

}  // namespace hinge

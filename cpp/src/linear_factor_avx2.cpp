// linear_factor_avx2.cpp: the loops of factors, compiled for AVX2 and FMA.
#include "linear_factor_loops.hpp"
#include "linear_factor.inl"

namespace hinge {

extern const FactorLoops factor_loops_avx2;
const FactorLoops factor_loops_avx2 = every_factor_loop;

}  // namespace hinge

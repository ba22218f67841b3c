// loops_avx2.cpp: the loops of factors, compiled for AVX2 and FMA.
#include "linear/cholesky/loops.hpp"
#include "linear/cholesky/loops.inl"

namespace hinge {

extern const FactorLoops factor_loops_avx2;
const FactorLoops factor_loops_avx2 = every_factor_loop;

}  // namespace hinge

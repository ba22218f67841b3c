// loops_avx2.cpp: the loops of factors, compiled for AVX2 and FMA.
#include "linear/cholesky/loops.inl"

namespace hinge {

const FactorLoops factor_loops_avx2 = every_factor_loop;

}  // namespace hinge

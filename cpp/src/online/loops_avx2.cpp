// loops_avx2.cpp: the loops of loops.inl, compiled for AVX2 and FMA.
#include "online/loops.inl"

namespace hinge {

const OnlineLoops online_loops_avx2{against_strips<Dot>, against_strips<Squared>, against_strips<Absolute>,
                                    gaussian_against_strips, sum_of_products};

}  // namespace hinge

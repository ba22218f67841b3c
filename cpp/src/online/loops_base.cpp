// loops_base.cpp: the loops of loops.inl, compiled for any processor.
#include "online/loops.inl"

namespace hinge {

const OnlineLoops online_loops_base{against_strips<Dot>, against_strips<Squared>, against_strips<Absolute>,
                                    gaussian_against_strips, sum_of_products};

}  // namespace hinge

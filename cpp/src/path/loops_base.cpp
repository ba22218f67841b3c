// loops_base.cpp: the loops of loops.inl, compiled for any processor.
#include "path/loops.inl"

namespace hinge {

const PathLoops path_loops_base{dot, axpy, combine, combine_compensated, rates};

}  // namespace hinge

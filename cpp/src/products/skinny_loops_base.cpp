// skinny_loops_base.cpp: the loops of thin products, compiled for any processor.
#include "products/skinny_loops.inl"

namespace hinge {

const ThinLoops thin_loops_base = every_thin_loop;

}  // namespace hinge

// skinny_loops_base.cpp: the loops of thin products, compiled for any processor.
#include "products/skinny_loops.hpp"
#include "products/skinny_loops.inl"

namespace hinge {

extern const ThinLoops thin_loops_base;
const ThinLoops thin_loops_base = every_thin_loop;

}  // namespace hinge

// skinny_loops_base.cpp: the loops of skinny_loops.inl, compiled for any processor.
#include "products/skinny_loops.inl"

namespace hinge {

const SkinnyLoops skinny_loops_base = kSkinnyLoops;

}  // namespace hinge

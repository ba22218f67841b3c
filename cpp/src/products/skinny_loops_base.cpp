// skinny_loops_base.cpp: the loops of thin products, compiled for any processor.
#include "products/skinny_loops.inl"

namespace hinge {

const SkinnyLoops skinny_loops_base = kSkinnyLoops;

}  // namespace hinge

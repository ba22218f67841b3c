// instruction_set.cpp: see hinge/simd.hpp.
#include "hinge/simd.hpp"

#include "kernels/loops/vector_ops.hpp"

namespace hinge {

const char* instruction_set() { return vector_ops().name; }

}  // namespace hinge

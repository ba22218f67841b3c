// simd.hpp: the instruction set that the vector loops of this process use.
#pragma once

namespace hinge {

// "avx2" or "baseline".  Determined once from the processor; constant for the life of the process.
const char* instruction_set();

}  // namespace hinge

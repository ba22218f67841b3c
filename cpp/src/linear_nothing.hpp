// linear_nothing.hpp: w = 0, and the dual point that belongs to it.
#pragma once

namespace hinge {

class LinearState;

// From nothing, which has been looked at: where the samples hardly agree on a direction, what they answer to nothing may
// prove that it is near enough to the optimum.   (150)
void prove_nothing(LinearState& state);

}  // namespace hinge

// null_model.hpp: w = 0, and the dual point that belongs to it.
#pragma once

namespace hinge {

class LinearState;

// Kinked losses, from nothing, which has been looked at: where what the samples answer to it, β, hardly adds up to anything, that may
// prove that Xᵀβ, or nothing itself, is near enough to the optimum.   (150)
void prove_nothing(LinearState& state);

}  // namespace hinge

// null_model.hpp: the null model w = 0 and its dual point.
#pragma once

namespace hinge {

class LinearState;

// For piecewise linear losses, after the null model has been evaluated: if Xᵀβ is small at the dual point β of the null
// model, Xᵀβ or the null model itself may prove the target gap.   (150)
void certify_null_model(LinearState& state);

}  // namespace hinge

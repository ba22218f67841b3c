// bias.hpp: the offset b of a linear problem, for solvers and certificates.
#pragma once

namespace hinge {

// b = 0; b with the penalty ½ b²/B²; or b without a penalty, which requires Σβ = total.
enum class Bias : int { none = 0, penalized = 1, free = 2 };

}  // namespace hinge

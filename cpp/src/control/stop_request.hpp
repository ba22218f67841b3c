// stop_request.hpp: the exception with which a solver leaves its loops, and the interval of polling.
#pragma once

#include "hinge/run_control.hpp"

namespace hinge {

inline constexpr double kControlInterval = 0.05;  // seconds between two calls of the run control

struct StopRequest {
  Status status;  // reported to the caller
};

}  // namespace hinge

// stop_request.hpp: the exception with which a solver leaves its loops.
#pragma once

#include "hinge/run_control.hpp"

namespace hinge {

struct StopRequest {
  Status status;  // reported to the caller
};

}  // namespace hinge

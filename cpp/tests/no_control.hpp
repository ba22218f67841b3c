// no_control.hpp: a run control without limits, reports and interrupts.
#pragma once

#include "hinge/run_control.hpp"

namespace hinge::test {

struct NoControl final : RunControl {
  void record(const Snapshot&) override {}
  bool wants_progress() override { return false; }
  bool progress(const Snapshot&) override { return true; }
  bool interrupted() override { return false; }
};

}  // namespace hinge::test

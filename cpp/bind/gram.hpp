// bind/gram.hpp: how Python objects of the kernels room hold their C++ counterparts.
// Each holder keeps the NumPy arrays it views alive.  A solver's binding takes `const Gram&` and uses
// source().
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>
#include <vector>

#include "hinge/kernels/gram.hpp"
#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"

namespace hinge::bind {

using Owners = std::vector<std::shared_ptr<const void>>;  // references to Python arrays

struct Samples {
  hinge::Samples view;
  Owners owners;
};

class Gram {
 public:
  Gram(std::unique_ptr<hinge::Gram> gram, Owners owners)
      : owners_(std::move(owners)), gram_(std::move(gram)) {}

  const hinge::KernelSource& source() const { return *gram_; }
  const hinge::Gram& gram() const { return *gram_; }
  std::size_t size() const { return gram_->size(); }

 private:
  Owners owners_;  // outlives gram_
  std::unique_ptr<hinge::Gram> gram_;
};

// Takes the GIL, runs Python's signal handlers, throws what they raise.
inline void check_signals() {
  const nanobind::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace hinge::bind

// gram.hpp: Python objects that hold samples and kernel matrices.
// They keep the NumPy arrays that they view alive.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>
#include <vector>

#include "hinge/kernels/gram.hpp"
#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"

namespace hinge::bind {

using Owners = std::vector<std::shared_ptr<const void>>;  // references to Python objects

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
  Owners owners_;  // must outlive gram_
  std::unique_ptr<hinge::Gram> gram_;
};

}  // namespace hinge::bind

// terms.hpp: the terms that the loops of kernels sum over the features; see simd/vectors.hpp on who may include it.
#pragma once

#include "simd/vectors.hpp"

namespace hinge {
namespace {

struct Dot {
  template <class V, class B>
  HINGE_INLINE void add(V& sum, const V& x, const V& z) {
    sum += x * z;
  }
};
struct Squared {
  template <class V, class B>
  HINGE_INLINE void add(V& sum, const V& x, const V& z) {
    const V t = x - z;
    sum += t * t;
  }
};
struct Absolute {
  template <class V, class B>
  HINGE_INLINE void add(V& sum, const V& x, const V& z) {
    const V t = x - z;
    sum += (V)((B)t & ~(B)(-V{}));  // clears the sign bit: -V{} is all -0.0
  }
};

}  // namespace
}  // namespace hinge

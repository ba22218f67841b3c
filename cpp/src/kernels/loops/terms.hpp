// terms.hpp: terms that are summed over the features.  Included only by files that may include simd/vectors.hpp.
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

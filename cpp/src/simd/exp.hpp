// exp.hpp: the exponential function of vectors.  Included only by files that may include simd/vectors.hpp.
#pragma once

#include "simd/vectors.hpp"

namespace hinge {
namespace {

// exp(x) = 2^n exp(r), |r| <= ln(2)/2, with a Taylor series accurate to the last bit.  2^n is applied in two factors so
// that results below the smallest normal number are rounded once.  Adding kMagic leaves n in the low bits of the
// mantissa. kLow, kHigh: arguments are clamped to this range; kLowNormal: smaller arguments have subnormal results.
struct ExpDouble {
  static constexpr double kMagic = 0x1.8p52, kLow = -746, kLowNormal = -708, kHigh = 710;
  static constexpr double kLog2e = 1.4426950408889634, kLn2High = 6.93145751953125e-1;
  static constexpr double kLn2Low = 1.42860682030941723212e-6;
  static constexpr int kBias = 1023, kShift = 52, kTerms = 14;
  static constexpr double kTaylor[kTerms] = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
      1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};
};
struct ExpFloat {
  static constexpr float kMagic = 0x1.8p23f, kLow = -105, kLowNormal = -87, kHigh = 89;
  static constexpr float kLog2e = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  static constexpr int kBias = 127, kShift = 23, kTerms = 8;
  static constexpr float kTaylor[kTerms] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24,
                                            1.0f / 6,    0.5f,       1.0f,       1.0f};
};
template <class T>
struct ExpOf;
template <>
struct ExpOf<double> : ExpDouble {};
template <>
struct ExpOf<float> : ExpFloat {};

template <class T>
HINGE_INLINE void exp_vector(typename Lanes<T>::Vector& x) {
  using Vector = typename Lanes<T>::Vector;
  using Bits = typename Lanes<T>::Bits;
  using C = ExpOf<T>;
  x = x < C::kLow ? Vector{} + C::kLow : x;
  x = x > C::kHigh ? Vector{} + C::kHigh : x;
  const Vector n = (x * C::kLog2e + C::kMagic) - C::kMagic;
  const Vector r = (x - n * C::kLn2High) - n * C::kLn2Low;
  Vector series = Vector{} + C::kTaylor[0];
#pragma GCC unroll 16
  for (int k = 1; k < C::kTerms; ++k) series = series * r + C::kTaylor[k];
  const Vector first = n * T(0.5) + C::kMagic;
  const Vector second = (n - (first - C::kMagic)) + C::kMagic;
  const Vector scale1 = (Vector)(((Bits)first + C::kBias) << C::kShift);
  const Vector scale2 = (Vector)(((Bits)second + C::kBias) << C::kShift);
  x = series * scale1 * scale2;
}

// exp for arguments of at most 0: one factor 2^n suffices; 0 for results below the smallest normal number.
template <class T>
HINGE_INLINE void exp_negative(typename Lanes<T>::Vector& x) {
  using Vector = typename Lanes<T>::Vector;
  using Bits = typename Lanes<T>::Bits;
  using C = ExpOf<T>;
  const Bits normal = x > C::kLowNormal;
  const Vector shifted = x * C::kLog2e + C::kMagic;
  const Vector n = shifted - C::kMagic;
  const Vector r = (x - n * C::kLn2High) - n * C::kLn2Low;
  Vector series = Vector{} + C::kTaylor[0];
#pragma GCC unroll 16
  for (int k = 1; k < C::kTerms; ++k) series = series * r + C::kTaylor[k];
  const Vector scale = (Vector)(((Bits)shifted + C::kBias) << C::kShift);
  x = (Vector)((Bits)(series * scale) & normal);
}

}  // namespace
}  // namespace hinge

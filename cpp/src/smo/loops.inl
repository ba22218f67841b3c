// loops.inl: the loops of loops.hpp; compiled for each instruction set (simd/dispatch.hpp).
#include "simd/vectors.hpp"
#include "smo/loops.hpp"

namespace hinge {
namespace {

constexpr double kInfinity = __builtin_huge_val();

// The largest value of each lane and its first position.
struct LaneMaximum {
  Double4 value;
  Long4 at;

  HINGE_INLINE LaneMaximum empty(size_t n) {
    const long long none = static_cast<long long>(n);
    return {Double4{} - kInfinity, Long4{} + none};
  }
  HINGE_INLINE_MEMBER void update(const Double4& v, const Long4& where) {
    const Long4 better = v > value;
    value = better ? v : value;
    at = better ? where : at;
  }
};

HINGE_INLINE void reduce(Thresholds& t, const LaneMaximum& best, const Double4& low) {
  for (int lane = 0; lane < 4; ++lane) {
    const size_t at = static_cast<size_t>(best.at[lane]);
    if (best.value[lane] > t.up || (best.value[lane] == t.up && at < t.at)) t.up = best.value[lane], t.at = at;
    t.low = low[lane] < t.low ? low[lane] : t.low;
  }
}

HINGE_INLINE void update_scalar(Thresholds& t, size_t k, double f, double rise, double fall) {
  const double up = -f - rise, low = -f - fall;
  if (up > t.up) t.up = up, t.at = k;
  t.low = low < t.low ? low : t.low;
}

Thresholds select(const double* f, const double* rise, const double* fall, size_t n) {
  LaneMaximum best = LaneMaximum::empty(n);
  Double4 least = Double4{} + kInfinity;
  Long4 where = {0, 1, 2, 3};
  size_t k = 0;
  for (; k + 4 <= n; k += 4, where += 4) {
    Double4 v, up, down;
    load(f + k, v), load(rise + k, up), load(fall + k, down);
    up = -v - up, down = -v - down;
    best.update(up, where);
    least = down < least ? down : least;
  }
  Thresholds t{-kInfinity, kInfinity, n};
  reduce(t, best, least);
  for (; k < n; ++k) update_scalar(t, k, f[k], rise[k], fall[k]);
  return t;
}

template <class T>
Thresholds step(double* f, const T* x, double a, const T* y, double b, const double* rise, const double* fall,
                size_t n) {
  LaneMaximum best = LaneMaximum::empty(n);
  Double4 least = Double4{} + kInfinity;
  Long4 where = {0, 1, 2, 3};
  size_t k = 0;
  for (; k + 4 <= n; k += 4, where += 4) {
    Double4 v, xv, yv, up, down;
    load(f + k, v), load(x + k, xv), load(y + k, yv), load(rise + k, up), load(fall + k, down);
    v += a * xv + b * yv;
    store(f + k, v);
    up = -v - up, down = -v - down;
    best.update(up, where);
    least = down < least ? down : least;
  }
  Thresholds t{-kInfinity, kInfinity, n};
  reduce(t, best, least);
  for (; k < n; ++k) {
    f[k] += a * static_cast<double>(x[k]) + b * static_cast<double>(y[k]);
    update_scalar(t, k, f[k], rise[k], fall[k]);
  }
  return t;
}

template <class T>
HINGE_INLINE T gain_of(double slope, T curvature, T tau) {
  const T s = slope > 0 ? static_cast<T>(slope) : T(0);
  return s * s / (curvature > tau ? curvature : tau);
}

Partner partner(const double* f, const double* fall, const double* diagonal, const double* row, double up,
                double diagonal_i, double tau, size_t n) {
  LaneMaximum best{Double4{}, Long4{} + static_cast<long long>(n)};
  Long4 where = {0, 1, 2, 3};
  size_t k = 0;
  for (; k + 4 <= n; k += 4, where += 4) {
    Double4 slope, v, d, r;
    load(f + k, slope), load(fall + k, v), load(diagonal + k, d), load(row + k, r);
    slope += v + up;
    slope = slope > 0 ? slope : Double4{};
    d = d + diagonal_i - 2 * r;
    d = d > tau ? d : Double4{} + tau;
    best.update(slope * slope / d, where);
  }
  Partner p{0, n};
  for (int lane = 0; lane < 4; ++lane) {
    const size_t at = static_cast<size_t>(best.at[lane]);
    if (best.value[lane] > p.gain || (best.value[lane] == p.gain && at < p.at)) p.gain = best.value[lane], p.at = at;
  }
  for (; k < n; ++k) {
    const double gain = gain_of(up + f[k] + fall[k], diagonal_i + diagonal[k] - 2 * row[k], tau);
    if (gain > p.gain) p.gain = gain, p.at = k;
  }
  return p;
}

Partner partner(const double* f, const double* fall, const float* diagonal, const float* row, double up,
                double diagonal_i, double tau, size_t n) {
  const float di = static_cast<float>(diagonal_i), least = static_cast<float>(tau);
  Float8 value = {};
  Int8 at = Int8{} + static_cast<int>(n), where = {0, 1, 2, 3, 4, 5, 6, 7};
  size_t k = 0;
  for (; k + 8 <= n; k += 8, where += 8) {
    Double4 low, high, v;
    load(f + k, low), load(fall + k, v);
    low += v + up;
    load(f + k + 4, high), load(fall + k + 4, v);
    high += v + up;
    Float8 slope = __builtin_shufflevector(__builtin_convertvector(low, Float4), __builtin_convertvector(high, Float4),
                                           0, 1, 2, 3, 4, 5, 6, 7);
    Float8 d, r;
    load(diagonal + k, d), load(row + k, r);
    slope = slope > 0 ? slope : Float8{};
    d = d + di - 2 * r;
    d = d > least ? d : Float8{} + least;
    const Float8 gain = slope * slope / d;
    const Int8 better = gain > value;
    value = better ? gain : value;
    at = better ? where : at;
  }
  float most = 0;
  size_t place = n;
  for (int lane = 0; lane < 8; ++lane) {
    const size_t lane_at = static_cast<size_t>(at[lane]);
    if (value[lane] > most || (value[lane] == most && lane_at < place)) most = value[lane], place = lane_at;
  }
  for (; k < n; ++k) {
    const float gain = gain_of(up + f[k] + fall[k], di + diagonal[k] - 2 * row[k], least);
    if (gain > most) most = gain, place = k;
  }
  return {static_cast<double>(most), place};
}

template <class T>
void add(double* f, const T* const* x, const double* a, size_t rows, size_t first, size_t n) {
  size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T *const p = x[r] + first, *const q = x[r + 1] + first, *const s = x[r + 2] + first,
        *const t = x[r + 3] + first;
    const double ap = a[r], aq = a[r + 1], as = a[r + 2], at = a[r + 3];
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
      Double4 v, pv, qv, sv, tv;
      load(f + k, v), load(p + k, pv), load(q + k, qv), load(s + k, sv), load(t + k, tv);
      v += (ap * pv + aq * qv) + (as * sv + at * tv);
      store(f + k, v);
    }
    for (; k < n; ++k) {
      f[k] += (ap * static_cast<double>(p[k]) + aq * static_cast<double>(q[k])) +
              (as * static_cast<double>(s[k]) + at * static_cast<double>(t[k]));
    }
  }
  for (; r < rows; ++r) {
    const T* const p = x[r] + first;
    const double ap = a[r];
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
      Double4 v, pv;
      load(f + k, v), load(p + k, pv);
      v += ap * pv;
      store(f + k, v);
    }
    for (; k < n; ++k) f[k] += ap * static_cast<double>(p[k]);
  }
}

}  // namespace
}  // namespace hinge

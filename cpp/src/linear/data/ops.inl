// ops.inl: the loops, included once per instruction set.  Must not instantiate templates of the standard library, which
// the linker would share between instruction sets.
#include "linear/data/ops.hpp"
#include "simd/vectors.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace hinge {
namespace {

template <class T>
double dot_row(const T* x, const double* w, size_t d) {
  Double4 a = {}, b = {}, c = {}, e = {};
  size_t k = 0;
  for (; k + 16 <= d; k += 16) {
    a += load4(x + k) * load4(w + k);
    b += load4(x + k + 4) * load4(w + k + 4);
    c += load4(x + k + 8) * load4(w + k + 8);
    e += load4(x + k + 12) * load4(w + k + 12);
  }
  for (; k + 4 <= d; k += 4) a += load4(x + k) * load4(w + k);
  const Double4 sum = (a + b) + (c + e);
  double rest = 0;
  for (; k < d; ++k) rest += static_cast<double>(x[k]) * w[k];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

template <class T>
void add_row(const T* x, double factor, double* w, size_t d) {
  const Double4 f = {factor, factor, factor, factor};
  size_t k = 0;
  for (; k + 8 <= d; k += 8) {
    store(w + k, load4(w + k) + f * load4(x + k));
    store(w + k + 4, load4(w + k + 4) + f * load4(x + k + 4));
  }
  for (; k < d; ++k) w[k] += factor * static_cast<double>(x[k]);
}

// Bits of the nonzero values among eight.
#if defined(__AVX2__)
HINGE_INLINE unsigned byte_of(const double* x) {
  const __m256d zero = _mm256_setzero_pd();
  const int low = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(x), zero, _CMP_NEQ_UQ));
  const int high = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(x + 4), zero, _CMP_NEQ_UQ));
  return static_cast<unsigned>(low | high << 4);
}
HINGE_INLINE unsigned byte_of(const float* x) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_setzero_ps(), _CMP_NEQ_UQ)));
}
#else
template <class T>
HINGE_INLINE unsigned byte_of(const T* x) {
  unsigned byte = 0;
  for (unsigned k = 0; k < 8; ++k) byte |= static_cast<unsigned>(x[k] != 0) << k;
  return byte;
}
#endif

template <class T>
size_t bits_of_row(const T* x, size_t d, std::uint64_t* words) {
  size_t count = 0;
  for (size_t first = 0; first < d; first += 64) {
    const size_t last = first + 64 < d ? first + 64 : d;
    std::uint64_t word = 0;
    size_t k = first;
    for (; k + 8 <= last; k += 8) word |= static_cast<std::uint64_t>(byte_of(x + k)) << (k - first);
    for (; k < last; ++k) word |= static_cast<std::uint64_t>(x[k] != 0) << (k - first);
    *words++ = word;
    count += static_cast<size_t>(__builtin_popcountll(word));
  }
  return count;
}

// Permutation that moves the set bits of a byte to the front.
struct Places {
  std::uint8_t of[256][8] = {};
  constexpr Places() {
    for (unsigned byte = 0; byte < 256; ++byte) {
      unsigned count = 0;
      for (unsigned k = 0; k < 8; ++k)
        if (byte >> k & 1) of[byte][count++] = static_cast<std::uint8_t>(k);
    }
  }
};
constexpr Places kPlaces;

// Packs the nonzero values of eight and their columns; writes eight places.
#if defined(__AVX2__)
HINGE_INLINE void pack_values(const float* x, unsigned byte, float* values) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kPlaces.of[byte]));
  _mm256_storeu_ps(values, _mm256_permutevar8x32_ps(_mm256_loadu_ps(x), _mm256_cvtepu8_epi32(bytes)));
}
// The same for four doubles, as eight halves.
HINGE_INLINE void pack4(const double* x, unsigned bits, double* values) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kPlaces.of[bits]));
  const __m256i low = _mm256_slli_epi64(_mm256_cvtepu8_epi64(bytes), 1);
  const __m256i high = _mm256_slli_epi64(_mm256_add_epi64(low, _mm256_set1_epi64x(1)), 32);
  const __m256i moved =
      _mm256_permutevar8x32_epi32(_mm256_castpd_si256(_mm256_loadu_pd(x)), _mm256_or_si256(low, high));
  _mm256_storeu_pd(values, _mm256_castsi256_pd(moved));
}
HINGE_INLINE void pack_values(const double* x, unsigned byte, double* values) {
  pack4(x, byte & 15, values);
  pack4(x + 4, byte >> 4, values + __builtin_popcount(byte & 15));
}
template <class T>
HINGE_INLINE void pack8(const T* x, unsigned byte, std::int32_t column, T* values, std::int32_t* index) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kPlaces.of[byte]));
  pack_values(x, byte, values);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(index),
                      _mm256_add_epi32(_mm256_cvtepu8_epi32(bytes), _mm256_set1_epi32(column)));
}
#else
template <class T>
HINGE_INLINE void pack8(const T* x, unsigned byte, std::int32_t column, T* values, std::int32_t* index) {
  for (unsigned k = 0; k < 8; ++k) values[k] = x[kPlaces.of[byte][k]], index[k] = column + kPlaces.of[byte][k];
}
#endif

template <class T>
void pack_row(const T* x, size_t d, const std::uint64_t* words, T* values, std::int32_t* index) {
  size_t k = 0;
  for (; k + 8 <= d; k += 8) {
    const unsigned byte = static_cast<unsigned>(words[k / 64] >> (k % 64) & 0xff);
    if (byte == 0) continue;
    pack8(x + k, byte, static_cast<std::int32_t>(k), values, index);
    const int count = __builtin_popcount(byte);
    values += count, index += count;
  }
  for (; k < d; ++k)
    if (words[k / 64] >> (k % 64) & 1) *values++ = x[k], *index++ = static_cast<std::int32_t>(k);
}

// out[r] = ⟨x_r, w⟩ for many rows.
template <class T>
void dot_rows(const T* x, size_t rows, size_t d, const double* w, double* out) {
  for (size_t r = 0; r < rows; ++r, x += d) {
    Double4 a = {}, b = {};
    size_t k = 0;
    for (; k + 8 <= d; k += 8) {
      a += load4(x + k) * load4(w + k);
      b += load4(x + k + 4) * load4(w + k + 4);
    }
    if (k + 4 <= d) {
      a += load4(x + k) * load4(w + k);
      k += 4;
    }
    a += b;
    double rest = 0;
    for (; k < d; ++k) rest += static_cast<double>(x[k]) * w[k];
    out[r] = ((a[0] + a[1]) + (a[2] + a[3])) + rest;
  }
}

// w += Σ factor_r x_r, eight columns of two rows at a time, in blocks of rows that fit into the cache.
template <class T>
void add_rows(const T* x, const double* factor, size_t rows, size_t d, double* w) {
  for (size_t first = 0; first < rows; first += 32) {
    const size_t last = first + 32 < rows ? first + 32 : rows;
    size_t k = 0;
    for (; k + 8 <= d; k += 8) {
      Double4 a = load4(w + k), b = load4(w + k + 4), c = {}, e = {};
      size_t r = first;
      for (; r + 2 <= last; r += 2) {
        const double u = factor[r], v = factor[r + 1];
        const T *one = x + r * d + k, *two = one + d;
        a += u * load4(one);
        b += u * load4(one + 4);
        c += v * load4(two);
        e += v * load4(two + 4);
      }
      if (r < last) {
        a += factor[r] * load4(x + r * d + k);
        b += factor[r] * load4(x + r * d + k + 4);
      }
      store(w + k, a + c);
      store(w + k + 4, b + e);
    }
    for (; k < d; ++k) {
      double sum = w[k];
      for (size_t r = first; r < last; ++r) sum += factor[r] * static_cast<double>(x[r * d + k]);
      w[k] = sum;
    }
  }
}

void lanes_apart(const double* w, const double* a, const double* b, size_t d, double* cross, double* curvature) {
  Double4 both = {}, sum = {};
  size_t k = 0;
  for (; k + 4 <= d; k += 4) {
    const Double4 at = load4(w + k), x = load4(a + k) - at, y = load4(b + k) - at;
    both += x * y;
    sum += (x + y) * (x + y);
  }
  for (; k < d; ++k) {
    const double x = a[k] - w[k], y = b[k] - w[k];
    both[0] += x * y;
    sum[0] += (x + y) * (x + y);
  }
  *cross += (both[0] + both[1]) + (both[2] + both[3]);
  *curvature += (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void merge_lanes(double* w, double* a, double* b, size_t d, double step) {
  for (size_t k = 0; k < d; ++k) {
    const double at = w[k], next = at + step * ((a[k] - at) + (b[k] - at));
    w[k] = a[k] = b[k] = next;
  }
}

void rank8_rows(const double* rows, const double* scale, size_t stride, double* h) {
  for (size_t i = 0; i < stride; ++i) {
    Double4 f[8];
    for (size_t r = 0; r < 8; ++r) {
      const double v = scale[r] * rows[r * stride + i];
      f[r] = Double4{v, v, v, v};
    }
    double* line = h + i * stride;
    for (size_t j = i & ~size_t{3}; j < stride; j += 4) {
      Double4 sum = load4(line + j), other = f[1] * load4(rows + stride + j);
      sum += f[0] * load4(rows + j);
#pragma GCC unroll 3
      for (size_t r = 2; r < 8; r += 2) {
        sum += f[r] * load4(rows + r * stride + j);
        other += f[r + 1] * load4(rows + (r + 1) * stride + j);
      }
      store(line + j, sum + other);
    }
  }
}

// ---- the losses of all samples, four at a time; V is Double4, or double for the last few ----

template <class V>
struct Term {
  V target, lower, upper, inverse;
  double tube;
  HINGE_INLINE Term at(const LossArrays& loss, size_t i) {
    Term t;
    load(loss.target + i, t.target), load(loss.lower + i, t.lower);
    load(loss.upper + i, t.upper);
    if (loss.inverse) {
      load(loss.inverse + i, t.inverse);
    } else {
      t.inverse = (t.target - t.target) + kHugeInverse;
    }
    t.tube = loss.tube;
    return t;
  }
  HINGE_INLINE_MEMBER V best(const V& r) const {
    const V zero = r - r;
    V z = r > tube ? r - tube : (r < -tube ? r + tube : zero);
    z *= inverse;
    z = z < lower ? lower : z;
    return z > upper ? upper : z;
  }
};

template <class V>
HINGE_INLINE V absolute(const V& v) {
  return v < 0.0 ? -v : v;
}

template <class V>
HINGE_INLINE void best_at(const LossArrays& loss, const double* f, double b, double* beta, size_t i) {
  V x;
  load(f + i, x);
  const Term<V> term = Term<V>::at(loss, i);
  store(beta + i, term.best(term.target - (x + b)));
}

void best_all(const LossArrays& loss, const double* f, double b, double* beta) {
  size_t i = 0;
  for (; i + 4 <= loss.n; i += 4) best_at<Double4>(loss, f, b, beta, i);
  for (; i < loss.n; ++i) best_at<double>(loss, f, b, beta, i);
}

template <class V>
struct BoundSums {
  V gap, loss, violation, sum;
  HINGE_INLINE_MEMBER void add(const LossArrays& all, const double* f, double b,
                                                 const double* beta, double* parts, size_t i) {
    V x, at, ridge;
    load(f + i, x), load(beta + i, at), load(all.ridge + i, ridge);
    const Term<V> term = Term<V>::at(all, i);
    const double tube = all.tube;
    const V r = term.target - (x + b), star = term.best(r), zero = r - r;
    V part = (star - at) * (r - 0.5 * ridge * (star + at)) - tube * (absolute(star) - absolute(at));
    part = part > 0.0 ? part : zero;
    store(parts + i, part);
    gap += part, sum += at;
    loss += star * (r - 0.5 * ridge * star) - tube * absolute(star);
    const V slope = ridge * at - r;
    const V right = at >= 0.0 ? -(slope + tube) : -(slope - tube), left = at > 0.0 ? slope + tube : slope - tube;
    const V up = at < term.upper ? right : zero, down = at > term.lower ? left : zero;
    violation = up > violation ? up : violation;
    violation = down > violation ? down : violation;
  }
};

LossBounds bounds_all(const LossArrays& loss, const double* f, double b, const double* beta,
                             double* parts) {
  BoundSums<Double4> many = {};
  BoundSums<double> few = {};
  size_t i = 0;
  for (; i + 4 <= loss.n; i += 4) many.add(loss, f, b, beta, parts, i);
  for (; i < loss.n; ++i) few.add(loss, f, b, beta, parts, i);
  const double a = maximum(many.violation), c = few.violation;
  return {sum(many.gap) + few.gap, sum(many.loss) + few.loss, a > c ? a : c, sum(many.sum) + few.sum};
}

template <class V>
struct LineSums {
  V slope, curvature;
  HINGE_INLINE_MEMBER void add(const LossArrays& all, const double* f, double b,
                                                 const double* q, double q_bias, double tau, size_t i) {
    V x, move;
    load(f + i, x), load(q + i, move);
    move += q_bias;
    const Term<V> term = Term<V>::at(all, i);
    const V star = term.best(term.target - (x + b + tau * move)), zero = x - x;
    slope += star * move;
    V rise = star > term.lower ? move * move * term.inverse : zero;
    rise = star < term.upper ? rise : zero;
    curvature += star != 0.0 ? rise : zero;
  }
};

LossLine line_all(const LossArrays& loss, const double* f, double b, const double* q, double q_bias,
                         double tau) {
  LineSums<Double4> many = {};
  LineSums<double> few = {};
  size_t i = 0;
  for (; i + 4 <= loss.n; i += 4) many.add(loss, f, b, q, q_bias, tau, i);
  for (; i < loss.n; ++i) few.add(loss, f, b, q, q_bias, tau, i);
  return {sum(many.slope) + few.slope, sum(many.curvature) + few.curvature};
}

template <class V>
struct RootSums {
  V sum, mass, rise;
  HINGE_INLINE_MEMBER void add(const LossArrays& all, const double* f, double b, size_t i) {
    V x;
    load(f + i, x);
    const Term<V> term = Term<V>::at(all, i);
    const V star = term.best(term.target - (x + b)), zero = x - x;
    sum += star, mass += absolute(star);
    V one = star > term.lower ? term.inverse : zero;
    one = star < term.upper ? one : zero;
    rise += star != 0.0 ? one : zero;
  }
};

LossRoot root_all(const LossArrays& loss, const double* f, double b) {
  RootSums<Double4> many = {};
  RootSums<double> few = {};
  size_t i = 0;
  for (; i + 4 <= loss.n; i += 4) many.add(loss, f, b, i);
  for (; i < loss.n; ++i) few.add(loss, f, b, i);
  return {sum(many.sum) + few.sum, sum(many.mass) + few.mass, sum(many.rise) + few.rise};
}

constexpr LinearOps every_linear_operation = {&dot_row<float>,
                                              &dot_row<double>,
                                              &add_row<float>,
                                              &add_row<double>,
                                              &dot_rows<float>,
                                              &dot_rows<double>,
                                              &add_rows<float>,
                                              &add_rows<double>,
                                              &bits_of_row<float>,
                                              &bits_of_row<double>,
                                              &pack_row<float>,
                                              &pack_row<double>,
                                              &lanes_apart,
                                              &merge_lanes,
                                              &rank8_rows,
                                              &best_all,
                                              &bounds_all,
                                              &line_all,
                                              &root_all};

}  // namespace
}  // namespace hinge

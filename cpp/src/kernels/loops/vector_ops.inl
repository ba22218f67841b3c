// vector_ops.inl: the loops themselves, included by one file per instruction set, each with its own flags.
// Written with the vector extension of GCC and Clang: eight floats or four doubles at a time, which the
// baseline build splits in two.  Nothing here may instantiate a template of the standard library: the linker
// would be free to give its AVX2 version to everybody.
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors never cross a function that is not inlined

namespace {

using std::int32_t;
using std::size_t;

typedef double Double4 __attribute__((vector_size(32)));
typedef long long Long4 __attribute__((vector_size(32)));
typedef float Float8 __attribute__((vector_size(32)));
typedef int Int8 __attribute__((vector_size(32)));
typedef float Float4 __attribute__((vector_size(16)));

template <class T>
struct Lanes;
template <>
struct Lanes<double> {
  using Vector = Double4;
  using Bits = Long4;
  static constexpr Bits iota = {0, 1, 2, 3};
};
template <>
struct Lanes<float> {
  using Vector = Float8;
  using Bits = Int8;
  static constexpr Bits iota = {0, 1, 2, 3, 4, 5, 6, 7};
};

#define HINGE_INLINE static inline __attribute__((always_inline))

HINGE_INLINE void load(const double* p, Double4& v) { __builtin_memcpy(&v, p, sizeof v); }
HINGE_INLINE void load(const float* p, Float8& v) { __builtin_memcpy(&v, p, sizeof v); }
HINGE_INLINE void load(const float* p, Double4& v) {
  Float4 f;
  __builtin_memcpy(&f, p, sizeof f);
  v = __builtin_convertvector(f, Double4);
}

// ---- one row against many ----

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

// The sums over the lanes of four vectors, each by the same tree.
HINGE_INLINE void sum_lanes(const Double4* a, double* out) {
  const Double4 ab =
      __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6) + __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
  const Double4 cd =
      __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6) + __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
  const Double4 sums =
      __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  __builtin_memcpy(out, &sums, sizeof sums);
}
HINGE_INLINE void sum_lanes(const Float8* a, float* out) {
  const Float8 ab = __builtin_shufflevector(a[0], a[1], 0, 8, 2, 10, 4, 12, 6, 14) +
                    __builtin_shufflevector(a[0], a[1], 1, 9, 3, 11, 5, 13, 7, 15);
  const Float8 cd = __builtin_shufflevector(a[2], a[3], 0, 8, 2, 10, 4, 12, 6, 14) +
                    __builtin_shufflevector(a[2], a[3], 1, 9, 3, 11, 5, 13, 7, 15);
  const Float8 abcd = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                      __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
  Float4 low, high;
  __builtin_memcpy(&low, &abcd, sizeof low);
  __builtin_memcpy(&high, reinterpret_cast<const char*>(&abcd) + sizeof low, sizeof high);
  const Float4 sums = low + high;
  __builtin_memcpy(out, &sums, sizeof sums);
}

// Four rows of z at a time; a last group of fewer repeats its last row.  The end of a row that does not fill
// a vector is read again from the left, with what has been counted already set to zero in both.
template <class Term, class In, class Acc>
void against_rows(const In* x, const In* z, size_t stride, size_t d, const int32_t* columns, size_t count,
                  Acc* out) {
  using Vector = typename Lanes<Acc>::Vector;
  using Bits = typename Lanes<Acc>::Bits;
  constexpr size_t W = sizeof(Vector) / sizeof(Acc);
  const size_t whole = d / W * W;
  const Bits fresh = Lanes<Acc>::iota >= static_cast<int>(W - (d - whole));
  for (size_t j = 0; j < count; j += 4) {
    const In* row[4];
    for (size_t c = 0; c < 4; ++c) {
      const size_t k = j + c < count ? j + c : count - 1;
      row[c] = z + stride * (columns ? static_cast<size_t>(columns[k]) : k);
    }
    Vector sum[4] = {};
    Vector xv, zv;
    for (size_t k = 0; k < whole; k += W) {
      load(x + k, xv);
      for (int c = 0; c < 4; ++c) {
        load(row[c] + k, zv);
        Term::template add<Vector, Bits>(sum[c], xv, zv);
      }
    }
    if (whole < d) {
      load(x + d - W, xv);
      xv = (Vector)((Bits)xv & fresh);
      for (int c = 0; c < 4; ++c) {
        load(row[c] + d - W, zv);
        zv = (Vector)((Bits)zv & fresh);
        Term::template add<Vector, Bits>(sum[c], xv, zv);
      }
    }
    if (j + 4 <= count) {
      sum_lanes(sum, out + j);
    } else {
      Acc last[4];
      sum_lanes(sum, last);
      for (size_t c = 0; j + c < count; ++c) out[j + c] = last[c];
    }
  }
}

// ---- matrix products ----

struct Times {
  template <class V, class T>
  HINGE_INLINE void add(V& sum, const V& z, T x) {
    sum += z * x;
  }
};
struct Distance {
  template <class V, class T>
  HINGE_INLINE void add(V& sum, const V& z, T x) {
    const V t = z - x;
    sum += t * t;
  }
};

// Twelve vectors of sums stay in registers while the features go by.
template <class Term, class T>
void strip_product(size_t strips, size_t d, const T* x, size_t stride_x, const T* z, bool accumulate, T* c,
                   size_t stride_c) {
  using Vector = typename Lanes<T>::Vector;
  constexpr size_t W = sizeof(Vector) / sizeof(T), R = hinge::kStripX;
  for (size_t s = 0; s < strips; ++s, x += stride_x, c += R * stride_c) {
    Vector sum[R][2] = {};
    const T* left = x;
    const T* right = z;
    for (size_t f = 0; f < d; ++f, left += R, right += 2 * W) {
      Vector z0, z1;
      load(right, z0);
      load(right + W, z1);
#pragma GCC unroll 6
      for (size_t r = 0; r < R; ++r) {
        Term::add(sum[r][0], z0, left[r]);
        Term::add(sum[r][1], z1, left[r]);
      }
    }
#pragma GCC unroll 6
    for (size_t r = 0; r < R; ++r) {
      Vector* const out = reinterpret_cast<Vector*>(c + r * stride_c);
      out[0] = accumulate ? out[0] + sum[r][0] : sum[r][0];
      out[1] = accumulate ? out[1] + sum[r][1] : sum[r][1];
    }
  }
}

template <class T>
void strip_norms(size_t width, size_t d, const T* strip, bool accumulate, T* norms) {
  for (size_t r = 0; r < width; ++r) {
    T sum = 0;
    for (size_t f = 0; f < d; ++f) sum += strip[f * width + r] * strip[f * width + r];
    norms[r] = accumulate ? norms[r] + sum : sum;
  }
}

// ---- panels against sparse rows ----

HINGE_INLINE void transpose(Double4* a) {
  const Double4 t0 = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6), t1 = __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
  const Double4 t2 = __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6), t3 = __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
  a[0] = __builtin_shufflevector(t0, t2, 0, 1, 4, 5);
  a[1] = __builtin_shufflevector(t1, t3, 0, 1, 4, 5);
  a[2] = __builtin_shufflevector(t0, t2, 2, 3, 6, 7);
  a[3] = __builtin_shufflevector(t1, t3, 2, 3, 6, 7);
}
HINGE_INLINE void transpose(Float8* a) {
  Float8 t[8], u[8];
#pragma GCC unroll 4
  for (int k = 0; k < 8; k += 2) {
    t[k] = __builtin_shufflevector(a[k], a[k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[k + 1] = __builtin_shufflevector(a[k], a[k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int k = 0; k < 8; k += 4) {
    u[k] = __builtin_shufflevector(t[k], t[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    u[k + 1] = __builtin_shufflevector(t[k], t[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    u[k + 2] = __builtin_shufflevector(t[k + 1], t[k + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    u[k + 3] = __builtin_shufflevector(t[k + 1], t[k + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    a[k] = __builtin_shufflevector(u[k], u[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    a[k + 4] = __builtin_shufflevector(u[k], u[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// Up to twelve vectors of sums stay in registers while the nonzeros of a row go by; as many rows as a vector has lanes
// are collected and turned, so that c is written row by row.
template <class T, size_t V>
void panel_vectors(const T* panel, const size_t* begin, const size_t* end, const int32_t* index, const T* values,
                   size_t count, T* c, size_t stride_c) {
  using Vector = typename Lanes<T>::Vector;
  constexpr size_t W = sizeof(Vector) / sizeof(T);
  Vector turned[V][W];
  for (size_t j = 0; j < count; j += W) {
    for (size_t k = 0; k < W; ++k) {
      Vector sum[V] = {};
      if (j + k < count) {
        for (size_t e = begin[j + k]; e < end[j + k]; ++e) {
          const T* const x = panel + static_cast<size_t>(index[e]) * hinge::kPanelWidth<T>;
          const Vector value = Vector{} + values[e];
#pragma GCC unroll 12
          for (size_t v = 0; v < V; ++v) {
            Vector xv;
            load(x + v * W, xv);
            sum[v] += xv * value;
          }
        }
      }
#pragma GCC unroll 12
      for (size_t v = 0; v < V; ++v) turned[v][k] = sum[v];
    }
    for (size_t v = 0; v < V; ++v) {
      transpose(turned[v]);
      for (size_t r = 0; r < W; ++r) *reinterpret_cast<Vector*>(c + (v * W + r) * stride_c + j) = turned[v][r];
    }
  }
}

template <class T>
void panel_product(size_t rows, const T* panel, const size_t* begin, const size_t* end, const int32_t* index,
                   const T* values, size_t count, T* c, size_t stride_c) {
  const size_t vectors = (rows + sizeof(Double4) / sizeof(T) - 1) / (sizeof(Double4) / sizeof(T));
  auto* const product = vectors <= 1   ? panel_vectors<T, 1>
                        : vectors <= 2 ? panel_vectors<T, 2>
                        : vectors <= 4 ? panel_vectors<T, 4>
                        : vectors <= 6 ? panel_vectors<T, 6>
                        : vectors <= 8 ? panel_vectors<T, 8>
                        : vectors <= 10 ? panel_vectors<T, 10>
                                        : panel_vectors<T, 12>;
  product(panel, begin, end, index, values, count, c, stride_c);
}

template <class T>
void panel_norms(size_t d, const T* panel, T* norms) {
  using Vector = typename Lanes<T>::Vector;
  constexpr size_t W = sizeof(Vector) / sizeof(T), V = hinge::kPanelWidth<T> / W;
  Vector sum[V] = {};
  for (size_t f = 0; f < d; ++f, panel += hinge::kPanelWidth<T>) {
#pragma GCC unroll 12
    for (size_t v = 0; v < V; ++v) {
      Vector x;
      load(panel + v * W, x);
      sum[v] += x * x;
    }
  }
  __builtin_memcpy(norms, sum, sizeof sum);
}

template <class T>
T row_norm(const T* values, size_t count) {
  using Vector = typename Lanes<T>::Vector;
  Vector sum = {};  // one lane would do, but this is contracted as the others are
  for (size_t e = 0; e < count; ++e) {
    const Vector value = Vector{} + values[e];
    sum += value * value;
  }
  return sum[0];
}

// ---- elementary functions ----

// exp(x) = 2^n exp(r), |r| <= ln(2)/2, Taylor to the last bit; 2^n in two factors so that results below the
// smallest normal number come out rounded once.  Adding kMagic leaves n in the low bits of the mantissa.
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

template <class T>
void exp_array(size_t m, T scale, const T* x, T* out) {
  using Vector = typename Lanes<T>::Vector;
  for (size_t j = 0; j < m; j += sizeof(Vector) / sizeof(T)) {
    Vector v;
    load(x + j, v);
    v = v * scale;
    exp_vector<T>(v);
    __builtin_memcpy(out + j, &v, sizeof v);
  }
}

// Below 0.625 the rational approximation of Cephes (Moshier), above it 1 - 2 / (exp(2|t|) + 1).
template <class T>
void tanh_array(size_t m, T gamma, T coef0, const T* x, T* out) {
  using Vector = typename Lanes<T>::Vector;
  using Bits = typename Lanes<T>::Bits;
  for (size_t j = 0; j < m; j += sizeof(Vector) / sizeof(T)) {
    Vector t;
    load(x + j, t);
    t = t * gamma + coef0;
    const Bits sign = (Bits)t & (Bits)(-Vector{});
    const Vector size = (Vector)((Bits)t ^ sign);
    Vector large = size + size;
    exp_vector<T>(large);
    large = T(1) - T(2) / (large + T(1));
    const Vector s = t * t;
    const Vector p =
        (T(-9.64399179425052238628e-1) * s - T(9.92877231001918586564e1)) * s - T(1.61468768441708447952e3);
    const Vector q = ((s + T(1.12811678491632931402e2)) * s + T(2.23548839060100448583e3)) * s +
                     T(4.84406305325125486048e3);
    const Vector small = t + t * s * (p / q);
    t = size < T(0.625) ? small : (Vector)((Bits)large | sign);
    __builtin_memcpy(out + j, &t, sizeof t);
  }
}

template <class T>
void power_array(size_t m, T gamma, T coef0, int degree, const T* x, T* out) {
  using Vector = typename Lanes<T>::Vector;
  for (size_t j = 0; j < m; j += sizeof(Vector) / sizeof(T)) {
    Vector base, value = Vector{} + T(1);
    load(x + j, base);
    base = base * gamma + coef0;
    for (int r = 0; r < degree; ++r) value *= base;
    __builtin_memcpy(out + j, &value, sizeof value);
  }
}

template <class T>
void squared_from_dot_array(size_t m, T xx, const T* zz, const T* dot, T* out) {
  using Vector = typename Lanes<T>::Vector;
  for (size_t j = 0; j < m; j += sizeof(Vector) / sizeof(T)) {
    Vector norm, inner;
    load(zz + j, norm);
    load(dot + j, inner);
    norm = (norm + xx) - T(2) * inner;
    norm = norm > T(0) ? norm : Vector{};
    __builtin_memcpy(out + j, &norm, sizeof norm);
  }
}

// exp for arguments up to 0: one factor 2^n is enough.
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

template <class T>
void gaussian_from_dot_array(size_t m, T scale, T xx, const T* zz, const T* dot, T* out) {
  using Vector = typename Lanes<T>::Vector;
  for (size_t j = 0; j < m; j += sizeof(Vector) / sizeof(T)) {
    Vector v, inner;
    load(zz + j, v);
    load(dot + j, inner);
    v = (v + xx) - T(2) * inner;
    v = v > T(0) ? v * scale : Vector{};
    exp_negative<T>(v);
    __builtin_memcpy(out + j, &v, sizeof v);
  }
}

template <class T>
void gaussian_array(size_t m, T scale, const T* squared, T* out) {
  using Vector = typename Lanes<T>::Vector;
  for (size_t j = 0; j < m; j += sizeof(Vector) / sizeof(T)) {
    Vector v;
    load(squared + j, v);
    v = v * scale;
    exp_negative<T>(v);
    __builtin_memcpy(out + j, &v, sizeof v);
  }
}

template <class In, class Acc>
constexpr hinge::RowOps<In, Acc> row_ops() {
  return {against_rows<Dot, In, Acc>, against_rows<Squared, In, Acc>, against_rows<Absolute, In, Acc>};
}

template <class T>
constexpr hinge::StripOps<T> strip_ops() {
  return {strip_product<Times, T>, strip_product<Distance, T>, strip_norms<T>};
}

template <class T>
constexpr hinge::PanelOps<T> panel_ops() {
  return {panel_product<T>, panel_norms<T>, row_norm<T>};
}

template <class T>
constexpr hinge::ArrayOps<T> array_ops() {
  return {exp_array<T>, tanh_array<T>, power_array<T>, squared_from_dot_array<T>, gaussian_from_dot_array<T>,
          gaussian_array<T>};
}

constexpr hinge::VectorOps every_operation(const char* name) {
  return {row_ops<float, float>(), row_ops<float, double>(), row_ops<double, double>(), strip_ops<float>(),
          strip_ops<double>(),     panel_ops<float>(),       panel_ops<double>(),       array_ops<float>(),
          array_ops<double>(),     name};
}

#undef HINGE_INLINE

}  // namespace

// vector_ops.inl: the loops of vector_ops.hpp; compiled for each instruction set (simd/dispatch.hpp).
#include "kernels/loops/terms.hpp"
#include "kernels/loops/vector_ops.hpp"
#include "simd/exp.hpp"
#include "simd/vectors.hpp"

namespace hinge {
namespace {

using std::int32_t;

// ---- one row against many ----

// Four rows of z at a time; a last group of fewer rows repeats its last row.  The last features that do not fill a
// vector are read with a vector that ends at the last feature; lanes that were already summed are set to 0 in both
// rows.
template <class Term, class In, class Acc>
void against_rows(const In* x, const In* z, size_t stride, size_t d, const int32_t* columns, size_t count,
                  Acc* out) {
  using Vector = typename Lanes<Acc>::Vector;
  using Bits = typename Lanes<Acc>::Bits;
  constexpr size_t W = sizeof(Vector) / sizeof(Acc);
  const size_t whole = d / W * W;
  const Bits unread = Lanes<Acc>::iota >= static_cast<int>(W - (d - whole));
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
      xv = (Vector)((Bits)xv & unread);
      for (int c = 0; c < 4; ++c) {
        load(row[c] + d - W, zv);
        zv = (Vector)((Bits)zv & unread);
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

// Twelve vectors of sums stay in registers during the loop over the features.
template <class Term, class T>
void strip_product(size_t strips, size_t d, const T* x, size_t stride_x, const T* z, bool accumulate, T* c,
                   size_t stride_c) {
  using Vector = typename Lanes<T>::Vector;
  constexpr size_t W = sizeof(Vector) / sizeof(T), R = kStripX;
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

// Up to twelve vectors of sums stay in registers during the loop over the nonzeros of a row.  The sums of as many rows
// as a vector has lanes are transposed, so that c is written row by row.
template <class T, size_t V>
void panel_vectors(const T* panel, const size_t* begin, const size_t* end, const int32_t* index, const T* values,
                   size_t count, T* c, size_t stride_c) {
  using Vector = typename Lanes<T>::Vector;
  constexpr size_t W = sizeof(Vector) / sizeof(T);
  Vector transposed[V][W];
  for (size_t j = 0; j < count; j += W) {
    for (size_t k = 0; k < W; ++k) {
      Vector sum[V] = {};
      if (j + k < count) {
        for (size_t e = begin[j + k]; e < end[j + k]; ++e) {
          const T* const x = panel + static_cast<size_t>(index[e]) * kPanelWidth<T>;
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
      for (size_t v = 0; v < V; ++v) transposed[v][k] = sum[v];
    }
    for (size_t v = 0; v < V; ++v) {
      transpose(transposed[v]);
      for (size_t r = 0; r < W; ++r) *reinterpret_cast<Vector*>(c + (v * W + r) * stride_c + j) = transposed[v][r];
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
  constexpr size_t W = sizeof(Vector) / sizeof(T), V = kPanelWidth<T> / W;
  Vector sum[V] = {};
  for (size_t f = 0; f < d; ++f, panel += kPanelWidth<T>) {
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
  Vector sum = {};  // a vector, although one lane is used: contracted to FMA in the same way as the other loops
  for (size_t e = 0; e < count; ++e) {
    const Vector value = Vector{} + values[e];
    sum += value * value;
  }
  return sum[0];
}

// ---- elementary functions ----

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

// Rational approximation of Cephes (Moshier) for |t| < 0.625, otherwise 1 - 2 / (exp(2|t|) + 1).
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
constexpr RowOps<In, Acc> row_ops() {
  return {against_rows<Dot, In, Acc>, against_rows<Squared, In, Acc>, against_rows<Absolute, In, Acc>};
}

template <class T>
constexpr StripOps<T> strip_ops() {
  return {strip_product<Times, T>, strip_product<Distance, T>, strip_norms<T>};
}

template <class T>
constexpr PanelOps<T> panel_ops() {
  return {panel_product<T>, panel_norms<T>, row_norm<T>};
}

template <class T>
constexpr ArrayOps<T> array_ops() {
  return {exp_array<T>, tanh_array<T>, power_array<T>, squared_from_dot_array<T>, gaussian_from_dot_array<T>,
          gaussian_array<T>};
}

constexpr VectorOps vector_ops_table() {
  return {row_ops<float, float>(), row_ops<float, double>(), row_ops<double, double>(), strip_ops<float>(),
          strip_ops<double>(),     panel_ops<float>(),       panel_ops<double>(),       array_ops<float>(),
          array_ops<double>()};
}

}  // namespace
}  // namespace hinge

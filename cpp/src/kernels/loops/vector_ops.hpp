// vector_ops.hpp: the inner loops of kernels, compiled for several instruction sets (simd/dispatch.hpp).
// Functions of pointers, without allocation or state.
//
// Row operations combine one row x with many rows of z.  Each result is a sum in an order that depends on d only, so
// op(x, z) and op(z, x) are bit-identical, and the distance of equal rows is exactly 0.  They require d >= kLanes<Acc>.
// Array operations require arrays aligned to 64 bytes and a length that is a multiple of kPad.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/dispatch.hpp"

namespace hinge {

inline constexpr std::size_t kPad = 16;        // array lengths are multiples of this
inline constexpr std::size_t kAlignment = 64;  // bytes

template <class T>
inline constexpr std::size_t kLanes = 32 / sizeof(T);  // elements of one vector

inline constexpr std::size_t padded(std::size_t n) { return (n + kPad - 1) / kPad * kPad; }

// out[j] = op(x, row j of z), j < count; row j starts at z + stride * (columns ? columns[j] : j).
template <class In, class Acc>
using RowOperation = void(const In* x, const In* z, std::size_t stride, std::size_t d,
                          const std::int32_t* columns, std::size_t count, Acc* out);

template <class In, class Acc>
struct RowOps {
  RowOperation<In, Acc>* dot;      // Σ x z
  RowOperation<In, Acc>* squared;  // Σ (x - z)²
  RowOperation<In, Acc>* l1;       // Σ |x - z|
};

// Matrix products work on strips of kStripX or kStripZ<T> rows: strip[f * width + r] is feature f of row r.
inline constexpr std::size_t kStripX = 6;  // with two vectors of Z: twelve vectors of sums
template <class T>
inline constexpr std::size_t kStripZ = 2 * kLanes<T>;

template <class T>
struct StripOps {
  // C = X Zᵀ, or C += X Zᵀ if `accumulate`, over d features, for `strips` strips of X (stride_x apart) and one strip of
  // Z. The rows of C are aligned and stride_c apart.  Every entry is summed in the order of the features, with one
  // rounding per term with FMA and two without.
  void (*product)(std::size_t strips, std::size_t d, const T* x, std::size_t stride_x, const T* z,
                  bool accumulate, T* c, std::size_t stride_c);
  // The same with (x - z)² instead of x z: without cancellation, at twice the cost.
  void (*squared)(std::size_t strips, std::size_t d, const T* x, std::size_t stride_x, const T* z, bool accumulate,
                  T* c, std::size_t stride_c);
  // norms[r] = Σ_f x_rf², or += if `accumulate`; bit-identical with product for two equal rows.
  void (*norms)(std::size_t width, std::size_t d, const T* strip, bool accumulate, T* norms);
};

// Products with sparse rows work on panels: strips of kPanelWidth<T> rows of X.
template <class T>
inline constexpr std::size_t kPanelWidth = 12 * kLanes<T>;

template <class T>
struct PanelOps {
  // c[r * stride_c + j] = x_r · z_j for the first `rows` rows of one panel (rounded up to whole vectors) and `count`
  // sparse rows, of which row j has the nonzeros [begin[j], end[j]).  Summed in the order of the nonzeros.  The rows of
  // c are aligned and padded to whole vectors.
  void (*product)(std::size_t rows, const T* panel, const std::size_t* begin, const std::size_t* end,
                  const std::int32_t* index, const T* values, std::size_t count, T* c, std::size_t stride_c);
  // Squared norms of all rows of a panel and of one sparse row; bit-identical with product for equal rows.
  void (*norms)(std::size_t d, const T* panel, T* norms);
  T (*row_norm)(const T* values, std::size_t count);
};

template <class T>
struct ArrayOps {
  void (*exp)(std::size_t m, T scale, const T* x, T* out);                         // exp(scale x)
  void (*tanh)(std::size_t m, T gamma, T coef0, const T* x, T* out);               // tanh(gamma x + coef0)
  void (*power)(std::size_t m, T gamma, T coef0, int degree, const T* x, T* out);  // (gamma x + coef0)^degree
  void (*squared_from_dot)(std::size_t m, T xx, const T* zz, const T* dot,
                           T* out);  // max(0, xx + zz - 2 dot)
  // exp(scale max(0, xx + zz - 2 dot)), scale <= 0, in one pass; 0 for results below the smallest normal number.
  void (*gaussian_from_dot)(std::size_t m, T scale, T xx, const T* zz, const T* dot, T* out);
  void (*gaussian)(std::size_t m, T scale, const T* squared, T* out);  // exp(scale squared), as above
};

struct VectorOps {
  RowOps<float, float> rows_ff;
  RowOps<float, double> rows_fd;
  RowOps<double, double> rows_dd;
  StripOps<float> strips_f;
  StripOps<double> strips_d;
  PanelOps<float> panels_f;
  PanelOps<double> panels_d;
  ArrayOps<float> array_f;
  ArrayOps<double> array_d;

  template <class In, class Acc>
  const RowOps<In, Acc>& rows() const {
    if constexpr (sizeof(In) == 8) {
      return rows_dd;
    } else if constexpr (sizeof(Acc) == 8) {
      return rows_fd;
    } else {
      return rows_ff;
    }
  }
  template <class T>
  const StripOps<T>& strips() const {
    if constexpr (sizeof(T) == 8) {
      return strips_d;
    } else {
      return strips_f;
    }
  }
  template <class T>
  const PanelOps<T>& panels() const {
    if constexpr (sizeof(T) == 8) {
      return panels_d;
    } else {
      return panels_f;
    }
  }
  template <class T>
  const ArrayOps<T>& array() const {
    if constexpr (sizeof(T) == 8) {
      return array_d;
    } else {
      return array_f;
    }
  }
};

extern const VectorOps vector_ops_base, vector_ops_avx2;

inline const VectorOps& vector_ops() { return for_processor(vector_ops_base, vector_ops_avx2); }

}  // namespace hinge

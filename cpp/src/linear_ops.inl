// linear_ops.inl: the loops, included by one file per instruction set.  No template of the standard library here.
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors never cross a function that is not inlined

namespace {

using std::size_t;
typedef double Double4 __attribute__((vector_size(32)));
typedef float Float4 __attribute__((vector_size(16)));

#define HINGE_INLINE static inline __attribute__((always_inline))

HINGE_INLINE Double4 load4(const double* p) {
  Double4 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
HINGE_INLINE Double4 load4(const float* p) {
  Float4 v;
  __builtin_memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, Double4);
}
HINGE_INLINE void store4(double* p, const Double4& v) { __builtin_memcpy(p, &v, sizeof v); }

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
    store4(w + k, load4(w + k) + f * load4(x + k));
    store4(w + k + 4, load4(w + k + 4) + f * load4(x + k + 4));
  }
  for (; k < d; ++k) w[k] += factor * static_cast<double>(x[k]);
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
      store4(line + j, sum + other);
    }
  }
}

constexpr hinge::LinearOps every_linear_operation = {&dot_row<float>, &dot_row<double>, &add_row<float>,
                                                     &add_row<double>, &rank8_rows};

}  // namespace

// thin_loops.inl: the loops, included by one file per instruction set.  No template of the standard library here.
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors never cross a function that is not inlined

namespace {

using std::size_t;
typedef float Float8 __attribute__((vector_size(32)));
typedef float Float4 __attribute__((vector_size(16)));
typedef double Double4 __attribute__((vector_size(32)));

#define HINGE_INLINE static inline __attribute__((always_inline))

HINGE_INLINE Float8 load8(const float* p) {
  Float8 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
HINGE_INLINE void store8(float* p, const Float8& v) { __builtin_memcpy(p, &v, sizeof v); }

// sums[0..8) += v, in double.
HINGE_INLINE void widen(const Float8& v, double* sums) {
  for (size_t half = 0; half < 8; half += 4) {
    Float4 part;
    __builtin_memcpy(&part, reinterpret_cast<const float*>(&v) + half, sizeof part);
    Double4 sum;
    __builtin_memcpy(&sum, sums + half, sizeof sum);
    sum += __builtin_convertvector(part, Double4);
    __builtin_memcpy(sums + half, &sum, sizeof sum);
  }
}

void times(size_t n, const float* const* rows, const float* W, float* out) {
  constexpr size_t chunk = 256;
  double sums[64] = {};
  const float *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3], *e = rows[4], *f = rows[5], *g = rows[6],
              *h = rows[7];
  for (size_t first = 0; first < n; first += chunk) {
    const size_t last = first + chunk < n ? first + chunk : n;
    Float8 s0 = {}, s1 = {}, s2 = {}, s3 = {}, s4 = {}, s5 = {}, s6 = {}, s7 = {};
    for (size_t j = first; j < last; ++j) {
      const Float8 w = load8(W + 8 * j);
      s0 += a[j] * w, s1 += b[j] * w, s2 += c[j] * w, s3 += d[j] * w;
      s4 += e[j] * w, s5 += f[j] * w, s6 += g[j] * w, s7 += h[j] * w;
    }
    widen(s0, sums), widen(s1, sums + 8), widen(s2, sums + 16), widen(s3, sums + 24);
    widen(s4, sums + 32), widen(s5, sums + 40), widen(s6, sums + 48), widen(s7, sums + 56);
  }
  for (size_t k = 0; k < 64; ++k) out[k] = static_cast<float>(sums[k]);
}

void add(size_t n, const float* const* rows, const float* R, float* G) {
  const float *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3], *e = rows[4], *f = rows[5], *g = rows[6],
              *h = rows[7];
  const Float8 r0 = load8(R), r1 = load8(R + 8), r2 = load8(R + 16), r3 = load8(R + 24), r4 = load8(R + 32),
               r5 = load8(R + 40), r6 = load8(R + 48), r7 = load8(R + 56);
  for (size_t j = 0; j < n; ++j) {
    Float8 odd = load8(G + 8 * j), even = a[j] * r0;  // two chains: additions wait for each other
    odd += b[j] * r1, even += c[j] * r2, odd += d[j] * r3, even += e[j] * r4;
    odd += f[j] * r5, even += g[j] * r6, odd += h[j] * r7;
    store8(G + 8 * j, odd + even);
  }
}

constexpr hinge::ThinLoops every_thin_loop = {times, add};

}  // namespace

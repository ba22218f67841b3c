// linear_factor.inl: products of rows, and a factor of a small symmetric matrix, included by one file per instruction
// set.  Two rows against four columns at a time: six loads for eight products.
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors never cross a function that is not inlined

namespace {

using std::size_t;
typedef double Double4 __attribute__((vector_size(32)));

#define HINGE_INLINE static inline __attribute__((always_inline))

HINGE_INLINE Double4 load4(const double* p) {
  Double4 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

HINGE_INLINE double sum4(const Double4& v) { return (v[0] + v[1]) + (v[2] + v[3]); }

HINGE_INLINE void tile(const double* const* rows, const double* const* columns, size_t count, double (*out)[4]) {
  Double4 sum[2][4] = {};
  size_t k = 0;
  for (; k + 4 <= count; k += 4) {
    const Double4 a = load4(rows[0] + k), b = load4(rows[1] + k);
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const Double4 x = load4(columns[c] + k);
      sum[0][c] += a * x;
      sum[1][c] += b * x;
    }
  }
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 4; ++c) {
      double rest = sum4(sum[r][c]);
      for (size_t j = k; j < count; ++j) rest += rows[r][j] * columns[c][j];
      out[r][c] = rest;
    }
}

// Four lines from the given one on; the last again where there are fewer.
HINGE_INLINE void four_lines(const double* first, size_t stride, size_t width, const double** lines) {
  for (size_t c = 0; c < 4; ++c) lines[c] = first + (c < width ? c : width - 1) * stride;
}

// Both rows times the inverse of Lᵀ, L of `size` rows.
HINGE_INLINE void solve_pair(double* const* rows, bool pair, const double* l, size_t size, size_t stride) {
  for (size_t j = 0; j < size; j += 4) {
    const size_t width = size - j < 4 ? size - j : 4;
    const double* columns[4];
    four_lines(l + j * stride, stride, width, columns);
    double sums[2][4];
    tile(rows, columns, j, sums);
    for (size_t r = 0; r < (pair ? 2u : 1u); ++r)
      for (size_t c = 0; c < width; ++c) {
        double rest = rows[r][j + c] - sums[r][c];
        for (size_t k = j; k < j + c; ++k) rest -= rows[r][k] * columns[c][k];
        rows[r][j + c] = rest / columns[c][j + c];
      }
  }
}

void solve_rows(const double* l, size_t size, size_t stride, double* rows, size_t height) {
  for (size_t i = 0; i < height; i += 2) {
    const bool pair = i + 1 < height;
    double* both[2] = {rows + i * stride, rows + (pair ? i + 1 : i) * stride};
    solve_pair(both, pair, l, size, stride);
  }
}

void subtract_products(const double* rows, size_t height, const double* columns, size_t width, size_t stride,
                       size_t count, double* out, size_t apart) {
  for (size_t i = 0; i < height; i += 2) {
    const bool pair = i + 1 < height;
    const double* both[2] = {rows + i * stride, rows + (pair ? i + 1 : i) * stride};
    for (size_t j = 0; j < width; j += 4) {
      const size_t wide = width - j < 4 ? width - j : 4;
      const double* four[4];
      four_lines(columns + j * stride, stride, wide, four);
      double sums[2][4];
      tile(both, four, count, sums);
      for (size_t r = 0; r < (pair ? 2u : 1u); ++r)
        for (size_t c = 0; c < wide; ++c) out[(i + r) * apart + j + c] -= sums[r][c];
    }
  }
}

HINGE_INLINE double product(const double* a, const double* b, size_t count) {
  double sum = 0;
  for (size_t k = 0; k < count; ++k) sum += a[k] * b[k];
  return sum;
}

// A = LLᵀ in place (the lower triangle of a row-major matrix); false if A is not positive definite.
bool cholesky_rows(double* a, size_t size, size_t stride) {
  for (size_t i = 0; i < size; i += 2) {
    const bool pair = i + 1 < size;
    double* rows[2] = {a + i * stride, a + (pair ? i + 1 : i) * stride};
    solve_pair(rows, pair, a, i, stride);
    for (size_t r = 0; r < (pair ? 2u : 1u); ++r) {
      double* row = rows[r];
      if (r == 1) row[i] = (row[i] - product(row, rows[0], i)) / rows[0][i];
      const double rest = row[i + r] - product(row, row, i + r);
      if (!(rest > 0)) return false;
      row[i + r] = __builtin_sqrt(rest);
    }
  }
  return true;
}

constexpr hinge::FactorLoops every_factor_loop = {&cholesky_rows, &solve_rows, &subtract_products};

}  // namespace

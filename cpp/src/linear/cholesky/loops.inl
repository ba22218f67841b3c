// loops.inl: loops of the Cholesky factorization and of products of rows, included once per instruction set.
#include "linear/cholesky/loops.hpp"
#include "simd/vectors.hpp"

namespace hinge {
namespace {

// Two rows against four columns: six loads for eight products.
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
      double rest = hinge::sum(sum[r][c]);
      for (size_t j = k; j < count; ++j) rest += rows[r][j] * columns[c][j];
      out[r][c] = rest;
    }
}

// Four rows from the given one on; the last row is repeated if there are fewer.
HINGE_INLINE void four_lines(const double* first, size_t stride, size_t width, const double** lines) {
  for (size_t c = 0; c < 4; ++c) lines[c] = first + (c < width ? c : width - 1) * stride;
}

void subtract_products(const double* rows, size_t height, const double* columns, size_t width, size_t stride,
                       size_t count, double* out, size_t out_stride) {
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
        for (size_t c = 0; c < wide; ++c) out[(i + r) * out_stride + j + c] -= sums[r][c];
    }
  }
}

HINGE_INLINE Double4 all4(double v) { return Double4{v, v, v, v}; }

HINGE_INLINE double product(const double* a, const double* b, size_t count) {
  Double4 sum = {};
  size_t k = 0;
  for (; k + 4 <= count; k += 4) sum += load4(a + k) * load4(b + k);
  double rest = hinge::sum(sum);
  for (; k < count; ++k) rest += a[k] * b[k];
  return rest;
}

bool factorize_block(double* a, size_t size, size_t stride) {
  for (size_t i = 0; i < size; ++i) {
    double* row = a + i * stride;
    for (size_t j = 0; j < i; ++j) row[j] = (row[j] - product(row, a + j * stride, j)) / a[j * stride + j];
    const double rest = row[i] - product(row, row, i);
    if (!(rest > 0)) return false;
    row[i] = __builtin_sqrt(rest);
  }
  return true;
}

// Address of the first value of row i of a panel; the next ones are kStrip apart.
HINGE_INLINE size_t place(size_t i, size_t width) { return i / kStrip * kStrip * width + i % kStrip; }

void solve_panel(const double* block, size_t width, size_t stride, double* panel, size_t first, size_t last) {
  for (size_t i = first; i < last; i += 4) {
    double* rows = panel + place(i, width);
    for (size_t c = 0; c < width; ++c) {
      const double* line = block + c * stride;
      Double4 sum[4] = {load4(rows + c * kStrip), {}, {}, {}};
      size_t t = 0;
      for (; t + 4 <= c; t += 4)
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; ++k) sum[k] -= all4(line[t + k]) * load4(rows + (t + k) * kStrip);
      for (; t < c; ++t) sum[0] -= all4(line[t]) * load4(rows + t * kStrip);
      store(rows + c * kStrip, ((sum[0] + sum[1]) + (sum[2] + sum[3])) * (1 / line[c]));
    }
  }
}

// Subtracts the product of the panel from kRows rows and 4 kWide columns of the rest; 1.5 products per load.
template <size_t kRows, size_t kWide>
HINGE_INLINE void subtract_tile(const double* rows, const double* columns, size_t width, double* out, size_t stride) {
  Double4 sum[kRows][kWide] = {};
  for (size_t t = 0; t < width; ++t, rows += kStrip, columns += kStrip) {
    Double4 x[kWide];
    for (size_t c = 0; c < kWide; ++c) x[c] = load4(columns + 4 * c);
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      const Double4 y = all4(rows[r]);
#pragma GCC unroll 3
      for (size_t c = 0; c < kWide; ++c) sum[r][c] += y * x[c];
    }
  }
  for (size_t r = 0; r < kRows; ++r)
    for (size_t c = 0; c < kWide; ++c) {
      double* to = out + r * stride + 4 * c;
      store(to, load4(to) - sum[r][c]);
    }
}

template <size_t kRows>
void subtract_rows(const double* panel, size_t width, size_t row, double* rest, size_t stride) {
  const size_t stop = row + kRows;  // columns up to the diagonal
  const double* rows = panel + place(row, width);
  size_t column = 0;
  double* out = rest + row * stride;
  for (; column + kStrip <= stop; column += kStrip)
    subtract_tile<kRows, kStrip / 4>(rows, panel + place(column, width), width, out + column, stride);
  for (; column < stop; column += 4)
    subtract_tile<kRows, 1>(rows, panel + place(column, width), width, out + column, stride);
}

void subtract_panel(const double* panel, size_t width, size_t first, size_t last, double* rest, size_t stride) {
  size_t row = first;
  for (; row + 4 <= last; row += 4) subtract_rows<4>(panel, width, row, rest, stride);
  for (; row < last; ++row) subtract_rows<1>(panel, width, row, rest, stride);
}

constexpr FactorLoops every_factor_loop = {&factorize_block, &solve_panel, &subtract_panel, &subtract_products};

}  // namespace
}  // namespace hinge

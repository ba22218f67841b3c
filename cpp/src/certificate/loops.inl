// loops.inl: the loops of loops.hpp, included once per instruction set.
#include "certificate/loops.hpp"
#include "simd/vectors.hpp"

namespace hinge {
namespace {

constexpr double kRoundoff = 1.1102230246251565e-16;  // 2⁻⁵³
constexpr size_t kCachedRows = 32;                    // rows that stay in the cache between two uses

template <class T>
HINGE_INLINE void dot_and_square(const T* x, const double* w, size_t d, double& dot, double& square) {
  Double4 a = {}, b = {}, p = {}, q = {};
  size_t k = 0;
  for (; k + 8 <= d; k += 8) {
    const Double4 u = load4(x + k), v = load4(x + k + 4);
    a += u * load4(w + k), p += u * u;
    b += v * load4(w + k + 4), q += v * v;
  }
  if (k + 4 <= d) {
    const Double4 u = load4(x + k);
    a += u * load4(w + k), p += u * u;
    k += 4;
  }
  double rest = 0, rest_square = 0;
  for (; k < d; ++k) {
    const double value = static_cast<double>(x[k]);
    rest += value * w[k], rest_square += value * value;
  }
  dot = sum(a + b) + rest, square = sum(p + q) + rest_square;
}

// out += Σ β x over the rows: eight columns of two rows at a time, in four independent sums.
template <class T>
HINGE_INLINE void add_rows(const T* x, const double* beta, size_t rows, size_t d, double* out) {
  size_t k = 0;
  for (; k + 8 <= d; k += 8) {
    Double4 a = load4(out + k), b = load4(out + k + 4), p = {}, q = {};
    size_t r = 0;
    for (; r + 2 <= rows; r += 2) {
      const T *even = x + r * d + k, *odd = even + d;
      a += beta[r] * load4(even), b += beta[r] * load4(even + 4);
      p += beta[r + 1] * load4(odd), q += beta[r + 1] * load4(odd + 4);
    }
    if (r < rows) a += beta[r] * load4(x + r * d + k), b += beta[r] * load4(x + r * d + k + 4);
    store(out + k, a + p), store(out + k + 4, b + q);
  }
  for (; k < d; ++k) {
    double sum = out[k];
    for (size_t r = 0; r < rows; ++r) sum += beta[r] * static_cast<double>(x[r * d + k]);
    out[k] = sum;
  }
}

template <class T>
void pass_over_rows(const T* x, size_t rows, size_t d, const double* w, const double* beta, double* f, double* norm,
                    double* sum) {
  for (size_t first = 0; first < rows; first += kCachedRows) {
    const size_t last = first + kCachedRows < rows ? first + kCachedRows : rows;
    for (size_t i = first; i < last; ++i) dot_and_square(x + i * d, w, d, f[i], norm[i]);
    for (size_t i = first; i < last; ++i) norm[i] = __builtin_sqrt(norm[i]);
    add_rows(x + first * d, beta + first, last - first, d, sum);
  }
}

HINGE_INLINE Double4 absolute(const Double4& v) { return (Double4)((Long4)v & 0x7fffffffffffffffLL); }
HINGE_INLINE double absolute(double v) { return __builtin_fabs(v); }
template <class V>
HINGE_INLINE V larger(const V& a, const V& b) {
  return a > b ? a : b;
}

// The loss for an excess of s ≥ 0 over the tube and the bound h on |β|, and its slope; both increase with s.
template <class V>
struct Loss {
  V value, slope;

  HINGE_INLINE_MEMBER Loss(const V& s, const V& h, const V& ridge, const V& zero) {
    const V quotient = s / ridge;  // not finite if there is no ridge
    const V linear = h * s - (ridge > 0.0 ? 0.5 * ridge * h * h : zero);
    value = quotient <= h ? 0.5 * s * quotient : linear, slope = quotient <= h ? quotient : h;
    value = s > 0.0 ? value : zero, slope = s > 0.0 ? slope : zero;
  }
};

// V is Double4, or double for the last samples.
template <class V>
struct TermSums {
  V losses, inflation, loss_sizes, dual, total, squares, linear, boxes, magnitude, weighted, moved, violation, outside;

  HINGE_INLINE_MEMBER void add(const LinearTerms& t, size_t i) {
    V target, lower, upper, ridge, beta, f, norm;
    load(t.target + i, target), load(t.lower + i, lower), load(t.upper + i, upper), load(t.ridge + i, ridge);
    load(t.beta + i, beta), load(t.f + i, f), load(t.norm + i, norm);
    const double tube = t.tube, b = t.offset, distant = b < 0 ? -b : b;
    const V zero = target - target, value = f + b, r = target - value, distance = absolute(r);
    const V size = absolute(target) + absolute(f) + (distant + tube);
    const V error = 1.01 * (t.product_error * norm + 4 * kRoundoff * size);

    // With a residual near zero and no tube the loss of the other side may be the larger one.
    const V side = r > 0.0 ? upper : -lower, other = r > 0.0 ? -lower : upper;
    const V excess = distance - tube;
    const Loss<V> here(larger<V>(excess + error, zero), side, ridge, zero);
    const Loss<V> there(larger<V>(error - distance - tube, zero), other, ridge, zero);
    const V loss = larger<V>(here.value, there.value);
    const V curved = ridge * side * side;
    losses += loss, inflation += error * larger<V>(here.slope, there.slope);
    loss_sizes += loss + (ridge > 0.0 ? (side - side == zero ? curved : zero) : zero);

    const V slope = ridge * beta - r;
    const V right = beta >= 0.0 ? slope + tube : slope - tube, left = beta > 0.0 ? slope + tube : slope - tube;
    const V up = beta < upper ? -right : zero, down = beta > lower ? left : zero;
    violation = larger<V>(violation, larger<V>(up, down));
    outside = larger<V>(outside, larger<V>(lower - beta, beta - upper));

    const V lowest = lower * t.box_share, highest = upper * t.box_share;
    V x = beta < lowest ? lowest : beta;
    x = x > highest ? highest : x;
    const V square = 0.5 * ridge * x * x, product = (target - t.f_share * f) * x;
    const V length = absolute(x), width = tube * length, range = upper - lower;
    dual += (product - width) - square, total += x;
    squares += square, magnitude += length;
    linear += (absolute(target) + t.f_share * absolute(f)) * length + width;
    const V box = range * (absolute(target) + tube), open = target * target / ridge;
    boxes += range - range == zero ? box : ridge > 0.0 ? open : zero;
    weighted += norm * absolute(beta), moved += norm * absolute(x - beta);
  }

  HINGE_INLINE_MEMBER void add_to(LinearSums& s) const {
    s.losses += sum(losses), s.inflation += sum(inflation), s.loss_sizes += sum(loss_sizes);
    s.dual += sum(dual), s.total += sum(total), s.squares += sum(squares), s.linear += sum(linear);
    s.boxes += sum(boxes), s.magnitude += sum(magnitude);
    s.weighted += sum(weighted), s.moved += sum(moved);
    const double v = maximum(violation), o = maximum(outside);
    s.violation = v > s.violation ? v : s.violation;
    s.outside = o > s.outside ? o : s.outside;
  }
};

LinearSums sum_terms(const LinearTerms& terms, size_t n) {
  TermSums<Double4> many = {};
  TermSums<double> few = {};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) many.add(terms, i);
  for (; i < n; ++i) few.add(terms, i);
  LinearSums sums;
  many.add_to(sums), few.add_to(sums);
  return sums;
}

double squares(const double* x, size_t n) {
  Double4 a = {};
  size_t k = 0;
  for (; k + 4 <= n; k += 4) a += load4(x + k) * load4(x + k);
  double rest = 0;
  for (; k < n; ++k) rest += x[k] * x[k];
  return sum(a) + rest;
}

template <class T>
double largest_value(const T* x, size_t n) {
  Double4 a = {}, b = {}, c = {}, d = {};
  size_t k = 0;
  for (; k + 16 <= n; k += 16) {
    a = larger<Double4>(absolute(load4(x + k)), a), b = larger<Double4>(absolute(load4(x + k + 4)), b);
    c = larger<Double4>(absolute(load4(x + k + 8)), c), d = larger<Double4>(absolute(load4(x + k + 12)), d);
  }
  double largest = maximum(larger<Double4>(larger<Double4>(a, b), larger<Double4>(c, d)));
  for (; k < n; ++k) largest = larger(absolute(static_cast<double>(x[k])), largest);
  return largest;
}

constexpr CertificateLoops every_certificate_loop = {&pass_over_rows<float>, &pass_over_rows<double>, &sum_terms,
                                                     &squares, &largest_value<float>, &largest_value<double>};

}  // namespace
}  // namespace hinge

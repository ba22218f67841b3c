// shapley.cpp: Shapley values of products over features and of polynomials.  docs/math (501)–(511)
#include "hinge/inspection/shapley.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "inspection/loops.hpp"
#include "inspection/quadrature.hpp"
#include "parallel/tasks.hpp"

namespace hinge {
namespace {

constexpr std::size_t kMaxChunks = 32;               // tasks of a block of rows; the division does not depend on threads
constexpr std::size_t kBlockBytes = std::size_t{1} << 27;  // partial sums of all tasks of a block of rows
constexpr double kSmallestFactor = 2.2250738585072014e-308;  // smaller factors are zero, so that b + tδ is never zero

std::size_t padded(std::size_t n) { return (n + kShapleyBlock - 1) / kShapleyBlock * kShapleyBlock; }

double bspline(int degree, double t) {
  const int q = degree;
  double sum = 0, weight = 1;
  for (int k = 1; k <= q; ++k) weight /= k;
  for (int k = 0; k < (q + 1) / 2; ++k) {  // from the closer end of the support
    const double x = 0.5 * (q + 1) - std::abs(t) - k;
    if (x <= 0) break;
    sum += weight * std::pow(x, q);
    weight *= -static_cast<double>(q + 1 - k) / (k + 1);
  }
  return std::max(sum, 0.0);
}

// Factors and scaled inner products of samples with one support vector, per group.
struct Table {
  std::size_t stride;
  std::vector<double> factor, product;
  std::vector<double> total;  // sums of the products of a row

  Table(std::size_t rows, std::size_t groups, bool polynomial)
      : stride(padded(groups)), factor(rows * stride), product(polynomial ? rows * groups : 0),
        total(polynomial ? rows : 0) {}

  void fill(const ShapleyData& data, const ShapleyTerm& term, const double* samples, std::size_t rows,
            const double* s) {
    const std::size_t G = data.groups;
    const bool has_product = !product.empty();
    for (std::size_t i = 0; i < rows; ++i) {
      const double* x = samples + i * data.features;
      double* a = &factor[i * stride];
      std::fill(a, a + stride, 0.0);  // logarithms
      for (const Node& each : term.factors) {
        if (each.op == Op::bspline) continue;
        for (std::size_t j = 0; j < data.features; ++j) {
          const double d = x[j] - s[j];
          a[data.group[j]] -= each.gamma * (each.op == Op::rbf ? d * d : std::abs(d));
        }
      }
      shapley_loops().exp_nonpositive(a, stride);
      for (const Node& each : term.factors) {
        if (each.op != Op::bspline) continue;
        const int degree = static_cast<int>(each.degree);
        const double root = std::sqrt(each.gamma), top = bspline(degree, 0.0);
        for (std::size_t j = 0; j < data.features; ++j)
          a[data.group[j]] *= bspline(degree, root * (x[j] - s[j])) / top;
      }
      for (std::size_t g = 0; g < G; ++g)
        if (a[g] < kSmallestFactor) a[g] = 0;
      if (!has_product) continue;
      double* u = &product[i * G];
      std::fill(u, u + G, 0.0);
      for (std::size_t j = 0; j < data.features; ++j) u[data.group[j]] += term.gamma * x[j] * s[j];
      total[i] = 0;
      for (std::size_t g = 0; g < G; ++g) total[i] += u[g];
    }
  }
};

// Values of one (row, background row, support vector), added to phi and phi2.
class Triple {
 public:
  Triple(const ShapleyTerm& term, std::size_t groups, bool interactions)
      : term_(term), G_(groups), order_(term.polynomial.size() - 1), interactions_(interactions), index_(groups),
        a_(padded(groups)), b_(padded(groups)), delta_(padded(groups)), shift_(groups), c_(padded(groups)),
        sum_(padded(groups)), quotient_(padded(groups)), series_(groups * (order_ + 1)) {}

  // q is constant.  (502)
  void add_product(const QuadratureRules& rules, const double* a, const double* b, double* phi, double* phi2) {
    double rest = term_.polynomial[0];
    std::size_t count = 0;
    for (std::size_t g = 0; g < G_; ++g) {
      const bool differs = a[g] != b[g];
      index_[count] = g, b_[count] = b[g], delta_[count] = a[g] - b[g];
      rest *= differs ? 1.0 : a[g];
      count += differs;
    }
    if (count == 0 || rest == 0) return;
    const std::size_t n = padded(count);
    for (std::size_t i = count; i < n; ++i) b_[i] = 1, delta_[i] = 0;
    const ShapleyLoops& loops = shapley_loops();
    const GaussRule& rule = rules.select(count, loops.spread(b_.data(), delta_.data(), n));
    std::fill(sum_.begin(), sum_.begin() + static_cast<std::ptrdiff_t>(n), 0.0);
    for (std::size_t k = 0; k < rule.node.size(); ++k) {
      const double scale = rest * rule.weight[k] * loops.blend(b_.data(), delta_.data(), rule.node[k], c_.data(), n);
      if (scale == 0) continue;
      loops.add_quotients(scale, c_.data(), sum_.data(), n);
      if (!interactions_) continue;
      loops.divide(delta_.data(), c_.data(), quotient_.data(), n);
      for (std::size_t i = 1; i < count; ++i)
        for (std::size_t j = 0; j < i; ++j)
          phi2[index_[i] * G_ + index_[j]] += scale * quotient_[i] * quotient_[j];
    }
    for (std::size_t i = 0; i < count; ++i) phi[index_[i]] += delta_[i] * sum_[i];
  }

  // q has a positive degree.  u, w: inner products per group; x_total, z_total: their sums.  (508)–(511)
  void add_polynomial(const QuadratureRules& rules, const double* a, const double* b, const double* u, const double* w,
                      double x_total, double z_total, double* phi, double* phi2) {
    double rest = 1;
    std::size_t count = 0;
    for (std::size_t g = 0; g < G_; ++g) {
      if (a[g] == b[g] && u[g] == w[g]) {
        rest *= a[g];
      } else if (a[g] == 0 && b[g] == 0) {
        rest = 0;
      } else {
        index_[count] = g, a_[count] = a[g], b_[count] = b[g], shift_[count] = u[g] - w[g], ++count;
      }
    }
    if (count == 0 || rest == 0) return;
    const std::size_t degree = term_.factors.empty() ? std::min(count, order_) : count;
    const GaussRule& rule = rules.exact(degree - 1);
    for (std::size_t k = 0; k < rule.node.size(); ++k) {
      const double t = rule.node[k];
      set_series(t, count, rest);
      derivatives(term_.coef0 + z_total + t * (x_total - z_total));
      for (std::size_t i = 0; i <= order_; ++i) {
        moment_[i] = 0;
        for (std::size_t r = i; r <= order_; ++r) moment_[i] += derivative_[r] * total_[r - i];
        moment_[i] *= rule.weight[k];
      }
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t r = 0; r <= order_; ++r) phi[index_[i]] += moment_[r] * series_[i * (order_ + 1) + r];
      if (!interactions_) continue;
      for (std::size_t i = 1; i < count; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const double *p = &series_[i * (order_ + 1)], *q = &series_[j * (order_ + 1)];
          double value = 0;
          for (std::size_t r = 0; r <= order_; ++r)
            for (std::size_t l = 0; r + l <= order_; ++l) value += p[r] * q[l] * moment_[r + l];
          phi2[index_[i] * G_ + index_[j]] += value;
        }
      }
    }
  }

 private:
  // total_: the product ĝ of all factors as a truncated power series.  series_: N_i / ĝ_i.  (509), (510)
  void set_series(double t, std::size_t count, double rest) {
    const std::size_t p = order_;
    total_.assign(p + 1, 0.0), total_[0] = rest;
    factor_.resize(p + 1), numerator_.resize(p + 1), moment_.resize(p + 1);
    for (std::size_t i = 0; i < count; ++i) {
      double up = a_[i], down = b_[i];
      for (std::size_t r = 0; r <= p; ++r) {
        factor_[r] = t * up + (1 - t) * down;
        numerator_[r] = up - down;
        up *= (1 - t) * shift_[i] / static_cast<double>(r + 1);
        down *= -t * shift_[i] / static_cast<double>(r + 1);
      }
      for (std::size_t r = p + 1; r-- > 0;) {
        double value = 0;
        for (std::size_t l = 0; l <= r; ++l) value += total_[l] * factor_[r - l];
        total_[r] = value;
      }
      double* quotient = &series_[i * (p + 1)];
      for (std::size_t r = 0; r <= p; ++r) {
        double value = numerator_[r];
        for (std::size_t l = 0; l < r; ++l) value -= quotient[l] * factor_[r - l];
        quotient[r] = value / factor_[0];
      }
    }
  }

  // derivative_[r] = q⁽ʳ⁾(y)
  void derivatives(double y) {
    derivative_ = term_.polynomial;
    for (std::size_t r = 0; r < order_; ++r)  // Taylor coefficients by repeated synthetic division
      for (std::size_t i = order_; i-- > r;) derivative_[i] += y * derivative_[i + 1];
    double factorial = 1;
    for (std::size_t r = 1; r <= order_; ++r) derivative_[r] *= factorial *= static_cast<double>(r);
  }

  const ShapleyTerm& term_;
  const std::size_t G_, order_;
  const bool interactions_;
  std::vector<std::size_t> index_;
  std::vector<double> a_, b_, delta_, shift_, c_, sum_, quotient_, series_;
  std::vector<double> total_, factor_, numerator_, derivative_, moment_;
};

}  // namespace

void shapley_values(const ShapleyData& data, const ShapleyTerm& term, double* values, double* interactions,
                    const Parallel& parallel) {
  const std::size_t G = data.groups, F = data.functions, m = data.background_rows;
  if (data.rows == 0 || m == 0 || data.count == 0 || G == 0 || F == 0) return;
  const bool polynomial = term.polynomial.size() > 1;
  const QuadratureRules rules(polynomial && term.factors.empty() ? std::min(G, term.polynomial.size() - 1) : G);
  const std::size_t per_row = G * F * (interactions ? 1 + G : 1), chunks = std::min(kMaxChunks, data.count);
  const std::size_t block = std::max<std::size_t>(1, kBlockBytes / (8 * per_row * chunks));
  const double share = 1.0 / static_cast<double>(m);
  for (std::size_t first = 0; first < data.rows; first += block) {
    const std::size_t rows = std::min(block, data.rows - first);
    std::vector<std::vector<double>> partial(chunks);
    run_tasks(chunks, parallel, [&] {
      auto x_table = std::make_shared<Table>(rows, G, polynomial), z_table = std::make_shared<Table>(m, G, polynomial);
      auto triple = std::make_shared<Triple>(term, G, interactions != nullptr);
      return [&, x_table, z_table, triple](std::size_t chunk, Poller& poller) {
        std::vector<double>& sums = partial[chunk];
        sums.assign(rows * per_row, 0.0);
        std::vector<double> phi(G), phi2(interactions ? G * G : 0);
        for (std::size_t k = chunk; k < data.count; k += chunks) {
          const double* s = data.vectors + k * data.features;
          const double* coefficient = data.coefficients + k * F;
          x_table->fill(data, term, data.X + first * data.features, rows, s);
          z_table->fill(data, term, data.background, m, s);
          for (std::size_t i = 0; i < rows; ++i) {
            poller.poll();
            std::fill(phi.begin(), phi.end(), 0.0);
            std::fill(phi2.begin(), phi2.end(), 0.0);
            const double* a = &x_table->factor[i * x_table->stride];
            for (std::size_t z = 0; z < m; ++z) {
              const double* b = &z_table->factor[z * z_table->stride];
              if (polynomial) {
                triple->add_polynomial(rules, a, b, &x_table->product[i * G], &z_table->product[z * G],
                                       x_table->total[i], z_table->total[z], phi.data(), phi2.data());
              } else {
                triple->add_product(rules, a, b, phi.data(), phi2.data());
              }
            }
            double* out = &sums[i * per_row];
            for (std::size_t g = 0; g < G; ++g)
              for (std::size_t f = 0; f < F; ++f) out[g * F + f] += coefficient[f] * share * phi[g];
            out += G * F;
            for (std::size_t g = 0; g < phi2.size(); ++g)
              for (std::size_t f = 0; f < F; ++f) out[g * F + f] += coefficient[f] * share * phi2[g];
          }
        }
      };
    });
    for (const std::vector<double>& sums : partial) {
      for (std::size_t i = 0; i < rows; ++i) {
        const double* in = &sums[i * per_row];
        double* out = values + (first + i) * G * F;
        for (std::size_t e = 0; e < G * F; ++e) out[e] += in[e];
        if (!interactions) continue;
        double* pairs = interactions + (first + i) * G * G * F;
        for (std::size_t g = 0; g < G; ++g)
          for (std::size_t h = 0; h < g; ++h)
            for (std::size_t f = 0; f < F; ++f) {
              const double half = 0.5 * in[G * F + (g * G + h) * F + f];
              pairs[(g * G + h) * F + f] += half, pairs[(h * G + g) * F + f] += half;
            }
      }
    }
  }
}

}  // namespace hinge

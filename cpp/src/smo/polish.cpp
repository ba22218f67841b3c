// polish.cpp: see polish.hpp.
#include "hinge/solvers/polish.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "hinge/parallel.hpp"
#include "numeric/compensated_sum.hpp"
#include "path/loops.hpp"
#include "smo/gradient_error.hpp"

namespace hinge {
namespace {

constexpr int kMaxRounds = 20;                // changes of the active set before the iteration fails
constexpr int kMaxIdleRounds = 3;             // rounds without fewer violations before the iteration fails
constexpr double kMinPivot = 1e-12;           // a smaller pivot, relative to the diagonal, makes the matrix singular
constexpr double kRelativeError = 1e-13;      // assumed rounding error of gradients, relative to the largest
constexpr double kMaxResidual = 100;          // of free variables at the solution, in units of the rounding error
constexpr double kMaxIncrease = 1e-12;        // of the objective, relative; more occurs if K is indefinite: failure
constexpr double kNegligibleDeficit = 1e-15;  // of a group, relative to the sum of |β|; not corrected
constexpr double kMaxDeficit = 1e-8;          // a larger deficit is not due to rounding: the iteration fails
constexpr double kInf = std::numeric_limits<double>::infinity();

// Cholesky factor L Lᵀ of a positive definite matrix, in place and by rows.  kBlockRows rows are processed together, so
// that the rows above are read once for all of them.
class Cholesky {
 public:
  // Returns m rows of m values for the matrix; values to the right of the diagonal are not read.
  std::vector<double*> allocate(std::size_t m) {
    m_ = m;
    values_.resize(m * m);
    std::vector<double*> rows;
    for (std::size_t i = 0; i < m; ++i) rows.push_back(&values_[i * m]);
    return rows;
  }

  // Returns false if the matrix is singular to rounding.
  bool factor() {
    const auto dot = path_loops().dot;
    for (std::size_t first = 0; first < m_; first += kBlockRows) {
      const std::size_t last = std::min(m_, first + kBlockRows);
      for (std::size_t j = 0; j < last; ++j) {
        double* const above = row(j);
        if (j >= first) {
          const double diagonal = above[j], pivot = diagonal - dot(above, above, j);
          if (!(pivot > kMinPivot * diagonal)) return false;
          above[j] = std::sqrt(pivot);
        }
        for (std::size_t i = std::max(first, j + 1); i < last; ++i)
          row(i)[j] = (row(i)[j] - dot(above, row(i), j)) / above[j];
      }
    }
    return true;
  }

  void solve(double* x) const {
    for (std::size_t i = 0; i < m_; ++i) x[i] = (x[i] - path_loops().dot(row(i), x, i)) / row(i)[i];
    for (std::size_t i = m_; i-- > 0;) {
      x[i] /= row(i)[i];
      path_loops().axpy(-x[i], row(i), x, i);
    }
  }

 private:
  static constexpr std::size_t kBlockRows = 8;
  double* row(std::size_t i) { return &values_[i * m_]; }
  const double* row(std::size_t i) const { return &values_[i * m_]; }

  std::size_t m_ = 0;
  std::vector<double> values_;
};

class ActiveSetIteration {
 public:
  ActiveSetIteration(const KernelSource& kernel, const SignedProblem& problem, const std::array<double, 2>& totals,
                     Span<const double> beta, Span<const double> f, const Parallel& parallel)
      : kernel_(kernel), problem_(problem), totals_(totals), parallel_(parallel), n_(f.size()),
        all_columns_(kernel.columns({}, kPackedBytes)), beta_(beta.begin(), beta.end()), f_(f.begin(), f.end()),
        free_(beta.size()) {
    double largest_gradient = 0;
    for (std::size_t v = 0; v < beta_.size(); ++v) {
      free_[v] = beta_[v] > problem.lower[v] && beta_[v] < problem.upper[v];
      largest_gradient = std::max(largest_gradient, std::abs(gradient(v)));
    }
    rounding_error_ = kRelativeError * (1 + largest_gradient);
  }

  Polish run(const std::function<bool()>& may_continue) {
    if (violation() == 0) return Polish::done;  // a recomputed f might be less exact
    const double before = value();
    std::size_t fewest_violations = beta_.size() + 1;
    int idle = 0;
    for (int round = 0; round < kMaxRounds; ++round) {
      if (!may_continue()) return Polish::failed;
      if (!solve()) return Polish::singular;
      std::size_t violations = step();
      if (violations == 0 && !restore_totals()) return Polish::failed;
      recompute_f();
      violations += count_wrong_signs();
      if (violations == 0 && largest_free_residual() <= kMaxResidual * rounding_error_)
        return value() <= before + kMaxIncrease * scale() ? Polish::done : Polish::failed;
      idle = violations > 0 && violations < fewest_violations ? 0 : idle + 1;
      fewest_violations = std::min(fewest_violations, violations);
      if (idle == kMaxIdleRounds) return Polish::failed;
      update_active_set();
    }
    return Polish::failed;
  }

  double violation() const {
    const Thresholds alone = thresholds(-1);  // of variables without a group
    double largest = std::max({0.0, alone.up, -alone.low});
    for (int g : {0, 1})
      if (const auto [up, low] = thresholds(g); up > -kInf && low < kInf) largest = std::max(largest, up - low);
    return largest;
  }

  bool recomputed() const { return terms_ > 0; }

  // Bound on the error of the recomputed f.
  double f_error() const {
    std::vector<double> diagonal(n_);
    kernel_.diagonal(diagonal);
    GradientError error(kernel_, diagonal);
    double sum = 0;
    for (double b : beta_) sum += std::abs(b);
    error.restart(sum, terms_);
    return error.value();
  }

  void write(Span<double> beta, Span<double> f) const {
    std::copy(beta_.begin(), beta_.end(), beta.begin());
    std::copy(f_.begin(), f_.end(), f.begin());
  }

 private:
  static constexpr std::size_t kPackedBytes = std::size_t{8} << 20;  // memory for packed columns

  double gradient(std::size_t v) const { return f_[v % n_] + problem_.linear[v]; }
  double residual(std::size_t v) const {
    const std::int8_t g = problem_.group[v];
    return gradient(v) + (g < 0 ? 0 : mu_[g]);
  }

  double value() const {
    CompensatedSum sum;
    for (std::size_t v = 0; v < beta_.size(); ++v) sum.add(beta_[v] * (0.5 * f_[v % n_] + problem_.linear[v]));
    return sum.value();
  }
  double scale() const {
    double sum = 0;
    for (std::size_t v = 0; v < beta_.size(); ++v)
      sum += std::abs(beta_[v]) * (std::abs(gradient(v)) + std::abs(problem_.linear[v]));
    return sum;
  }

  // With e_g the indicator of the free variables of group g, and t_g the deficit of the group:
  //   (K_FF + σ Σ_g e_g e_gᵀ) δ + Σ_g μ_g e_g = −g_F + σ Σ_g e_g t_g,   e_gᵀδ = t_g.
  // The solution does not depend on σ.  σ > 0 makes the matrix definite if K_FF is definite on the null space of the
  // rows.
  bool solve() {
    free_variables_.clear();
    std::vector<std::int32_t> samples;
    std::vector<char> seen(n_, 0);
    for (std::size_t v = 0; v < beta_.size(); ++v) {
      if (!free_[v]) continue;
      if (seen[v % n_]++) return false;  // two variables of one sample have equal columns
      free_variables_.push_back(v), samples.push_back(static_cast<std::int32_t>(v % n_));
    }
    if (samples.empty()) return solve_multipliers({}, {}, {});
    const auto rows = factor_.allocate(samples.size());
    kernel_.block_rows(samples, *kernel_.columns(samples, kPackedBytes), Span<double* const>(rows.data(), rows.size()),
                       parallel_, Part::all);
    double sigma = 0;
    for (std::size_t a = 0; a < rows.size(); ++a) sigma += rows[a][a] / static_cast<double>(rows.size());
    if (!(sigma > 0)) sigma = 1;
    for (std::size_t a = 0; a < rows.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b)
        if (same_group(free_variables_[a], free_variables_[b])) rows[a][b] += sigma;
    return factor_.factor() && solve_step(sigma);
  }

  bool same_group(std::size_t v, std::size_t w) const {
    return problem_.group[v] >= 0 && problem_.group[v] == problem_.group[w];
  }

  bool solve_step(double sigma) {
    const std::size_t m = free_variables_.size();
    const double deficit[2] = {deficit_of(0), deficit_of(1)};
    std::vector<double> column[2];
    delta_.resize(m);
    for (std::size_t a = 0; a < m; ++a) {
      const std::int8_t g = problem_.group[free_variables_[a]];
      delta_[a] = -gradient(free_variables_[a]) + (g < 0 ? 0 : sigma * deficit[g]);
    }
    factor_.solve(delta_.data());
    for (int g : {0, 1}) {
      column[g].assign(m, 0.0);
      for (std::size_t a = 0; a < m; ++a) column[g][a] = problem_.group[free_variables_[a]] == g;
      factor_.solve(column[g].data());
    }
    if (!solve_multipliers(column[0], column[1], {deficit[0], deficit[1]})) return false;
    for (std::size_t a = 0; a < m; ++a) {
      for (int g : {0, 1})
        if (has_free_[g]) delta_[a] -= mu_[g] * column[g][a];
      if (!std::isfinite(delta_[a])) return false;
    }
    return true;
  }

  // Computes μ of the groups with free variables from the condition on δ.
  bool solve_multipliers(const std::vector<double>& first, const std::vector<double>& second,
                         const std::array<double, 2>& deficit) {
    double right[2] = {-deficit[0], -deficit[1]}, matrix[2][2] = {{0, 0}, {0, 0}};
    has_free_[0] = has_free_[1] = false;
    for (std::size_t a = 0; a < free_variables_.size(); ++a) {
      const std::int8_t g = problem_.group[free_variables_[a]];
      if (g < 0) continue;
      has_free_[g] = true;
      right[g] += delta_[a];
      matrix[g][0] += first[a], matrix[g][1] += second[a];
    }
    if (has_free_[0] && has_free_[1]) {
      const double determinant = matrix[0][0] * matrix[1][1] - matrix[0][1] * matrix[1][0];
      if (!(determinant > 0)) return false;
      mu_[0] = (right[0] * matrix[1][1] - matrix[0][1] * right[1]) / determinant;
      mu_[1] = (matrix[0][0] * right[1] - right[0] * matrix[1][0]) / determinant;
    } else {
      for (int g : {0, 1})
        if (has_free_[g]) mu_[g] = right[g] / matrix[g][g];
    }
    return true;
  }

  // The required total of group g minus its sum.
  double deficit_of(int g) const {
    CompensatedSum sum;
    sum.add(totals_[static_cast<std::size_t>(g)]);
    for (std::size_t v = 0; v < beta_.size(); ++v)
      if (problem_.group[v] == g) sum.add(-beta_[v]);
    return sum.value();
  }

  // Takes the step, clipped to the bounds; returns the number of clipped variables.
  std::size_t step() {
    std::size_t count = 0;
    outside_.assign(beta_.size(), 0);
    for (std::size_t a = 0; a < free_variables_.size(); ++a) {
      const std::size_t v = free_variables_[a];
      const double moved = beta_[v] + delta_[a];
      beta_[v] = std::clamp(moved, problem_.lower[v], problem_.upper[v]);
      if (beta_[v] != moved) outside_[v] = 1, ++count;
    }
    return count;
  }

  // Adds the deficit of each group, which is due to rounding, to the free variable that is farthest from its bounds.
  bool restore_totals() {
    for (int g : {0, 1}) {
      const double deficit = deficit_of(g);
      double size = std::abs(totals_[static_cast<std::size_t>(g)]), largest_distance = -1;
      std::size_t interior = 0;
      for (std::size_t v = 0; v < beta_.size(); ++v) {
        if (problem_.group[v] != g) continue;
        size += std::abs(beta_[v]);
        const double distance = std::min(beta_[v] - problem_.lower[v], problem_.upper[v] - beta_[v]);
        if (free_[v] && distance > largest_distance) largest_distance = distance, interior = v;
      }
      if (std::abs(deficit) <= kNegligibleDeficit * size) continue;
      if (largest_distance < std::abs(deficit) || std::abs(deficit) > kMaxDeficit * size) return false;
      beta_[interior] += deficit;
    }
    return true;
  }

  // Recomputes f, and the multipliers of groups without free variables.
  void recompute_f() {
    std::vector<std::int32_t> used;
    std::vector<double> coef;
    for (std::size_t i = 0; i < n_; ++i) {
      double sum = 0;
      for (std::size_t v = i; v < beta_.size(); v += n_) sum += beta_[v];
      if (sum != 0) used.push_back(static_cast<std::int32_t>(i)), coef.push_back(sum);
    }
    terms_ = std::max<std::size_t>(1, used.size());
    std::fill(f_.begin(), f_.end(), 0.0);
    if (!used.empty()) kernel_.add_rows(used, coef, *all_columns_, double{}, f_, parallel_);
    for (int g : {0, 1})
      if (!has_free_[g]) mu_[g] = central_multiplier(g);
  }

  // Keerthi's thresholds of a group, (7).
  struct Thresholds {
    double up = -kInf, low = kInf;
  };
  Thresholds thresholds(int g) const {
    Thresholds found;
    for (std::size_t v = 0; v < beta_.size(); ++v) {
      if (problem_.group[v] != g) continue;
      if (beta_[v] < problem_.upper[v]) found.up = std::max(found.up, -gradient(v));
      if (beta_[v] > problem_.lower[v]) found.low = std::min(found.low, -gradient(v));
    }
    return found;
  }

  // The multiplier of a group without free variables: the midpoint of the thresholds.
  double central_multiplier(int g) const {
    const auto [up, low] = thresholds(g);
    if (up > -kInf && low < kInf) return 0.5 * (up + low);
    return up > -kInf ? up : low < kInf ? low : 0;
  }

  // Whether a fixed variable would decrease the objective by moving into its box.
  bool has_wrong_sign(std::size_t v) const {
    if (free_[v] || problem_.lower[v] == problem_.upper[v]) return false;
    const double r = residual(v);
    return (beta_[v] <= problem_.lower[v] && r < -rounding_error_) ||
           (beta_[v] >= problem_.upper[v] && r > rounding_error_);
  }

  std::size_t count_wrong_signs() const {
    std::size_t count = 0;
    for (std::size_t v = 0; v < beta_.size(); ++v) count += has_wrong_sign(v);
    return count;
  }

  void update_active_set() {
    for (std::size_t v = 0; v < beta_.size(); ++v) {
      if (has_wrong_sign(v)) free_[v] = 1;  // false for variables that are free
      else if (outside_[v]) free_[v] = 0;
    }
  }

  double largest_free_residual() const {
    double largest = 0;
    for (std::size_t v : free_variables_) largest = std::max(largest, std::abs(residual(v)));
    return largest;
  }

  const KernelSource& kernel_;
  const SignedProblem& problem_;
  const std::array<double, 2>& totals_;
  const Parallel& parallel_;
  const std::size_t n_;
  const std::unique_ptr<const Columns> all_columns_;
  std::vector<double> beta_, f_, delta_;
  std::vector<char> free_, outside_;
  std::vector<std::size_t> free_variables_;
  Cholesky factor_;
  double mu_[2] = {0, 0}, rounding_error_ = 0;
  bool has_free_[2] = {false, false};  // groups with free variables
  std::size_t terms_ = 0;              // of the recomputed f
};

}  // namespace

Polish polish(const KernelSource& kernel, const SignedProblem& problem, const std::array<double, 2>& totals,
              Span<double> beta, Span<double> f, double& violation, double& f_error, const Parallel& parallel,
              const std::function<bool()>& may_continue) {
  ActiveSetIteration iteration(kernel, problem, totals, beta, f, parallel);
  const Polish outcome = iteration.run(may_continue);
  if (outcome == Polish::done) {
    iteration.write(beta, f);
    violation = iteration.violation();
    if (iteration.recomputed()) f_error = iteration.f_error();
  }
  return outcome;
}

}  // namespace hinge

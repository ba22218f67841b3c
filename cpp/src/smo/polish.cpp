// polish.cpp: the active set iteration of polish.hpp.
#include "hinge/solvers/polish.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "hinge/parallel.hpp"
#include "path/loops.hpp"

namespace hinge {
namespace {

constexpr int kRounds = 20;
constexpr int kIdle = 3;             // rounds in which the guess gets no better before it is given up
constexpr double kSingular = 1e-12;  // a pivot below that, relative to the diagonal, is none
constexpr double kInf = std::numeric_limits<double>::infinity();

// The sum as if in twice the precision.
class Sum {
 public:
  void add(double x) {
    const double sum = sum_ + x, part = sum - sum_;
    lost_ += (sum_ - (sum - part)) + (x - part);
    sum_ = sum;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

// L Lᵀ of a positive definite matrix, made in its place: row after row, some together so that the rows above are read
// once for all of them.
class Cholesky {
 public:
  // Rows of m numbers to be filled with the matrix; those right of the diagonal are not looked at.
  std::vector<double*> open(std::size_t m) {
    m_ = m;
    values_.resize(m * m);
    std::vector<double*> rows;
    for (std::size_t i = 0; i < m; ++i) rows.push_back(&values_[i * m]);
    return rows;
  }

  // False where the matrix is singular to rounding.
  bool factor() {
    const auto dot = path_loops().dot;
    for (std::size_t first = 0; first < m_; first += kTogether) {
      const std::size_t last = std::min(m_, first + kTogether);
      for (std::size_t j = 0; j < last; ++j) {
        double* const above = row(j);
        if (j >= first) {
          const double diagonal = above[j], pivot = diagonal - dot(above, above, j);
          if (!(pivot > kSingular * diagonal)) return false;
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
  static constexpr std::size_t kTogether = 8;
  double* row(std::size_t i) { return &values_[i * m_]; }
  const double* row(std::size_t i) const { return &values_[i * m_]; }

  std::size_t m_ = 0;
  std::vector<double> values_;
};

class ActiveSet {
 public:
  ActiveSet(const KernelSource& kernel, const SignedProblem& problem, const std::array<double, 2>& totals,
            Span<const double> beta, Span<const double> f, const Parallel& parallel)
      : kernel_(kernel), problem_(problem), totals_(totals), parallel_(parallel), n_(f.size()),
        everybody_(kernel.columns({}, kBytes)), beta_(beta.begin(), beta.end()), f_(f.begin(), f.end()),
        free_(beta.size()) {
    double steepest = 0;
    for (std::size_t v = 0; v < beta_.size(); ++v) {
      free_[v] = beta_[v] > problem.lower[v] && beta_[v] < problem.upper[v];
      steepest = std::max(steepest, std::abs(gradient(v)));
    }
    noise_ = 1e-13 * (1 + steepest);
  }

  Polish run(const std::function<bool()>& go_on) {
    if (violation() == 0) return Polish::done;  // what cancels exactly is not computed anew
    const double before = value();
    std::size_t fewest = beta_.size() + 1;
    int idle = 0;
    for (int round = 0; round < kRounds; ++round) {
      if (!go_on()) return Polish::failed;
      if (!solve()) return Polish::singular;
      std::size_t mistakes = step();
      if (mistakes == 0 && !balance()) return Polish::failed;
      refresh();
      mistakes += wrong();
      if (mistakes == 0 && sloping() <= 100 * noise_)  // uphill where K is indefinite
        return value() <= before + 1e-12 * scale() ? Polish::done : Polish::failed;
      idle = mistakes > 0 && mistakes < fewest ? 0 : idle + 1;
      fewest = std::min(fewest, mistakes);
      if (idle == kIdle) return Polish::failed;
      change_guess();
    }
    return Polish::failed;
  }

  double violation() const {
    const Thresholds alone = thresholds(-1);
    double most = std::max({0.0, alone.up, -alone.low});
    for (int g : {0, 1})
      if (const auto [up, low] = thresholds(g); up > -kInf && low < kInf) most = std::max(most, up - low);
    return most;
  }

  void write(Span<double> beta, Span<double> f) const {
    std::copy(beta_.begin(), beta_.end(), beta.begin());
    std::copy(f_.begin(), f_.end(), f.begin());
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{8} << 20;

  double gradient(std::size_t v) const { return f_[v % n_] + problem_.linear[v]; }
  double residual(std::size_t v) const {
    const std::int8_t g = problem_.group[v];
    return gradient(v) + (g < 0 ? 0 : mu_[g]);
  }

  double value() const {
    Sum sum;
    for (std::size_t v = 0; v < beta_.size(); ++v) sum.add(beta_[v] * (0.5 * f_[v % n_] + problem_.linear[v]));
    return sum.value();
  }
  double scale() const {
    double sum = 0;
    for (std::size_t v = 0; v < beta_.size(); ++v)
      sum += std::abs(beta_[v]) * (std::abs(gradient(v)) + std::abs(problem_.linear[v]));
    return sum;
  }

  // With e_g marking the free variables of group g, and t_g what the group has lost:
  //   (K_FF + σ Σ_g e_g e_gᵀ) δ + Σ_g μ_g e_g = −g_F + σ Σ_g e_g t_g,   e_gᵀδ = t_g.
  // σ changes no solution; it makes the matrix definite where K_FF alone is so on the groups' null space only.
  bool solve() {
    members_.clear();
    std::vector<std::int32_t> samples;
    std::vector<char> seen(n_, 0);
    for (std::size_t v = 0; v < beta_.size(); ++v) {
      if (!free_[v]) continue;
      if (seen[v % n_]++) return false;  // two variables of one sample: the equations do not tell them apart
      members_.push_back(v), samples.push_back(static_cast<std::int32_t>(v % n_));
    }
    if (samples.empty()) return settle_multipliers({}, {}, {});
    const auto rows = factor_.open(samples.size());
    kernel_.block_rows(samples, *kernel_.columns(samples, kBytes), Span<double* const>(rows.data(), rows.size()),
                       parallel_, Part::all);
    double sigma = 0;
    for (std::size_t a = 0; a < rows.size(); ++a) sigma += rows[a][a] / static_cast<double>(rows.size());
    if (!(sigma > 0)) sigma = 1;
    for (std::size_t a = 0; a < rows.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b)
        if (same_group(members_[a], members_[b])) rows[a][b] += sigma;
    return factor_.factor() && step_of_members(sigma);
  }

  bool same_group(std::size_t v, std::size_t w) const {
    return problem_.group[v] >= 0 && problem_.group[v] == problem_.group[w];
  }

  bool step_of_members(double sigma) {
    const std::size_t m = members_.size();
    const double lost[2] = {missing(0), missing(1)};
    std::vector<double> column[2];
    delta_.resize(m);
    for (std::size_t a = 0; a < m; ++a) {
      const std::int8_t g = problem_.group[members_[a]];
      delta_[a] = -gradient(members_[a]) + (g < 0 ? 0 : sigma * lost[g]);
    }
    factor_.solve(delta_.data());
    for (int g : {0, 1}) {
      column[g].assign(m, 0.0);
      for (std::size_t a = 0; a < m; ++a) column[g][a] = problem_.group[members_[a]] == g;
      factor_.solve(column[g].data());
    }
    if (!settle_multipliers(column[0], column[1], {lost[0], lost[1]})) return false;
    for (std::size_t a = 0; a < m; ++a) {
      for (int g : {0, 1})
        if (busy_[g]) delta_[a] -= mu_[g] * column[g][a];
      if (!std::isfinite(delta_[a])) return false;
    }
    return true;
  }

  // μ of the groups that have free variables, from the condition on δ.
  bool settle_multipliers(const std::vector<double>& first, const std::vector<double>& second,
                          const std::array<double, 2>& lost) {
    double right[2] = {-lost[0], -lost[1]}, matrix[2][2] = {{0, 0}, {0, 0}};
    busy_[0] = busy_[1] = false;
    for (std::size_t a = 0; a < members_.size(); ++a) {
      const std::int8_t g = problem_.group[members_[a]];
      if (g < 0) continue;
      busy_[g] = true;
      right[g] += delta_[a];
      matrix[g][0] += first[a], matrix[g][1] += second[a];
    }
    if (busy_[0] && busy_[1]) {
      const double determinant = matrix[0][0] * matrix[1][1] - matrix[0][1] * matrix[1][0];
      if (!(determinant > 0)) return false;
      mu_[0] = (right[0] * matrix[1][1] - matrix[0][1] * right[1]) / determinant;
      mu_[1] = (matrix[0][0] * right[1] - right[0] * matrix[1][0]) / determinant;
    } else {
      for (int g : {0, 1})
        if (busy_[g]) mu_[g] = right[g] / matrix[g][g];
    }
    return true;
  }

  double missing(int g) const {
    Sum sum;
    sum.add(totals_[static_cast<std::size_t>(g)]);
    for (std::size_t v = 0; v < beta_.size(); ++v)
      if (problem_.group[v] == g) sum.add(-beta_[v]);
    return sum.value();
  }

  // Go there, but not beyond the boxes; how many would have.
  std::size_t step() {
    std::size_t count = 0;
    outside_.assign(beta_.size(), 0);
    for (std::size_t a = 0; a < members_.size(); ++a) {
      const std::size_t v = members_[a];
      const double moved = beta_[v] + delta_[a];
      beta_[v] = std::clamp(moved, problem_.lower[v], problem_.upper[v]);
      if (beta_[v] != moved) outside_[v] = 1, ++count;
    }
    return count;
  }

  // What rounding has left missing in a group goes to the free variable with most room.
  bool balance() {
    for (int g : {0, 1}) {
      const double rest = missing(g);
      double size = std::abs(totals_[static_cast<std::size_t>(g)]), most = -1;
      std::size_t roomy = 0;
      for (std::size_t v = 0; v < beta_.size(); ++v) {
        if (problem_.group[v] != g) continue;
        size += std::abs(beta_[v]);
        const double room = std::min(beta_[v] - problem_.lower[v], problem_.upper[v] - beta_[v]);
        if (free_[v] && room > most) most = room, roomy = v;
      }
      if (std::abs(rest) <= 1e-15 * size) continue;
      if (most < std::abs(rest) || std::abs(rest) > 1e-8 * size) return false;
      beta_[roomy] += rest;
    }
    return true;
  }

  // f from scratch, and the multipliers of groups without free variables with it.
  void refresh() {
    std::vector<std::int32_t> used;
    std::vector<double> coef;
    for (std::size_t i = 0; i < n_; ++i) {
      double sum = 0;
      for (std::size_t v = i; v < beta_.size(); v += n_) sum += beta_[v];
      if (sum != 0) used.push_back(static_cast<std::int32_t>(i)), coef.push_back(sum);
    }
    std::fill(f_.begin(), f_.end(), 0.0);
    if (!used.empty()) kernel_.add_rows(used, coef, *everybody_, double{}, f_, parallel_);
    for (int g : {0, 1})
      if (!busy_[g]) mu_[g] = midway(g);
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

  // A group without free variables has a choice of multipliers: between the thresholds.
  double midway(int g) const {
    const auto [up, low] = thresholds(g);
    if (up > -kInf && low < kInf) return 0.5 * (up + low);
    return up > -kInf ? up : low < kInf ? low : 0;
  }

  bool pushed_inside(std::size_t v) const {
    if (free_[v] || problem_.lower[v] == problem_.upper[v]) return false;
    const double r = residual(v);
    return (beta_[v] <= problem_.lower[v] && r < -noise_) || (beta_[v] >= problem_.upper[v] && r > noise_);
  }

  std::size_t wrong() const {
    std::size_t count = 0;
    for (std::size_t v = 0; v < beta_.size(); ++v) count += pushed_inside(v);
    return count;
  }

  void change_guess() {
    for (std::size_t v = 0; v < beta_.size(); ++v) {
      if (pushed_inside(v)) free_[v] = 1;  // a variable that was free is not asked
      else if (outside_[v]) free_[v] = 0;
    }
  }

  double sloping() const {
    double most = 0;
    for (std::size_t v : members_) most = std::max(most, std::abs(residual(v)));
    return most;
  }

  const KernelSource& kernel_;
  const SignedProblem& problem_;
  const std::array<double, 2>& totals_;
  const Parallel& parallel_;
  const std::size_t n_;
  const std::unique_ptr<const Columns> everybody_;
  std::vector<double> beta_, f_, delta_;
  std::vector<char> free_, outside_;
  std::vector<std::size_t> members_;  // the free variables
  Cholesky factor_;
  double mu_[2] = {0, 0}, noise_ = 0;
  bool busy_[2] = {false, false};  // groups with free variables
};

}  // namespace

Polish polish(const KernelSource& kernel, const SignedProblem& problem, const std::array<double, 2>& totals,
              Span<double> beta, Span<double> f, double& violation, const Parallel& parallel,
              const std::function<bool()>& go_on) {
  ActiveSet attempt(kernel, problem, totals, beta, f, parallel);
  const Polish end = attempt.run(go_on);
  if (end == Polish::done) {
    attempt.write(beta, f);
    violation = attempt.violation();
  }
  return end;
}

}  // namespace hinge

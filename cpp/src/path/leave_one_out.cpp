// leave_one_out.cpp: paths of single removals with pivots on one inverse.  docs/math (531)–(534)
#include "hinge/solvers/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "parallel/tasks.hpp"
#include "path/loops.hpp"

namespace hinge {
namespace {

constexpr double kMinPivot = 1e-10;        // relative size of a pivot below which a path fails
constexpr double kMinRate = 1e-13;         // rates below this share of the largest count as zero
constexpr std::size_t kMaxPivots = 400;    // changes of the margin after which a path fails
constexpr std::size_t kMaxEvents = 2000;   // events after which a path fails
constexpr std::int8_t kLower = 0, kUpper = 1, kFree = 2;

// A change of the margin: a variable of the margin at a bound, or a free variable that was at a bound.
struct Pivot {
  bool left;            // whether it left the margin
  std::size_t sample;
  std::size_t position;  // in A, if it left
  std::size_t variable;
};

// Factor L D Lᵀ of the quasidefinite matrix of the pivots, with rows appended and removed.  (533)
class PivotFactor {
 public:
  void clear() { rows_.clear(), d_.clear(); }
  std::size_t size() const { return d_.size(); }

  // row: the entries of the new row, the last one its diagonal, with the sign of the diagonal of D.
  bool append(std::vector<double> row, double sign) {
    const std::size_t k = d_.size();
    double pivot = row[k], terms = std::abs(row[k]);
    for (std::size_t j = 0; j < k; ++j) {  // row[j] = l_j d_j until it is divided
      const double* l = rows_[j].data();
      double value = row[j];
      for (std::size_t q = 0; q < j; ++q) value -= l[q] * row[q];
      row[j] = value;
    }
    for (std::size_t j = 0; j < k; ++j) {
      const double l = row[j] / d_[j];
      pivot -= l * row[j];
      terms += std::abs(l * row[j]);
      row[j] = l;
    }
    if (!(sign * pivot > kMinPivot * terms)) return false;
    row.resize(k);
    rows_.push_back(std::move(row));
    d_.push_back(pivot);
    return true;
  }

  void truncate(std::size_t k) { rows_.resize(k), d_.resize(k); }

  void solve(std::vector<double>& x) const {
    const std::size_t k = d_.size();
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < i; ++j) x[i] -= rows_[i][j] * x[j];
    for (std::size_t i = 0; i < k; ++i) x[i] /= d_[i];
    for (std::size_t i = k; i-- > 0;)
      for (std::size_t j = 0; j < i; ++j) x[j] -= rows_[i][j] * x[i];
  }

 private:
  std::vector<std::vector<double>> rows_;
  std::vector<double> d_;
};

class RemovalPath {
 public:
  explicit RemovalPath(const LeaveOneOutProblem& problem)
      : p_(problem), n_(problem.n), a_(problem.pivots), variables_(problem.slots * problem.n), position_(n_, a_),
        rate_(n_), margin_rate_(a_) {
    for (std::size_t k = 0; k < p_.margin; ++k)
      position_[static_cast<std::size_t>(p_.margin_variables[k]) % n_] = k;
  }

  // Removes a sample.  Returns the number of events, −1 if the path failed.
  std::int64_t run(std::size_t removed) {
    if (!begin(removed)) return -1;
    double t = 0;
    for (std::size_t events = 0; events < kMaxEvents; ++events) {
      direction();
      const Event event = next_event(1.0 - t);
      step(event.step);
      t += event.step;
      if (event.variable == variables_) return static_cast<std::int64_t>(events);
      if (!handle(event)) return -1;
    }
    return -1;
  }

  void write(double* coefficients, double& multiplier) const {
    std::fill(coefficients, coefficients + n_, 0.0);
    for (std::size_t v = 0; v < variables_; ++v) coefficients[v % n_] += beta_[v];
    coefficients[removed_] = 0;
    multiplier = mu_;
  }

 private:
  struct Event {
    double step;
    std::size_t variable;  // the number of variables at the end of the path
    std::int8_t to;        // the place of the variable after the event
  };

  bool begin(std::size_t removed) {
    removed_ = removed;
    beta_.assign(p_.beta.begin(), p_.beta.end());
    place_.assign(p_.place.begin(), p_.place.end());
    free_.assign(n_, kNone);
    for (std::size_t k = 0; k < p_.margin; ++k) {
      const std::size_t v = static_cast<std::size_t>(p_.margin_variables[k]);
      free_[v % n_] = v;
    }
    mu_ = p_.mu;
    value_.assign(p_.f.begin(), p_.f.end());
    for (double& value : value_) value += mu_;
    pivots_.clear();
    factor_.clear();
    removal_rate_ = 0;
    for (std::size_t v = removed; v < variables_; v += n_) removal_rate_ -= beta_[v];
    own_ = position_[removed];
    return own_ == a_ || append({true, removed, own_, free_[removed]});  // its coefficient is prescribed
  }

  double entry(const Pivot& x, const Pivot& y) const {
    if (x.left && y.left) return -p_.inverse[x.position * a_ + y.position];
    if (x.left) return p_.solved[x.position * n_ + y.sample];
    if (y.left) return p_.solved[y.position * n_ + x.sample];
    return p_.schur[x.sample * n_ + y.sample];
  }

  bool append(const Pivot& pivot) {
    pivots_.push_back(pivot);
    return pivots_.size() <= kMaxPivots && extend_factor();
  }

  // Adds rows to the factor until it has one for each pivot.
  bool extend_factor() {
    while (factor_.size() < pivots_.size()) {
      const std::size_t k = factor_.size();
      std::vector<double> row(k + 1);
      for (std::size_t j = 0; j <= k; ++j) row[j] = entry(pivots_[k], pivots_[j]);
      if (!factor_.append(std::move(row), pivots_[k].left ? -1.0 : 1.0)) return false;
    }
    return true;
  }

  bool erase(std::size_t k) {
    pivots_.erase(pivots_.begin() + static_cast<std::ptrdiff_t>(k));
    factor_.truncate(k);
    return extend_factor();
  }

  // The rates of the values of all samples and of the variables of A.  (532), (533)
  void direction() {
    const bool moves = own_ == a_;  // the removed sample is not in A
    solution_.assign(pivots_.size(), 0.0);
    for (std::size_t k = 0; k < pivots_.size(); ++k) {
      const Pivot& pivot = pivots_[k];
      if (moves) {
        solution_[k] = -removal_rate_ * (pivot.left ? p_.solved[pivot.position * n_ + removed_]
                                              : p_.schur[pivot.sample * n_ + removed_]);
      } else if (k == 0) {
        solution_[k] = -removal_rate_;
      }
    }
    factor_.solve(solution_);
    amounts_.clear(), rows_.clear(), margin_amounts_.clear(), margin_rows_.clear();
    const auto add = [&](double amount, const double* row, double margin_amount, const double* margin_row) {
      amounts_.push_back(amount), rows_.push_back(row);
      margin_amounts_.push_back(margin_amount), margin_rows_.push_back(margin_row);
    };
    if (moves) add(removal_rate_, &p_.schur[removed_ * n_], -removal_rate_, &p_.solved_transposed[removed_ * a_]);
    for (std::size_t k = 0; k < pivots_.size(); ++k) {
      const Pivot& pivot = pivots_[k];
      const double z = solution_[k];
      if (pivot.left) {
        add(z, &p_.solved[pivot.position * n_], z, &p_.inverse[pivot.position * a_]);
      } else {
        add(z, &p_.schur[pivot.sample * n_], -z, &p_.solved_transposed[pivot.sample * a_]);
      }
    }
    std::fill(rate_.begin(), rate_.end(), 0.0);
    std::fill(margin_rate_.begin(), margin_rate_.end(), 0.0);
    path_loops().combine(amounts_.data(), rows_.data(), rows_.size(), rate_.data(), n_);
    path_loops().combine(margin_amounts_.data(), margin_rows_.data(), margin_rows_.size(), margin_rate_.data(), a_);
    for (std::size_t k = 0; k < p_.margin; ++k)
      rate_[static_cast<std::size_t>(p_.margin_variables[k]) % n_] = 0;  // exactly
    for (std::size_t k = 0; k < pivots_.size(); ++k) {
      if (pivots_[k].left) {
        rate_[pivots_[k].sample] = solution_[k];
        margin_rate_[pivots_[k].position] = 0;
      } else {
        rate_[pivots_[k].sample] = 0;
      }
    }
  }

  // Calls visit(variable, rate) for the free variables.
  template <class Visit>
  void for_each_free(Visit visit) const {
    for (std::size_t k = 0; k < p_.margin; ++k) {
      const std::size_t i = static_cast<std::size_t>(p_.margin_variables[k]) % n_;
      if (free_[i] != kNone && i != removed_) visit(free_[i], margin_rate_[k]);
    }
    for (std::size_t k = 0; k < pivots_.size(); ++k)
      if (!pivots_[k].left) visit(pivots_[k].variable, solution_[k]);
  }

  Event next_event(double remaining) const {
    Event event{remaining, variables_, kFree};
    double largest = 0, largest_free = std::abs(removal_rate_);
    for (double rate : rate_) largest = std::max(largest, std::abs(rate));
    for (std::size_t k = 0; k < p_.margin; ++k) largest_free = std::max(largest_free, std::abs(margin_rate_[k]));
    const double zero = kMinRate * largest, zero_free = kMinRate * largest_free;
    for (std::size_t first = 0; first < variables_; first += n_)
      for (std::size_t i = 0; i < n_; ++i) {
        const std::size_t v = first + i;
        if (place_[v] == kFree) continue;
        const double sign = 1.0 - 2.0 * static_cast<double>(place_[v]), rate = sign * rate_[i];
        if (rate >= -zero) continue;
        const double slack = sign * (value_[i] + p_.linear[v]);
        if (slack >= -rate * event.step || i == removed_ || p_.lower[v] == p_.upper[v]) continue;
        event = {std::max(slack, 0.0) / -rate, v, kFree};
      }
    for_each_free([&](std::size_t v, double rate) {
      if (rate < -zero_free && p_.lower[v] - beta_[v] > rate * event.step)
        event = {std::max(beta_[v] - p_.lower[v], 0.0) / -rate, v, kLower};
      if (rate > zero_free && p_.upper[v] - beta_[v] < rate * event.step)
        event = {std::max(p_.upper[v] - beta_[v], 0.0) / rate, v, kUpper};
    });
    return event;
  }

  void step(double length) {
    path_loops().axpy(length, rate_.data(), value_.data(), n_);
    for_each_free([&](std::size_t v, double rate) { beta_[v] += length * rate; });
    if (a_ > p_.margin) mu_ += length * margin_rate_[a_ - 1];
  }

  bool handle(const Event& event) {
    const std::size_t v = event.variable, i = v % n_;
    const std::size_t found = static_cast<std::size_t>(
        std::find_if(pivots_.begin(), pivots_.end(), [&](const Pivot& each) { return each.sample == i; }) -
        pivots_.begin());
    place_[v] = event.to;
    if (event.to == kFree) {
      value_[i] = -p_.linear[v];
      free_[i] = v;
      return found < pivots_.size() ? erase(found) : append({false, i, a_, v});
    }
    beta_[v] = event.to == kLower ? p_.lower[v] : p_.upper[v];
    value_[i] = -p_.linear[v];
    free_[i] = kNone;
    return found < pivots_.size() ? erase(found) : append({true, i, position_[i], v});
  }

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  const LeaveOneOutProblem& p_;
  const std::size_t n_, a_, variables_;
  std::vector<std::size_t> position_;   // of each sample in A; a_ if it is not there
  std::vector<std::size_t> free_;  // the free variable of each sample
  std::vector<std::int8_t> place_;
  std::vector<double> beta_, value_;    // per variable; f + μ per sample
  std::vector<double> rate_, margin_rate_, solution_, amounts_, margin_amounts_;
  std::vector<const double*> rows_, margin_rows_;
  std::vector<Pivot> pivots_;
  PivotFactor factor_;
  std::size_t removed_ = 0, own_ = 0;   // own_: its position in A
  double removal_rate_ = 0, mu_ = 0;    // removal_rate_: the rate of the coefficient of the removed sample
};

}  // namespace

void leave_one_out(const LeaveOneOutProblem& problem, Span<const std::int64_t> samples, Span<double> beta,
                   Span<double> mu, Span<std::int64_t> events, const Parallel& parallel) {
  run_tasks(samples.size(), parallel, [&] {
    auto path = std::make_shared<RemovalPath>(problem);
    return [&, path](std::size_t k, Poller& poller) {
      poller.poll();
      events[k] = path->run(static_cast<std::size_t>(samples[k]));
      path->write(&beta[k * problem.n], mu[k]);
    };
  });
}

}  // namespace hinge

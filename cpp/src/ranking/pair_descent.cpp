// pair_descent.cpp: coordinate descent over pairs, one block (a query) at a time.            docs/math (436)
// Within a block only the scores of its samples are updated: checking a pair costs O(1), changing it costs O(samples of
// the block).  The scores of all other samples are updated once per visit of a block.
#include <algorithm>
#include <cmath>
#include <limits>

#include "control/run_tracker.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/ranking.hpp"
#include "linear/data/rows.hpp"
#include "numeric/random.hpp"

namespace hinge {
namespace {

constexpr std::size_t kMaxStoredValues = std::size_t{1} << 25;  // if all blocks have more, no matrix is stored
constexpr int kMaxSweeps = 8, kMaxLinearSweeps = 2;  // over the pairs of a block in one visit
constexpr double kBlockReduction = 0.1;              // reduction of the violation at which the visit of a block ends
constexpr double kMinCurvature = 1e-12;              // relative; with less, the variable moves to a bound
constexpr std::int64_t kMaxStalledEpochs = 2000;     // epochs without a smaller gap before reporting a numerical stall
constexpr double kMinGapReduction = 0.99;            // a gap reduced by this factor counts as smaller
constexpr double kMaxSteps = 1e7;                    // updates of pairs before a run without a limit on epochs ends,
constexpr std::int64_t kMinMaxEpochs = 1000;         // unless it has had fewer than this many epochs

// The scores f = Kβ of all samples.
class ScoreModel {
 public:
  virtual ~ScoreModel() = default;
  virtual void load(const std::vector<std::int32_t>& samples, std::vector<double>& scores) = 0;
  virtual void commit(const std::vector<std::int32_t>& samples, const std::vector<double>& change) = 0;
  virtual void all(std::vector<double>& scores) = 0;
  virtual double norm() = 0;  // ‖w‖²; valid until the next commit
};

class KernelScores final : public ScoreModel {
 public:
  KernelScores(const Gram& gram, const std::vector<double>& beta, int threads)
      : gram_(gram), beta_(beta), f_(gram.size(), 0.0), columns_(gram.columns({}, 0)), parallel_{threads, {}} {
    gram.multiply(beta, f_, parallel_);
  }
  void load(const std::vector<std::int32_t>& samples, std::vector<double>& scores) override {
    for (std::size_t k = 0; k < samples.size(); ++k) scores[k] = f_[static_cast<std::size_t>(samples[k])];
  }
  void commit(const std::vector<std::int32_t>& samples, const std::vector<double>& change) override {
    which_.clear(), coef_.clear();
    for (std::size_t k = 0; k < samples.size(); ++k) {
      if (change[k] == 0) continue;
      which_.push_back(samples[k]), coef_.push_back(change[k]);
      beta_[static_cast<std::size_t>(samples[k])] += change[k];
    }
    if (!which_.empty()) gram_.add_rows(which_, coef_, *columns_, double{}, f_, parallel_);
  }
  void all(std::vector<double>& scores) override { scores = f_; }
  double norm() override {
    double sum = 0;
    for (std::size_t i = 0; i < f_.size(); ++i) sum += beta_[i] * f_[i];
    return sum;
  }

 private:
  const Gram& gram_;
  std::vector<double> beta_, f_, coef_;
  std::vector<std::int32_t> which_;
  std::unique_ptr<const Columns> columns_;
  Parallel parallel_;
};

template <class Storage>
class LinearScores final : public ScoreModel {
 public:
  LinearScores(const Storage& storage, const std::vector<double>& beta)
      : rows_(storage), n_(storage.rows), w_(storage.features, 0.0) {
    for (std::size_t i = 0; i < n_; ++i)
      if (beta[i] != 0) rows_.add(i, beta[i], w_.data());
  }
  void load(const std::vector<std::int32_t>& samples, std::vector<double>& scores) override {
    for (std::size_t k = 0; k < samples.size(); ++k)
      scores[k] = rows_.dot(static_cast<std::size_t>(samples[k]), w_.data());
  }
  void commit(const std::vector<std::int32_t>& samples, const std::vector<double>& change) override {
    for (std::size_t k = 0; k < samples.size(); ++k)
      if (change[k] != 0) rows_.add(static_cast<std::size_t>(samples[k]), change[k], w_.data());
  }
  void all(std::vector<double>& scores) override {
    for (std::size_t i = 0; i < n_; ++i) scores[i] = rows_.dot(i, w_.data());
  }
  double norm() override {
    double sum = 0;
    for (double v : w_) sum += v * v;
    return sum;
  }

 private:
  Rows<Storage> rows_;
  std::size_t n_;
  std::vector<double> w_;
};

std::unique_ptr<ScoreModel> make_score_model(const Gram& gram, const Samples* linear, const std::vector<double>& beta,
                                             int threads) {
  if (!linear) return std::make_unique<KernelScores>(gram, beta, threads);
  return std::visit(
      [&](const auto& storage) -> std::unique_ptr<ScoreModel> {
        return std::make_unique<LinearScores<std::decay_t<decltype(storage)>>>(storage, beta);
      },
      *linear);
}

class PairDescent {
 public:
  PairDescent(const Gram& gram, const Samples* linear, const PairProblem& problem, const PairOptions& options,
          Span<double> alpha, RunControl& control)
      : gram_(gram), problem_(problem), options_(options), alpha_(alpha), tracker_(control, options.max_seconds),
        random_(options.seed), scores_(gram.size()) {
    std::vector<double> beta(gram.size(), 0.0);
    for (std::size_t p = 0; p < alpha.size(); ++p) {
      beta[index(problem.first[p])] += alpha[p];
      beta[index(problem.second[p])] -= alpha[p];
    }
    score_model_ = make_score_model(gram, linear, beta, options.threads);
    max_sweeps_ = linear ? kMaxLinearSweeps : kMaxSweeps;
    collect_blocks();
  }

  PairResult run() {
    try {
      update_bounds();
      while (!done()) {
        if (result_.iterations >= max_epochs()) {
          result_.status = Status::max_iter;
          break;
        }
        if (has_stalled()) {
          result_.status = Status::numerical;
          break;
        }
        epoch();
        ++result_.iterations;
        update_bounds();
      }
    } catch (const StopRequest& stop) {
      result_.status = stop.status;
      update_bounds();
    }
    if (result_.status != Status::solved) restore_best();
    result_.scores = std::move(scores_);
    return std::move(result_);
  }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  struct Block {
    std::size_t begin = 0, end = 0;
    std::vector<std::int32_t> samples;
    std::vector<double> K;  // the kernel matrix of its samples, if stored
  };

  // Collects the samples of every block and the positions of the two samples of each pair among them.
  void collect_blocks() {
    const std::size_t m = alpha_.size();
    left_.resize(m), right_.resize(m);
    std::vector<std::int32_t> position_of(gram_.size(), -1);
    std::size_t total = 0;
    for (std::size_t b = 0; b + 1 < problem_.block.size(); ++b) {
      Block block;
      block.begin = static_cast<std::size_t>(problem_.block[b]);
      block.end = static_cast<std::size_t>(problem_.block[b + 1]);
      const auto position = [&](std::int32_t i) {
        if (position_of[index(i)] < 0) {
          position_of[index(i)] = static_cast<std::int32_t>(block.samples.size());
          block.samples.push_back(i);
        }
        return position_of[index(i)];
      };
      for (std::size_t p = block.begin; p < block.end; ++p) {
        left_[p] = position(problem_.first[p]);
        right_[p] = position(problem_.second[p]);
      }
      for (std::int32_t i : block.samples) position_of[index(i)] = -1;
      total += block.samples.size() * block.samples.size();
      largest_block_ = std::max(largest_block_, block.samples.size());
      if (block.end > block.begin) blocks_.push_back(std::move(block));
    }
    store_matrices_ = total <= kMaxStoredValues;
    order_.resize(blocks_.size());
    for (std::size_t b = 0; b < blocks_.size(); ++b) order_[b] = b;
    f_.resize(largest_block_), change_.resize(largest_block_);
  }

  const double* matrix(Block& block) {
    const std::size_t s = block.samples.size();
    if (!block.K.empty()) return block.K.data();
    std::vector<double>& K = store_matrices_ ? block.K : scratch_;
    K.resize(s * s);
    std::vector<double*> rows(s);
    for (std::size_t k = 0; k < s; ++k) rows[k] = K.data() + k * s;
    gram_.block_rows(block.samples, *gram_.columns(block.samples, 0), Span<double* const>(rows.data(), s),
                     {options_.threads, {}});
    return K.data();
  }

  void epoch() {
    shuffle(order_.data(), order_.size(), random_);
    for (std::size_t b : order_) {
      tracker_.poll();
      visit(blocks_[b]);
    }
  }

  void visit(Block& block) {
    const std::size_t s = block.samples.size();
    const double* K = matrix(block);
    score_model_->load(block.samples, f_);
    std::fill(change_.begin(), change_.begin() + static_cast<std::ptrdiff_t>(s), 0.0);
    active_pairs_.clear();
    for (std::size_t p = block.begin; p < block.end; ++p) active_pairs_.push_back(p);
    double first = 0;
    for (int sweep = 0; sweep < max_sweeps_; ++sweep) {
      shuffle(active_pairs_.data(), active_pairs_.size(), random_);
      double worst = 0;
      std::size_t kept = 0;
      for (std::size_t p : active_pairs_) {
        const double violation = update(p, K, s);
        worst = std::max(worst, violation);
        if (violation > 0) active_pairs_[kept++] = p;
      }
      active_pairs_.resize(kept);
      if (sweep == 0) first = worst;
      if (worst <= kBlockReduction * first || kept == 0) break;
    }
    score_model_->commit(block.samples, change_);
  }

  // Minimizes over the variable of one pair; returns the violation before.
  double update(std::size_t p, const double* K, std::size_t s) {
    const std::size_t i = index(left_[p]), j = index(right_[p]);
    const double d = ridge(p), old = alpha_[p], cost = problem_.cost[p], g = f_[i] - f_[j] - 1 + d * old;
    if ((g >= 0 && old <= 0) || (g <= 0 && old >= cost)) return 0;
    const double *ki = K + i * s, *kj = K + j * s;
    const double curvature = ki[i] + kj[j] - 2 * ki[j] + d;
    double next = g > 0 ? 0 : cost;
    if (curvature > kMinCurvature * (ki[i] + kj[j])) next = std::min(std::max(old - g / curvature, 0.0), cost);
    const double step = next - old;
    if (step != 0) {
      alpha_[p] = next;
      change_[i] += step;
      change_[j] -= step;
      for (std::size_t k = 0; k < s; ++k) f_[k] += step * (ki[k] - kj[k]);
    }
    return std::abs(g);
  }

  std::int64_t max_epochs() const {
    if (options_.max_iterations >= 0) return options_.max_iterations;
    return std::max(kMinMaxEpochs, static_cast<std::int64_t>(kMaxSteps / static_cast<double>(alpha_.size() + 1)));
  }

  // Whether the point is not finite, or the gap has not decreased for many epochs.
  bool has_stalled() {
    if (!std::isfinite(result_.gap) || !std::isfinite(result_.dual)) return true;
    if (result_.gap <= kMinGapReduction * reference_gap_) {
      reference_gap_ = result_.gap;
      reference_epoch_ = result_.iterations;
    }
    return result_.iterations - reference_epoch_ > kMaxStalledEpochs;
  }

  // Rounding errors of the kernel values can increase the gap, and make squared losses diverge.
  void restore_best() {
    if (best_.empty() || result_.gap <= best_gap_) return;
    std::copy(best_.begin(), best_.end(), alpha_.begin());
  }

  double ridge(std::size_t p) const { return problem_.ridge.empty() ? 0.0 : problem_.ridge[p]; }

  // The contribution of a pair to the gap; slack = 1 − (f_i − f_j).                            (433), (468)
  double gap_contribution(std::size_t p, double slack) const {
    const double a = alpha_[p], d = ridge(p);
    if (d == 0) return slack > 0 ? (problem_.cost[p] - a) * slack : -a * slack;
    const double difference = a - std::max(slack, 0.0) / d;
    return 0.5 * d * difference * difference + std::max(-slack, 0.0) * a;
  }

  // Computes the primal and dual values, the gap and the violation from the scores of all samples.
  void update_bounds() {
    score_model_->all(scores_);
    double gap = 0, sum = 0, worst = 0;
    for (std::size_t p = 0; p < alpha_.size(); ++p) {
      const double slack = 1 - (scores_[index(problem_.first[p])] - scores_[index(problem_.second[p])]);
      const double a = alpha_[p], d = ridge(p), descent = slack - d * a;
      gap += gap_contribution(p, slack);
      sum += a - 0.5 * d * a * a;
      if ((descent > 0 && a < problem_.cost[p]) || (descent < 0 && a > 0)) worst = std::max(worst, std::abs(descent));
    }
    result_.dual = sum - 0.5 * score_model_->norm();
    result_.gap = gap;
    result_.primal = result_.dual + gap;
    result_.violation = worst;
    if (std::isfinite(result_.dual) && (best_.empty() || gap < best_gap_)) {
      best_gap_ = gap;
      best_.assign(alpha_.begin(), alpha_.end());
    }
    Snapshot& snapshot = tracker_.snapshot;
    snapshot.iteration = result_.iterations, snapshot.violation = worst;
    snapshot.active = static_cast<std::int64_t>(alpha_.size());
    snapshot.primal = result_.primal, snapshot.dual = result_.dual, snapshot.gap = gap;
    tracker_.record();
  }

  bool done() const {
    if (!options_.stop_on_gap) return result_.violation <= options_.tolerance;
    return result_.gap <= options_.tolerance * 0.5 * (std::abs(result_.primal) + std::abs(result_.dual));
  }

  const Gram& gram_;
  const PairProblem& problem_;
  const PairOptions& options_;
  Span<double> alpha_;
  RunTracker tracker_;
  Random random_;
  std::unique_ptr<ScoreModel> score_model_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> order_, active_pairs_;
  std::vector<std::int32_t> left_, right_;
  std::vector<double> f_, change_, scratch_, scores_;
  std::vector<double> best_;  // the point with the smallest gap at the end of an epoch
  double best_gap_ = std::numeric_limits<double>::infinity(), reference_gap_ = best_gap_;
  std::int64_t reference_epoch_ = 0;
  std::size_t largest_block_ = 0;
  int max_sweeps_ = 1;
  bool store_matrices_ = true;
  PairResult result_;
};

}  // namespace

PairResult solve_pairs(const Gram& gram, const Samples* linear, const PairProblem& problem, const PairOptions& options,
                       Span<double> alpha, RunControl& control) {
  return PairDescent(gram, linear, problem, options, alpha, control).run();
}

}  // namespace hinge

// test_online.cpp: replacement of terms, decay and truncation bound of the online learner against a simple loop.
#include <cmath>
#include <vector>

#include "expect.hpp"
#include "hinge/solvers/online.hpp"

using namespace hinge;
using hinge::test::expect;

namespace {

struct Term {
  std::vector<double> x;
  double alpha;
};

double rbf(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t f = 0; f < a.size(); ++f) sum += (a[f] - b[f]) * (a[f] - b[f]);
  return std::exp(-0.5 * sum);
}

void check_replacement_decay_and_bound(std::size_t features, std::size_t budget) {
  OnlineOptions options;
  options.loss = OnlineLoss::hinge, options.rate = 0.5, options.power = 0, options.regularization = 0.9;
  options.budget = budget;
  OnlineLearner learner(KernelFunction({{Op::rbf, 0.5}}), options, features, 1, 0);
  std::vector<Term> kept;
  double b = 0, bound = 0, unit = 1;
  for (int t = 0; t < 900; ++t) {
    std::vector<double> x(features);
    for (double& v : x) v = std::fmod(unit = std::fmod(unit * 16807, 2147483647), 1000) / 500 - 1;
    const double y = x[0] > 0.1 ? 1 : -1;
    double g = b, before = 0;
    for (const Term& term : kept) g += term.alpha * rbf(term.x, x);
    expect(learner.learn(x.data(), y, &before), "the sample is learned");
    expect(std::fabs(before - g) < 1e-9, "the value before the step");
    for (Term& term : kept) term.alpha *= 1 - 0.9 * 0.5;
    bound *= 1 - 0.9 * 0.5;
    if (y * g < 1) {
      kept.push_back({x, 0.5 * y}), b += 0.5 * y;
      if (kept.size() > budget) bound += std::fabs(kept.front().alpha), kept.erase(kept.begin());
    }
    expect(learner.terms() == kept.size(), "the number of terms");
  }
  const OnlineState state = learner.state();
  expect(std::fabs(state.dropped[0] - bound) < 1e-9 && state.seen == 900,
         "the truncation bound and the number of samples");
  OnlineLearner other(KernelFunction({{Op::rbf, 0.5}}), options, features, 1, 0);
  other.restore(state);
  const std::vector<double> x(features, 0.3);
  double first = 0, second = 1;
  expect(learner.learn(x.data(), 1, &first) && other.learn(x.data(), 1, &second) && first == second,
         "a restored learner continues identically");
}

void check_overflow_leaves_state_unchanged() {
  OnlineOptions options;
  options.loss = OnlineLoss::squared, options.rate = 1e3, options.power = 0;
  OnlineLearner learner(KernelFunction({{Op::linear}}), options, 1, 1, 0);
  const double x = 1e6;
  double before = 0;
  int learned = 0;
  while (learned < 1000 && learner.learn(&x, 1, &before)) ++learned;
  expect(learned < 1000 && learner.seen() == learned, "learning stops before overflow");
  for (double a : learner.state().coefficients) expect(std::isfinite(a), "coefficients stay finite");
}

}  // namespace

int main() {
  for (std::size_t features : {1, 3, 8, 21}) {
    for (std::size_t budget : {1, 5, 16, 33}) check_replacement_decay_and_bound(features, budget);
  }
  check_overflow_leaves_state_unchanged();
  return hinge::test::verdict("test_online");
}

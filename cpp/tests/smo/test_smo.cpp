// test_smo.cpp: SMO on problems with known solutions, with float and double rows; limits and interrupts.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "expect.hpp"
#include "hinge/solvers/smo.hpp"
#include "smo/smo_case.hpp"

namespace {

using namespace hinge;
using namespace hinge::test;

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
double close() {
  return sizeof(T) == sizeof(float) ? 1e-6 : 1e-9;
}

bool near(double a, double b, double tolerance) { return std::fabs(a - b) <= tolerance; }

// Two points of two classes: β = ± min(C, 1 / (1 − k)).
template <class T>
void test_two_points() {
  for (double C : {1.0, 10.0, kInf}) {
    Case pair({1, 0.5, 0.5, 1}, {-1, 1}, {0, -C}, {C, 0}, {0, 0});
    const SmoResult result = pair.solve<T>();
    const double expected = std::min(C, 2.0);
    expect(result.status == Status::solved && result.exact, "two points are solved");
    expect(near(pair.beta[0], expected, close<T>()) && near(pair.beta[1], -expected, close<T>()), "two points");
    expect(near(result.objective, pair.objective(), close<T>()), "the reported objective");
    expect(pair.worst_f() <= close<T>(), "f = K β");
  }
}

template <class T>
void test_variables_without_a_group() {
  Case separate({1, 0, 0, 0, 2, 0, 0, 0, 4}, {-1, -1, -10}, {0, 0, 0}, {1, 1, 1}, {-1, -1, -1});
  expect(separate.solve<T>().status == Status::solved, "a diagonal matrix is solved");
  expect(near(separate.beta[0], 1, close<T>()) && near(separate.beta[1], 0.5, close<T>()) && separate.beta[2] == 1,
         "the minimum of each variable");
  Case coupled({2, 1, 1, 2}, {-3, -3}, {-kInf, -kInf}, {kInf, kInf}, {-1, -1});
  expect(coupled.solve<T>().status == Status::solved, "without bounds");
  expect(near(coupled.beta[0], 1, close<T>()) && near(coupled.beta[1], 1, close<T>()), "2x + y = 3 = x + 2y");
}

// Regression: samples 0 and 1 at y = ±1, K = I, ε = 0.1: coefficients ± min(C, 0.9), b = 0.
template <class T>
void test_two_slots() {
  for (double C : {0.5, 10.0}) {
    const double e = 0.1;
    Case tube({1, 0, 0, 1}, {e - 1, e + 1, -(e + 1), -(e - 1)}, {0, 0, -C, -C}, {C, C, 0, 0}, {0, 0, 0, 0}, 2);
    const SmoResult result = tube.solve<T>();
    const double expected = std::min(C, 0.9);
    expect(result.status == Status::solved, "two slots are solved");
    expect(near(tube.beta[0] + tube.beta[2], expected, close<T>()), "the sample above the tube");
    expect(near(tube.beta[1] + tube.beta[3], -expected, close<T>()), "the sample below the tube");
    expect(near(tube.f[0], expected, close<T>()), "f per sample, not per variable");
  }
}

// Two groups with fixed sums, and a variable without a group.
template <class T>
void test_two_groups() {
  std::vector<double> identity(25, 0.0);
  for (std::size_t i = 0; i < 5; ++i) identity[i * 5 + i] = 1;
  Case groups(identity, {0, 0, 0, 0, -0.25}, {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {0, 1, 0, 1, -1});
  groups.beta = {1, 0.5, 0, 0.25, 0};
  const SmoResult result = groups.solve<T>();
  expect(result.status == Status::solved, "two groups and a single variable are solved");
  const std::vector<double> expected = {0.5, 0.375, 0.5, 0.375, 0.25};
  for (std::size_t v = 0; v < 5; ++v) expect(near(groups.beta[v], expected[v], close<T>()),
                                             "the variables of a group become equal");
  expect(near(groups.group_sum(0), 1, 1e-15) && near(groups.group_sum(1), 0.75, 1e-15),
         "the sums of the groups are unchanged");
}

void test_one_sample() {
  Case alone({2}, {-1}, {0}, {10}, {-1});
  expect(alone.solve<double>().status == Status::solved && near(alone.beta[0], 0.5, 1e-12), "one variable");
  Case tube({2}, {-1, -1}, {0, -1}, {1, 0}, {-1, -1}, 2);
  expect(tube.solve<double>().status == Status::solved && near(tube.beta[0] + tube.beta[1], 0.5, 1e-9),
         "one sample, two slots");
  Case tied({2}, {-1}, {0}, {10}, {0});
  tied.beta = {3};
  expect(tied.solve<double>().status == Status::solved && tied.beta[0] == 3, "a group of one variable is fixed");
}

void test_fixed_variables() {
  Case fixed({1, 0, 0, 1}, {-5, 5}, {1, 2}, {1, 2}, {0, 0});
  fixed.beta = {1, 2};
  const SmoResult result = fixed.solve<double>();
  expect(result.status == Status::solved && result.iterations == 0 && result.violation == 0, "equal bounds");
  expect(fixed.control.history.size() == 1 && fixed.control.history[0].exact, "one final snapshot");
  expect(near(fixed.f[0], 1, 0) && near(fixed.f[1], 2, 0), "f is computed");
}

// n points of two overlapping Gaussian classes.
Case two_classes(std::size_t n, double C, double gamma, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(2 * n), K(n * n), c(n), lower(n), upper(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double y = i % 2 ? 1 : -1;
    x[2 * i] = normal(random) + y, x[2 * i + 1] = normal(random);
    c[i] = -y, lower[i] = y > 0 ? 0 : -C, upper[i] = y > 0 ? C : 0;
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      K[i * n + j] = std::exp(-gamma * (std::pow(x[2 * i] - x[2 * j], 2) + std::pow(x[2 * i + 1] - x[2 * j + 1], 2)));
  return Case(K, c, lower, upper, std::vector<std::int8_t>(n, 0), 1, 1e-5);
}

template <class T>
void test_shrinking_does_not_change_the_solution() {
  for (std::int8_t group : {std::int8_t{0}, std::int8_t{-1}}) {
    double objective[2];
    for (bool shrinking : {false, true}) {
      Case run = two_classes(300, 10, 2);
      std::fill(run.group.begin(), run.group.end(), group);
      run.options.shrinking = shrinking;
      const SmoResult result = run.solve<T>();
      expect(result.status == Status::solved && result.violation <= 1e-5, "300 points are solved");
      expect((result.reconstructions > 0) == shrinking, "samples are shrunk if the option is set");
      expect(run.in_box() && (group < 0 || near(run.group_sum(0), 0, 1e-11)), "the point is feasible");
      expect(run.worst_f() <= (sizeof(T) == 4 ? 1e-3 : 1e-10), "f is exact at the end");
      expect(near(result.objective, run.objective(), 1e-3 * sizeof(double) / sizeof(T)),
             "the objective is exact at the end");
      objective[shrinking] = run.objective();
      std::int64_t least = 300;
      for (const Snapshot& s : run.control.history) least = std::min(least, s.active);
      expect((least < 300) == shrinking, "the history contains the number of active samples");
    }
    expect(near(objective[0], objective[1], 1e-6 * std::fabs(objective[0])), "the same optimum");
  }
}

void test_cache_size_does_not_change_the_solution() {
  std::vector<double> solution[2];
  int rows[2];
  for (int tiny : {0, 1}) {
    Case run = two_classes(200, 10, 2);
    if (tiny) run.options.cache_bytes = 0;
    run.solve<double>();
    solution[tiny] = run.beta, rows[tiny] = run.kernel.rows;
  }
  expect(std::memcmp(solution[0].data(), solution[1].data(), 200 * sizeof(double)) == 0, "the same bits");
  expect(rows[1] > 2 * rows[0], "a small cache computes more rows");
}

void test_history() {
  Case run = two_classes(200, 10, 2);
  const SmoResult result = run.solve<double>();
  const auto& h = run.control.history;
  expect(h.size() > 10 && h.front().iteration == 0 && h.back().iteration == result.iterations,
         "the history covers the run");
  for (std::size_t k = 1; k < h.size(); ++k) {
    expect(h[k].iteration > h[k - 1].iteration && h[k].seconds >= h[k - 1].seconds, "iterations and time increase");
    expect(h[k].dual >= h[k - 1].dual - 1e-12 * std::fabs(h[k].dual), "the dual value does not decrease");
  }
  for (const Snapshot& s : h) {
    expect(near(s.primal - s.dual, s.gap, 1e-9 * std::fabs(s.primal)), "gap = primal - dual");
    if (s.exact) expect(s.gap >= 0 && s.primal >= h.back().dual * (1 - 1e-9), "primal values bound the optimum");
  }
  expect(near(h.back().dual, -run.objective(), 1e-9 * std::fabs(run.objective())), "the last dual value");
}

void test_limits() {
  for (std::int64_t steps : {0, 1, 17}) {
    Case run = two_classes(100, 10, 2);
    run.options.max_iterations = steps;
    const SmoResult result = run.solve<double>();
    expect(result.status == Status::max_iter && result.iterations == steps && result.exact,
           "the limit of steps is respected");
    expect(run.in_box() && near(run.group_sum(0), 0, 1e-12) && run.worst_f() < 1e-10,
           "the point is feasible and f is exact");
  }
  Case none = two_classes(100, 10, 2);
  none.options.max_seconds = 0;
  expect(none.solve<double>().status == Status::time_limit, "a time limit of zero");

  Case slow = two_classes(60, 10, 2);
  for (std::size_t i = 0; i < 60; ++i) slow.beta[i] = 0.5 * (slow.lower[i] + slow.upper[i]);
  const std::vector<double> before = slow.beta;
  slow.kernel.sleep_seconds = 0.01, slow.options.max_seconds = 0.1;
  const Stopwatch stopwatch;
  const SmoResult result = slow.solve<double>();
  expect(result.status == Status::time_limit && !result.exact && result.iterations == 0, "no time for f = K β");
  expect(stopwatch.seconds() < 0.5, "the time limit holds while f is computed");
  expect(slow.beta == before, "the start is returned");
}

void test_interruptions() {
  for (int poll : {1, 3}) {
    Case slow = two_classes(100, 10, 2);
    slow.options.cache_bytes = 0;
    slow.kernel.sleep_seconds = 0.01, slow.control.interrupt_at = poll;
    const SmoResult result = slow.solve<double>();
    expect(result.status == Status::interrupted && slow.control.polls == poll, "interrupted at the given poll");
    expect(slow.in_box() && near(slow.group_sum(0), 0, 1e-12), "the point is feasible");
    expect(result.iterations > 0 && slow.objective() < 0, "the objective has decreased");
    expect(!result.exact || slow.worst_f() < 1e-10, "f is exact if it is reported as exact");
    expect(slow.control.history.front().seconds < 0.05 * poll + 0.2, "the first record comes early");
  }
  // Interrupted while f = K β of the start is computed: the point must not be reported as optimal.
  Case start({1, 0, 0, 1}, {0, 0}, {0, 0}, {1, 1}, {0, 0});
  start.beta = {1, 0};
  start.kernel.sleep_seconds = 0.06, start.control.interrupt_at = 1;
  const SmoResult result = start.solve<double>();
  expect(result.status == Status::interrupted && !result.exact, "an unknown gradient is not reported as optimal");
  expect(start.beta[0] == 1 && start.beta[1] == 0 && start.control.history.empty(), "the history is empty");

  Case reports = two_classes(100, 10, 2);
  reports.options.cache_bytes = 0;
  reports.kernel.sleep_seconds = 0.01, reports.control.reports_progress = true, reports.control.stop_at = 2;
  expect(reports.solve<double>().status == Status::interrupted && reports.control.reports == 2,
         "a progress report stops the run");
}

// Interrupted while samples are shrunk: f of inactive samples is not exact, and is reported as such.
void test_interrupted_while_shrunk() {
  Case run = two_classes(400, 10, 2);
  run.options.tolerance = 1e-9, run.options.cache_bytes = 0;
  struct Late final : RunControl {
    Case* run = nullptr;
    bool shrunk = false;
    void record(const Snapshot& s) override {
      shrunk = shrunk || !s.exact;
      if (shrunk) run->kernel.sleep_seconds = 0.06;
    }
    bool wants_progress() override { return false; }
    bool progress(const Snapshot&) override { return true; }
    bool interrupted() override { return shrunk; }
  } late;
  late.run = &run;
  const SmoResult result =
      solve_smo<double>(run.kernel, {run.linear, run.lower, run.upper, run.group, 1}, run.options, run.beta, run.f,
                        late);
  expect(late.shrunk, "samples were shrunk");
  expect(result.status == Status::interrupted && !result.exact, "the run is interrupted and f is not exact");
  expect(run.in_box() && near(run.group_sum(0), 0, 1e-11), "the point is feasible");
}

void test_matrices_with_nan_or_infinity() {
  for (double bad : {std::nan(""), kInf, -kInf}) {
    for (std::int8_t g : {std::int8_t{0}, std::int8_t{-1}}) {
      Case broken({1, 0, 0, 0, 1, bad, 0, bad, 1}, {-1, -1, 1}, {0, 0, -1}, {1, 1, 0}, {g, g, g});
      broken.options.max_seconds = 2;
      expect(broken.solve<double>().status == Status::numerical, "a matrix with NaN or infinity ends as numerical");
    }
  }
}

void test_unbounded_problems() {
  Case linear({0, 0, 0, 0}, {-1, 1}, {0, -kInf}, {kInf, 0}, {0, 0});
  expect(linear.solve<double>().status == Status::numerical, "unbounded, a pair");
  Case alone({0, 0, 0, 0}, {-1, 1}, {0, -kInf}, {kInf, 0}, {-1, -1});
  expect(alone.solve<double>().status == Status::numerical, "unbounded, one variable");
  Case concave({-1, 0, 0, -1}, {-1, 1}, {-kInf, -kInf}, {kInf, kInf}, {0, 0});
  expect(concave.solve<double>().status == Status::numerical, "concave");
}

// Curvature below tau of the selection rule still determines the step.
void test_small_curvature() {
  const double distance = 4e-13, k = 1 - distance / 2;
  for (double C : {1e14, kInf}) {
    Case nearly({1, k, k, 1}, {-1, 1}, {0, -C}, {C, 0}, {0, 0});
    nearly.options.max_seconds = 2;
    expect(nearly.solve<double>().status == Status::solved, "nearly equal points are solved");
    expect(near(nearly.beta[0] * (1 - k), 1, 1e-9), "the minimum, not a bound");
  }
}

// Float rows of data far from the origin: each step must decrease the objective defined by the rounded rows.
void test_rounded_rows_do_not_cycle() {
  const std::size_t n = 60;
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> x(n), K(n * n), c(n), lower(n), upper(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double y = i % 2 ? 1 : -1;
    x[i] = 1e4 + 1e-3 * normal(random);
    c[i] = -y, lower[i] = y > 0 ? 0 : -1, upper[i] = y > 0 ? 1 : 0;
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) K[i * n + j] = x[i] * x[j];
  Case run(K, c, lower, upper, std::vector<std::int8_t>(n, 0));
  run.options.tolerance = 1e-3, run.options.max_seconds = 3;
  expect(run.solve<float>().status != Status::time_limit, "the run ends");
}

// Samples at a bound stay fixed for some steps; the optimum does not change.
void test_sticky_samples() {
  Case plain = two_classes(200, 10, 2);
  plain.options.tolerance = 1e-8;
  plain.solve<double>();
  for (PairRule rule : {PairRule::second_order, PairRule::platt})
    for (std::int64_t steps : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 40}) {
      Case run = two_classes(200, 10, 2);
      run.options.tolerance = 1e-8, run.options.rule = rule, run.options.sticky_steps = steps;
      expect(run.solve<double>().status == Status::solved, "sticky samples: solved");
      expect(near(run.objective(), plain.objective(), 1e-7), "sticky samples: the same optimum");
    }
}

void test_stopping_on_the_gap() {
  for (double gap : {1e-1, 1e-4}) {
    Case run = two_classes(200, 10, 2);
    run.options.tolerance = gap, run.options.stop_on_gap = true;
    const SmoResult cold = run.solve<double>();
    const Snapshot last = run.control.history.back();
    expect(cold.status == Status::solved && last.gap <= gap * (std::fabs(last.primal) + std::fabs(last.dual)) / 2,
           "the requested gap is reached");
    const SmoResult warm = run.solve<double>();
    expect(warm.status == Status::solved && warm.iterations == 0, "a start with the requested gap needs no step");
  }
}

void test_exceptions_reach_the_caller() {
  Case run = two_classes(50, 10, 2);
  run.kernel.failing_row = 7;
  for (std::size_t i = 0; i < 50; ++i) run.beta[i] = 0.5 * (run.lower[i] + run.upper[i]);
  expect(throws([&] { run.solve<double>(); }), "an exception in a row reaches the caller");
}

}  // namespace

int main() {
  test_two_points<double>(), test_two_points<float>();
  test_variables_without_a_group<double>(), test_variables_without_a_group<float>();
  test_two_slots<double>(), test_two_slots<float>();
  test_two_groups<double>(), test_two_groups<float>();
  test_one_sample();
  test_fixed_variables();
  test_shrinking_does_not_change_the_solution<double>(), test_shrinking_does_not_change_the_solution<float>();
  test_cache_size_does_not_change_the_solution();
  test_history();
  test_limits();
  test_interruptions();
  test_interrupted_while_shrunk();
  test_matrices_with_nan_or_infinity();
  test_unbounded_problems();
  test_small_curvature();
  test_rounded_rows_do_not_cycle();
  test_sticky_samples();
  test_stopping_on_the_gap();
  test_exceptions_reach_the_caller();
  return verdict("test_smo");
}

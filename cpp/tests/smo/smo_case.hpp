// smo_case.hpp: problems for SMO, a kernel matrix that can be slow or fail, and a run control that records its calls.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/solvers/smo.hpp"

namespace hinge::test {

// Records snapshots and stops the solver at a given report or poll.
struct RecordingControl final : RunControl {
  int interrupt_at = 0;  // number of the poll; 0: never
  int stop_at = 0;       // number of the report; 0: never
  bool reports_progress = false;
  int polls = 0, reports = 0;
  std::vector<Snapshot> history;

  void record(const Snapshot& snapshot) override { history.push_back(snapshot); }
  bool wants_progress() override { return reports_progress; }
  bool progress(const Snapshot&) override { return ++reports != stop_at; }
  bool interrupted() override { return ++polls == interrupt_at; }
};

// A matrix whose rows take time, or of which a row throws.
class Matrix final : public KernelSource {
 public:
  Matrix(std::vector<double> entries, std::size_t n) : entries_(std::move(entries)), n_(n) {}

  double sleep_seconds = 0;
  std::size_t failing_row = static_cast<std::size_t>(-1);
  mutable int rows = 0;

  std::size_t size() const override { return n_; }
  void diagonal(Span<double> out) const override {
    for (std::size_t i = 0; i < n_; ++i) out[i] = entries_[i * n_ + i];
  }
  void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const override { fill(i, columns, out); }
  void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const override { fill(i, columns, out); }

  double operator()(std::size_t i, std::size_t j) const { return entries_[i * n_ + j]; }

 private:
  template <class T>
  void fill(std::size_t i, Span<const std::int32_t> columns, Span<T> out) const {
    ++rows;
    if (i == failing_row) throw std::runtime_error("failing row");
    if (sleep_seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(sleep_seconds));
    for (std::size_t k = 0; k < out.size(); ++k) {
      const std::size_t j = columns.empty() ? k : static_cast<std::size_t>(columns[k]);
      out[k] = static_cast<T>(entries_[i * n_ + j]);
    }
  }

  std::vector<double> entries_;
  std::size_t n_;
};

struct Case {
  Matrix kernel;
  std::vector<double> linear, lower, upper;
  std::vector<std::int8_t> group;
  std::size_t slots;
  std::vector<double> beta, f;
  SmoOptions options;
  RecordingControl control;

  Case(std::vector<double> K, std::vector<double> c, std::vector<double> lo, std::vector<double> hi,
       std::vector<std::int8_t> groups, std::size_t n_slots = 1, double tolerance = 1e-10)
      : kernel(std::move(K), c.size() / n_slots), linear(std::move(c)), lower(std::move(lo)), upper(std::move(hi)),
        group(std::move(groups)), slots(n_slots), beta(linear.size(), 0.0), f(linear.size() / n_slots, 0.0) {
    options.tolerance = tolerance;
  }

  template <class T>
  SmoResult solve() {
    return solve_smo<T>(kernel, {linear, lower, upper, group, slots}, options, beta, f, control);
  }

  double objective() const {
    const std::size_t n = kernel.size();
    std::vector<double> b(n, 0.0);
    double value = 0;
    for (std::size_t v = 0; v < beta.size(); ++v) b[v % n] += beta[v], value += linear[v] * beta[v];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) value += 0.5 * b[i] * kernel(i, j) * b[j];
    return value;
  }

  double worst_f() const {
    const std::size_t n = kernel.size();
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t v = 0; v < beta.size(); ++v) sum += kernel(i, v % n) * beta[v];
      worst = std::max(worst, std::fabs(sum - f[i]));
    }
    return worst;
  }

  double group_sum(int g) const {
    double sum = 0;
    for (std::size_t v = 0; v < beta.size(); ++v) sum += group[v] == g ? beta[v] : 0.0;
    return sum;
  }

  bool in_box() const {
    for (std::size_t v = 0; v < beta.size(); ++v)
      if (!(beta[v] >= lower[v] && beta[v] <= upper[v])) return false;
    return true;
  }
};

}  // namespace hinge::test

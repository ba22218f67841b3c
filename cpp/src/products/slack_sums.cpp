// slack_sums.cpp: samples and models form one array, so that the loop is vectorized for any number of models.
#include "hinge/products/slack_sums.hpp"

#include <algorithm>
#include <vector>

#include "parallel/tasks.hpp"

namespace hinge {
namespace {

constexpr std::size_t kRows = 64;               // samples of a block; one float sum is kept for each of its entries
constexpr std::size_t kTaskRows = 64 * kRows;  // samples of a task

// The sums of one task, for each entry of a block.
struct Sums {
  explicit Sums(std::size_t size) : curvature(size), slope(size), loss(size) {}
  std::vector<float> curvature, slope, loss;
};

void block(std::size_t size, const float* f, const float* sign, const float* cost, const float* b, float* slack,
           Sums& sums) {
  float *const curvature = sums.curvature.data(), *const slope = sums.slope.data(), *const loss = sums.loss.data();
#pragma omp simd
  for (std::size_t e = 0; e < size; ++e) {
    const float shortfall = 1.0F - sign[e] * (f[e] + b[e]);
    const float xi = shortfall > 0 ? shortfall : 0.0F;
    const float weighted = cost[e] * xi;
    slack[e] = xi;
    curvature[e] += shortfall > 0 ? cost[e] : 0.0F;
    slope[e] += weighted * sign[e];
    loss[e] += weighted * xi;
  }
}

}  // namespace

void slack_sums(std::size_t m, std::size_t k, const float* f, const float* sign, const float* cost, const double* b,
                float* slack, const SlackSums& sums, const Parallel& parallel) {
  std::vector<float> offsets(kRows * k);
  for (std::size_t e = 0; e < offsets.size(); ++e) offsets[e] = static_cast<float>(b[e % k]);
  const std::size_t tasks = (m + kTaskRows - 1) / kTaskRows;
  std::vector<Sums> parts(tasks, Sums(0));
  run_tasks(tasks, parallel, [&] {
    return [&](std::size_t task, Poller& poller) {
      parts[task] = Sums(kRows * k);
      for (std::size_t i = task * kTaskRows; i < std::min(m, (task + 1) * kTaskRows); i += kRows) {
        poller.poll();
        const std::size_t at = i * k, size = std::min(kRows, m - i) * k;
        block(size, f + at, sign + at, cost + at, offsets.data(), slack + at, parts[task]);
      }
    };
  });
  std::fill(sums.curvature, sums.curvature + k, 0.0);
  std::fill(sums.slope, sums.slope + k, 0.0);
  std::fill(sums.loss, sums.loss + k, 0.0);
  for (const Sums& part : parts) {
    for (std::size_t e = 0; e < part.loss.size(); ++e) {
      sums.curvature[e % k] += static_cast<double>(part.curvature[e]);
      sums.slope[e % k] += static_cast<double>(part.slope[e]);
      sums.loss[e % k] += static_cast<double>(part.loss[e]);
    }
  }
}

}  // namespace hinge

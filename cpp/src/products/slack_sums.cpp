// slack_sums.cpp: loops over samples and machines as if they were one array, which the compiler can make vectors of.
#include "hinge/products/slack_sums.hpp"

#include <algorithm>
#include <vector>

#include "parallel/tasks.hpp"

namespace hinge {
namespace {

constexpr std::size_t kRows = 64, kPart = 64 * kRows;  // sums are kept for each of kRows samples; samples of a task

// One task's sums: an entry for every place in a block of kRows samples.
struct Sums {
  explicit Sums(std::size_t size) : curved(size), pull(size), loss(size) {}
  std::vector<float> curved, pull, loss;
};

void block(std::size_t size, const float* f, const float* sign, const float* cost, const float* b, float* missing,
           Sums& sums) {
  float *const curved = sums.curved.data(), *const pull = sums.pull.data(), *const loss = sums.loss.data();
#pragma omp simd
  for (std::size_t e = 0; e < size; ++e) {
    const float short_of = 1.0F - sign[e] * (f[e] + b[e]);
    const float xi = short_of > 0 ? short_of : 0.0F;
    const float price = cost[e] * xi;
    missing[e] = xi;
    curved[e] += short_of > 0 ? cost[e] : 0.0F;
    pull[e] += price * sign[e];
    loss[e] += price * xi;
  }
}

}  // namespace

void slack_sums(std::size_t m, std::size_t k, const float* f, const float* sign, const float* cost, const double* b,
             float* missing, const SlackSums& sums, const Parallel& parallel) {
  std::vector<float> offsets(kRows * k);
  for (std::size_t e = 0; e < offsets.size(); ++e) offsets[e] = static_cast<float>(b[e % k]);
  const std::size_t tasks = (m + kPart - 1) / kPart;
  std::vector<Sums> parts(tasks, Sums(0));
  run_tasks(tasks, parallel, [&] {
    return [&](std::size_t task, Poller& poller) {
      parts[task] = Sums(kRows * k);
      for (std::size_t i = task * kPart; i < std::min(m, (task + 1) * kPart); i += kRows) {
        poller.poll();
        const std::size_t at = i * k, size = std::min(kRows, m - i) * k;
        block(size, f + at, sign + at, cost + at, offsets.data(), missing + at, parts[task]);
      }
    };
  });
  std::fill(sums.curved, sums.curved + k, 0.0);
  std::fill(sums.pull, sums.pull + k, 0.0);
  std::fill(sums.loss, sums.loss + k, 0.0);
  for (const Sums& part : parts) {
    for (std::size_t e = 0; e < part.loss.size(); ++e) {
      sums.curved[e % k] += static_cast<double>(part.curved[e]);
      sums.pull[e % k] += static_cast<double>(part.pull[e]);
      sums.loss[e % k] += static_cast<double>(part.loss[e]);
    }
  }
}

}  // namespace hinge

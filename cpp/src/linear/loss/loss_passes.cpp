// loss_passes.cpp: see the header.
#include "linear/loss/loss_passes.hpp"

namespace hinge {
namespace {

LossArrays part_of(const LossArrays& all, std::size_t first, std::size_t last) {
  const double* inverse = all.inverse ? all.inverse + first : nullptr;
  return {all.target + first, all.lower + first, all.upper + first, all.ridge + first, inverse, all.tube, last - first};
}

}  // namespace

void LossPasses::best(const LossArrays& loss, const double* f, double b, double* beta) const {
  each(loss.n, [&](std::size_t, std::size_t first, std::size_t last) {
    linear_ops().best(part_of(loss, first, last), f + first, b, beta + first);
  });
}

LossBounds LossPasses::bounds(const LossArrays& loss, const double* f, double b, const double* beta,
                              double* parts) const {
  return sum_of<LossBounds>(
      loss.n,
      [&](std::size_t first, std::size_t last) {
        return linear_ops().bounds(part_of(loss, first, last), f + first, b, beta + first, parts + first);
      },
      [](LossBounds& sum, const LossBounds& part) {
        sum.gap += part.gap, sum.loss += part.loss, sum.sum += part.sum;
        sum.violation = std::max(sum.violation, part.violation);
      });
}

LossLine LossPasses::line(const LossArrays& loss, const double* f, double b, const double* q, double q_bias,
                          double tau) const {
  return sum_of<LossLine>(
      loss.n,
      [&](std::size_t first, std::size_t last) {
        return linear_ops().line(part_of(loss, first, last), f + first, b, q + first, q_bias, tau);
      },
      [](LossLine& sum, const LossLine& part) { sum.slope += part.slope, sum.curvature += part.curvature; });
}

LossRoot LossPasses::root(const LossArrays& loss, const double* f, double b) const {
  return sum_of<LossRoot>(
      loss.n,
      [&](std::size_t first, std::size_t last) {
        return linear_ops().root(part_of(loss, first, last), f + first, b);
      },
      [](LossRoot& sum, const LossRoot& part) {
        sum.sum += part.sum, sum.mass += part.mass, sum.rise += part.rise;
      });
}

}  // namespace hinge

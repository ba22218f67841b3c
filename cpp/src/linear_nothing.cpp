// linear_nothing.cpp: see the header.
#include "linear_nothing.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "linear_offset.hpp"
#include "linear_ops.hpp"
#include "linear_state.hpp"

namespace hinge {
namespace {

constexpr std::size_t kAsked = 1024;  // samples of each half
constexpr double kAgree = 0.5;        // the cosine between what two halves ask for

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return linear_ops().dot_double(a.data(), b.data(), a.size());
}

// Whether two halves of some samples want w to go the same way.
bool halves_agree(LinearState& s) {
  const LinearProblem& p = s.problem;
  std::vector<double> way[2];
  for (std::size_t half = 0; half < 2; ++half) {
    std::vector<std::uint32_t> rows(kAsked);
    std::vector<double> pull(kAsked);
    for (std::size_t k = 0; k < kAsked; ++k) {
      const std::size_t i = (2 * k + half) * s.n / (2 * kAsked);
      rows[k] = static_cast<std::uint32_t>(i);
      pull[k] = LossTerm{p.target[i], p.lower[i], p.upper[i], p.ridge[i], p.tube}.best(s.offset);
    }
    way[half].resize(s.d);
    s.passes->combine_list(rows, pull, way[half]);
  }
  return dot(way[0], way[1]) > kAgree * std::sqrt(dot(way[0], way[0]) * dot(way[1], way[1]));
}

}  // namespace

void prove_nothing(LinearState& s) {
  if (s.n < 4 * kAsked || s.options.expansion || halves_agree(s)) return;
  std::vector<double> beta(s.n), combined(s.d);
  s.loss_passes.best(s.losses.arrays(), s.f.data(), s.offset, beta.data());
  restore_sum(s.problem, beta);
  s.passes->combine(beta, combined);
  const double slack = 0.5 * dot(combined, combined);
  const LinearState::Sight sight = s.see(s.f, beta);
  if (s.likely_proven(s.w, sight, slack)) {
    s.adopt(s.w, beta, slack, sight);
  } else {
    s.see(s.f, s.beta);  // parts are those of where we are
  }
}

}  // namespace hinge

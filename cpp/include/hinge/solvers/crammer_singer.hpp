// crammer_singer.hpp: the linear Crammer-Singer problem, docs/math (117)–(120):
//   min ½ Σ_m ‖w_m‖² + ½ Σ b_m²/B² + Σ_i C_i max_m (1 − [m = y_i] + f_m(x_i) − f_{y_i}(x_i)),   f_m = ⟨w_m, x⟩ + b_m.
// Dual coordinate descent over all variables of one sample at a time [Keerthi et al. 2008]; bias terms as in
// linear/descent/descent.hpp.  Memory: k (n + 2d) doubles in addition to the samples.
#pragma once

#include <cstdint>
#include <vector>

#include "hinge/solvers/linear.hpp"

namespace hinge {

struct CrammerSingerProblem {
  Span<const std::int32_t> label;  // 0 … classes − 1
  Span<const double> cost;
  std::size_t classes = 2;
  Bias bias = Bias::free;
  double bias_scale = 1;
};

struct CrammerSingerResult {
  Status status = Status::solved;
  std::int64_t iterations = 0;
  LinearBounds bounds;
  std::vector<double> weights, offset, alpha;  // classes × d, classes, n × classes
};

// alpha (n × classes): the initial point; infeasible rows start at zero.
CrammerSingerResult solve_crammer_singer(const Samples& samples, const CrammerSingerProblem& problem,
                                         const LinearOptions& options, Span<const double> alpha, RunControl& control);

}  // namespace hinge

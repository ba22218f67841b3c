// quadrature.hpp: Gauss–Legendre rules on [0, 1], and the choice among them for products of linear functions.
#pragma once

#include <cstddef>
#include <vector>

namespace hinge {

struct GaussRule {
  std::vector<double> node, weight;
};

GaussRule gauss_legendre(std::size_t m);

// Rules with an increasing number of nodes for products of up to `factors` functions b + t (a − b), a, b ≥ 0.
class QuadratureRules {
 public:
  explicit QuadratureRules(std::size_t factors);

  // A rule that is exact for `count` factors of which one is left out, or whose relative error is below the unit
  // roundoff.  `spread` is the sum of |a − b| / (a + b) over the factors.  (505), (506)
  const GaussRule& select(std::size_t count, double spread) const;
  // The smallest rule that is exact for polynomials of this degree.
  const GaussRule& exact(std::size_t degree) const;

 private:
  std::vector<GaussRule> rules_;
  std::vector<double> largest_spread_;  // for which the error of each rule is below the unit roundoff
};

}  // namespace hinge

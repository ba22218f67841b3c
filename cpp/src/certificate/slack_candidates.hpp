// slack_candidates.hpp: the parts of linear_part.cpp that linear_bounds.cpp uses.
#pragma once

#include <cstddef>
#include <vector>

#include "hinge/certificate/linear_bounds.hpp"

namespace hinge {

// The sums over the samples without candidates for the correction of the sum of β.
LinearPart sums_of_part(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                        Span<const double> beta, bool accurate);

// The sums from known products, whose errors are at most `f_error`; Σ β_i x_i is not computed.
LinearPart sums_of_products(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                            Span<const double> beta, const LinearProducts& products, double& f_error);

// The first `count` samples whose β can move by at least `least_slack`, upwards if side > 0 and downwards otherwise.
std::vector<SlackCandidate> slack_candidates(const LinearBoundedProblem& p, Span<const double> beta, double side,
                                             double least_slack, std::size_t count);

}  // namespace hinge

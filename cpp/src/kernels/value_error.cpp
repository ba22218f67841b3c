// value_error.cpp: see value_error.hpp.
#include "kernels/value_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>
#include <vector>

namespace hinge {
namespace {

constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr double kFunctionError = 4 * kUnitRoundoff;  // relative error of exp, tanh, sqrt and pow

// Bounds on the absolute value and on the error of a quantity, over all pairs of samples.
struct Bounded {
  double value, error;
};

struct Norms {
  double squared = 0, l1 = 0;  // the largest of all samples
};

Norms largest_norms(const Samples& samples) {
  Norms largest;
  std::visit(
      [&](const auto& s) {
        for (std::size_t i = 0; i < s.rows; ++i) {
          double squared = 0, l1 = 0;
          const auto add = [&](double value) { squared += value * value, l1 += std::abs(value); };
          if constexpr (IsCsr<std::decay_t<decltype(s)>>::value) {
            for (auto k = s.start[i]; k < s.start[i + 1]; ++k) add(static_cast<double>(s.values[k]));
          } else {
            for (std::size_t f = 0; f < s.features; ++f) add(static_cast<double>(s.row(i)[f]));
          }
          largest = {std::max(largest.squared, squared), std::max(largest.l1, l1)};
        }
      },
      samples);
  return largest;
}

// Bound on the number of features in which one of two samples is not zero.  Zeros have no rounding errors.
std::size_t largest_union(const Samples& samples) {
  return std::visit(
      [](const auto& s) {
        if constexpr (IsCsr<std::decay_t<decltype(s)>>::value) {
          std::size_t stored = 0;
          for (std::size_t i = 0; i < s.rows; ++i)
            stored = std::max(stored, static_cast<std::size_t>(s.start[i + 1] - s.start[i]));
          return std::min(s.features, 2 * stored);
        } else {
          return s.features;
        }
      },
      samples);
}

// exp(−γ t) for t ≥ 0: its error is at most that of γ t, and at most 1.
Bounded decay(double gamma, const Bounded& t) {
  return {1.0, std::min(1.0, 1.01 * gamma * t.error + kFunctionError)};
}

Bounded affine(const Node& node, const Bounded& dot) {
  const double value = node.gamma * dot.value + std::abs(node.coef0);
  return {value, node.gamma * dot.error + 3 * kUnitRoundoff * value};
}

Bounded power(const Node& node, const Bounded& dot) {
  const Bounded base = affine(node, dot);
  const double largest = base.value + base.error, degree = node.degree;
  const double value = std::pow(largest, degree);
  if (degree < 1 && degree > 0) return {value, std::pow(2 * base.error, degree) + kFunctionError * value};
  const double slope = degree == 0 ? 0 : degree * std::pow(largest, degree - 1);
  return {value, slope * base.error + (kFunctionError + degree * kUnitRoundoff) * value};
}

// The slope of a B-spline is at most 1; |√a − √b| ≤ √|a − b|.
Bounded spline(const Node& node, const Bounded& squared) {
  return {1.0, std::min(1.0, std::sqrt(node.gamma * squared.error) + 8 * (node.degree + 1) * kFunctionError)};
}

}  // namespace

double kernel_value_error(const KernelFunction& function, const Samples& samples, double radius, bool shifted) {
  const Needs needs = function.needs();
  const Norms norms = needs.dot || needs.l1 ? largest_norms(samples) : Norms{};
  const double d = static_cast<double>(features(samples)), u = kUnitRoundoff * 1.01;
  const double terms = static_cast<double>(largest_union(samples)), differences = shifted ? d : terms;
  const Bounded dot{norms.squared, (terms + 2) * u * norms.squared};
  const Bounded squared{4 * radius, 4 * (differences + 12) * u * radius};  // (‖x − c‖ + ‖z − c‖)² ≤ 4 radius
  const Bounded l1{2 * norms.l1, 4 * (d + 4) * u * norms.l1};
  std::vector<Bounded> stack;
  for (const Node& node : function.nodes()) {
    const auto pop = [&stack] {
      const Bounded top = stack.back();
      stack.pop_back();
      return top;
    };
    switch (node.op) {
      case Op::linear: stack.push_back(dot); break;
      case Op::polynomial: stack.push_back(power(node, dot)); break;
      case Op::sigmoid: stack.push_back({1.0, affine(node, dot).error + kFunctionError}); break;
      case Op::rbf: stack.push_back(decay(node.gamma, squared)); break;
      case Op::laplacian: stack.push_back(decay(node.gamma, l1)); break;
      case Op::bspline: stack.push_back(spline(node, squared)); break;
      case Op::sum: {
        const Bounded b = pop(), a = pop();
        stack.push_back({a.value + b.value, a.error + b.error + u * (a.value + b.value)});
        break;
      }
      case Op::product: {
        const Bounded b = pop(), a = pop();
        stack.push_back({a.value * b.value, a.value * b.error + b.value * a.error + a.error * b.error +
                                                u * a.value * b.value});
        break;
      }
      case Op::scale: {
        const Bounded a = pop();
        stack.push_back({node.gamma * a.value, node.gamma * (a.error + u * a.value)});
        break;
      }
    }
  }
  return stack.back().error;
}

}  // namespace hinge

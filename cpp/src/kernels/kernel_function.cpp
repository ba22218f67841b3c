// kernel_function.cpp: validation and evaluation of the postfix program of a kernel.
#include "hinge/kernels/kernel_function.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/loops/vector_ops.hpp"

namespace hinge {
namespace {

constexpr int kMaxProductDegree = 64;  // larger degrees use std::pow, which is then faster and as accurate

constexpr std::pair<std::string_view, Op> kNames[] = {
    {"linear", Op::linear},   {"polynomial", Op::polynomial}, {"rbf", Op::rbf},
    {"sigmoid", Op::sigmoid}, {"laplacian", Op::laplacian},   {"bspline", Op::bspline},
    {"sum", Op::sum},         {"product", Op::product},       {"scale", Op::scale},
};

std::size_t operands(Op op) {
  switch (op) {
    case Op::sum:
    case Op::product: return 2;
    case Op::scale: return 1;
    default: return 0;
  }
}

void check(const Node& node) {
  if (!std::isfinite(node.gamma) || !std::isfinite(node.coef0) || !std::isfinite(node.degree)) {
    throw std::invalid_argument("kernel: gamma, coef0 and degree must be finite");
  }
  if (node.gamma < 0) throw std::invalid_argument("kernel: gamma must be at least 0");
  if (node.op == Op::scale && node.gamma == 0)
    throw std::invalid_argument("kernel: the factor of a scaled kernel must be positive");
  if (node.op == Op::polynomial && node.degree < 0) {
    throw std::invalid_argument("kernel: the degree of a polynomial must be at least 0");
  }
  if (node.op == Op::bspline) {
    const double q = node.degree;
    if (!(q >= 1 && q <= KernelFunction::kMaxSplineDegree) || std::fmod(q, 2) != 1) {
      throw std::invalid_argument("kernel: the degree of a B-spline must be odd, from 1 to " +
                                  std::to_string(KernelFunction::kMaxSplineDegree));
    }
  }
}

// A parameter converted to T and kept finite, so that a huge gamma times a distance of 0 is 0.
template <class T>
T finite(double parameter) {
  constexpr double largest = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(parameter, -largest, largest));
}

template <class T>
void power(const Node& node, std::size_t m, const T* dot, T* out) {
  if (node.degree == std::floor(node.degree) && node.degree <= kMaxProductDegree) {
    vector_ops().array<T>().power(m, finite<T>(node.gamma), finite<T>(node.coef0),
                                  static_cast<int>(node.degree), dot, out);
    return;
  }
  for (std::size_t j = 0; j < m; ++j) {
    out[j] = static_cast<T>(std::pow(node.gamma * static_cast<double>(dot[j]) + node.coef0, node.degree));
  }
}

template <class T>
void spline(const Node& node, std::size_t m, const T* squared, T* out) {
  const int q = static_cast<int>(node.degree);
  for (std::size_t j = 0; j < m; ++j) {
    const double t = node.gamma == 0 ? 0.0 : node.gamma * static_cast<double>(squared[j]);
    out[j] = static_cast<T>(bspline(q, std::sqrt(t)));
  }
}

// exp(-gamma t); 1 for gamma = 0, whatever the distance, which may overflow.
template <class T>
void decay(const Node& node, std::size_t m, const T* distance, T* out) {
  if (node.gamma == 0) {
    std::fill(out, out + m, T(1));
  } else {
    vector_ops().array<T>().exp(m, -finite<T>(node.gamma), distance, out);
  }
}

}  // namespace

Op op_named(std::string_view name) {
  for (const auto& [known, op] : kNames) {
    if (known == name) return op;
  }
  throw std::invalid_argument("kernel: unknown node '" + std::string(name) + "'");
}

std::string_view name_of(Op op) {
  for (const auto& [name, known] : kNames) {
    if (known == op) return name;
  }
  return "unknown";
}

// Recurrence of Cox and de Boor: N_p(x) = (x N_{p-1}(x) + (p + 1 - x) N_{p-1}(x - 1)) / p, at the points fraction + r
// for integers r.  All terms are positive, so values are accurate to a few units in the last place.
double bspline(int q, double t) {
  const double x = 0.5 * (q + 1) - std::fabs(t);  // distance from the end of the support; even in t
  if (!(x > 0)) return 0;
  const int cell = static_cast<int>(x);
  const double fraction = x - cell;
  double value[KernelFunction::kMaxSplineDegree + 1] = {1};  // N_p(fraction + r), r <= p
  for (int p = 1; p <= q; ++p) {
    value[p] = (1 - fraction) * value[p - 1] / p;
    for (int r = p - 1; r > 0; --r) {
      value[r] = ((fraction + r) * value[r] + (p + 1 - r - fraction) * value[r - 1]) / p;
    }
    value[0] = fraction * value[0] / p;
  }
  return value[cell];
}

KernelFunction::KernelFunction(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  std::size_t height = 0;
  for (const Node& node : nodes_) {
    check(node);
    if (height < operands(node.op)) throw std::invalid_argument("kernel: an operator lacks an operand");
    height = height - operands(node.op) + 1;
    depth_ = std::max(depth_, height);
    switch (node.op) {
      case Op::linear:
      case Op::polynomial:
      case Op::sigmoid: needs_.dot = true; break;
      case Op::rbf:
      case Op::bspline:
        needs_.squared = true;
        sharpness_ = std::max(sharpness_, node.gamma);
        has_kink_ = has_kink_ || (node.op == Op::bspline && node.degree <= 1);
        break;
      case Op::laplacian: needs_.l1 = true; break;
      default: break;
    }
  }
  if (height != 1) throw std::invalid_argument("kernel: a program must leave exactly one value");
  if (depth_ > kMaxDepth) {
    throw std::invalid_argument("kernel: more than " + std::to_string(kMaxDepth) +
                                " operands are on the stack; nest sums and products to the left");
  }
}

template <class T>
void KernelFunction::evaluate(const Base<T>& base, std::size_t m, T* stack) const {
  const ArrayOps<T>& ops = vector_ops().array<T>();
  std::size_t height = 0;
  for (const Node& node : nodes_) {
    height -= operands(node.op);
    T* const value = stack + height * m;  // of this node; overwrites its first operand
    const T* const second = value + m;
    switch (node.op) {
      case Op::linear: std::copy(base.dot, base.dot + m, value); break;
      case Op::polynomial: power(node, m, base.dot, value); break;
      case Op::sigmoid: ops.tanh(m, finite<T>(node.gamma), finite<T>(node.coef0), base.dot, value); break;
      case Op::rbf: decay(node, m, base.squared, value); break;
      case Op::laplacian: decay(node, m, base.l1, value); break;
      case Op::bspline: spline(node, m, base.squared, value); break;
      case Op::sum:
        for (std::size_t j = 0; j < m; ++j) value[j] += second[j];
        break;
      case Op::product:
        for (std::size_t j = 0; j < m; ++j) value[j] *= second[j];
        break;
      case Op::scale:
        for (std::size_t j = 0; j < m; ++j) value[j] *= finite<T>(node.gamma);
        break;
    }
    ++height;
  }
}

template void KernelFunction::evaluate(const Base<float>&, std::size_t, float*) const;
template void KernelFunction::evaluate(const Base<double>&, std::size_t, double*) const;

}  // namespace hinge

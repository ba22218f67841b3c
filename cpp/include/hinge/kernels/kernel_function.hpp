// kernel_function.hpp: k(x, z) as a program in postfix order.
//
// Leaves are kernels; sum and product combine the two preceding values, scale multiplies the preceding value by gamma.
// RBF(g) + 2 Linear() is [rbf g] [linear] [scale 2] [sum].
//
//   linear      x·z                           rbf         exp(-gamma |x - z|²)
//   polynomial  (gamma x·z + coef0)^degree    laplacian   exp(-gamma |x - z|_1)
//   sigmoid     tanh(gamma x·z + coef0)       bspline     B(sqrt(gamma) |x - z|), B the centered B-spline of odd degree
//
// Owns its nodes; immutable.  Evaluated for one x and a range of z from dot products, squared distances and l1
// distances; only those that a leaf needs are computed.  Cost per value: one pass of vector arithmetic per node.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace hinge {

enum class Op { linear, polynomial, rbf, sigmoid, laplacian, bspline, sum, product, scale };

Op op_named(std::string_view name);  // throws std::invalid_argument for an unknown name
std::string_view name_of(Op op);

struct Node {
  Op op;
  double gamma = 1;
  double coef0 = 0;
  double degree = 0;
};

struct Needs {
  bool dot = false, squared = false, l1 = false;
};

// The quantities from which k is computed, for one x and a range of z; nullptr if not needed.
template <class T>
struct Base {
  const T* dot;
  const T* squared;
  const T* l1;
};

class KernelFunction {
 public:
  static constexpr std::size_t kMaxDepth = 24;   // operands on the stack; the constructor rejects deeper programs
  static constexpr int kMaxSplineDegree = 15;    // the constructor rejects larger degrees

  explicit KernelFunction(std::vector<Node> nodes);  // throws std::invalid_argument

  const std::vector<Node>& nodes() const { return nodes_; }
  Needs needs() const { return needs_; }
  std::size_t depth() const { return depth_; }
  double sharpness() const { return sharpness_; }  // the largest gamma of a squared distance
  // Whether the kernel is exp(-gamma |x - z|^2) with gamma = sharpness() > 0.
  bool is_gaussian() const { return nodes_.size() == 1 && nodes_.front().op == Op::rbf && sharpness_ > 0; }
  bool has_kink() const { return has_kink_; }  // at distance 0: errors of small distances are amplified

  // m must be a multiple of kPad and all arrays aligned.  stack has depth() · m elements; the values are returned in
  // the first m.
  template <class T>
  void evaluate(const Base<T>& base, std::size_t m, T* stack) const;

 private:
  std::vector<Node> nodes_;
  Needs needs_;
  std::size_t depth_ = 0;
  double sharpness_ = 0;
  bool has_kink_ = false;
};

// The centered B-spline of degree q (q + 1 unit boxes joined by q convolutions), 0 outside |t| < (q + 1) / 2.
double bspline(int q, double t);

}  // namespace hinge

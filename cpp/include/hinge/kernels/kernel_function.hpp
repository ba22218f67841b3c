// kernel_function.hpp: k(x, z) as a program in postfix order: leaves are kernels, operators combine the two
// values (scale: the one value) before them.  RBF(g) + 2 Linear() is [rbf g] [linear] [scale 2] [sum]. Owns
// its nodes, immutable.  Evaluated over a run of columns from dot products, squared and l1 distances, of
// which only those some leaf needs are computed.  Cost per value: one pass of vector arithmetic per node.
//
//   linear      x·z                           rbf         exp(-gamma |x - z|²)
//   polynomial  (gamma x·z + coef0)^degree    laplacian   exp(-gamma |x - z|_1)
//   sigmoid     tanh(gamma x·z + coef0)       bspline     B(sqrt(gamma) |x - z|), B the centred B-spline of
//   odd degree sum, product, scale (by gamma)
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace hinge {

enum class Op { linear, polynomial, rbf, sigmoid, laplacian, bspline, sum, product, scale };

Op op_named(std::string_view name);  // throws std::invalid_argument for a name that is none of the above

struct Node {
  Op op;
  double gamma = 1;
  double coef0 = 0;
  double degree = 0;
};

struct Needs {
  bool dot = false, squared = false, l1 = false;
};

// The quantities k is computed from, for one x and a run of z; null where not needed.
template <class T>
struct Base {
  const T* dot;
  const T* squared;
  const T* l1;
};

class KernelFunction {
 public:
  static constexpr std::size_t kMaxDepth = 24;  // values waiting at any time: the stack of evaluate
  static constexpr int kMaxSplineDegree = 15;

  explicit KernelFunction(std::vector<Node> nodes);  // throws std::invalid_argument

  Needs needs() const { return needs_; }
  std::size_t depth() const { return depth_; }
  double sharpness() const { return sharpness_; }  // the largest gamma that multiplies a squared distance
  bool is_gaussian() const { return nodes_.size() == 1 && nodes_.front().op == Op::rbf; }  // of width sharpness()
  bool has_kink() const { return has_kink_; }      // at distance 0: a small error of the square is a large one

  // m is a multiple of kPad, all arrays are aligned; stack has depth() * m places, the values end in its
  // first m.
  template <class T>
  void evaluate(const Base<T>& base, std::size_t m, T* stack) const;

 private:
  std::vector<Node> nodes_;
  Needs needs_;
  std::size_t depth_ = 0;
  double sharpness_ = 0;
  bool has_kink_ = false;
};

// The centred B-spline of degree q (q + 1 unit boxes joined by q convolutions), 0 outside |t| < (q + 1) / 2.
double bspline(int q, double t);

}  // namespace hinge

// linear_part.cpp: see linear_part.hpp; one pass over the samples, plain or in twice the precision.
#include "hinge/certificate/linear_part.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "certificate/loops.hpp"
#include "certificate/slack_candidates.hpp"

namespace hinge {
namespace {

constexpr std::size_t kSummedRows = 128;  // rows whose sum is computed without compensation
constexpr std::size_t kChunk = 512;       // samples whose terms are summed without compensation, in four partial sums
constexpr std::size_t kStoredCandidates = 16;  // samples that a part stores for the correction of the sum of β

// sum += value, with the rounding error added to `error`.
inline void compensated_add(double& sum, double& error, double value) {
  const double next = sum + value, part = next - sum;
  error += (sum - (next - part)) + (value - part);
  sum = next;
}

template <class T, class Take>
void for_each_value(const Dense<T>& s, std::size_t i, Take take) {
  for (std::size_t j = 0; j < s.features; ++j) take(j, static_cast<double>(s.row(i)[j]));
}
template <class T, class I, class Take>
void for_each_value(const Csr<T, I>& s, std::size_t i, Take take) {
  for (I k = s.start[i]; k < s.start[i + 1]; ++k)
    take(static_cast<std::size_t>(s.index[k]), static_cast<double>(s.values[k]));
}

// ⟨w, x_i⟩ with its rounding error, and ‖x_i‖, of the samples of a chunk.
struct Products {
  double f[kChunk], rest[kChunk], norm[kChunk];
};

// Relative error of plain sums over chunks in four lanes.
constexpr double kPlainError = static_cast<double>(kChunk / 4 + 8) * kUnitRoundoff;

double largest_value(const float* x, std::size_t n) { return certificate_loops().largest_float(x, n); }
double largest_value(const double* x, std::size_t n) { return certificate_loops().largest_double(x, n); }

// Bound on the norms of all samples, from the largest value and the longest row.
template <class T>
double norm_bound(const Dense<T>& s, double& longest) {
  longest = static_cast<double>(s.features);
  return std::sqrt(longest) * largest_value(s.values, s.rows * s.features);
}
template <class T, class I>
double norm_bound(const Csr<T, I>& s, double& longest) {
  I most = 0;
  for (std::size_t i = 0; i < s.rows; ++i) most = std::max<I>(most, s.start[i + 1] - s.start[i]);
  longest = static_cast<double>(most);
  return std::sqrt(longest) * largest_value(s.values, static_cast<std::size_t>(s.start[s.rows]));
}

// One pass over the samples, in chunks: the products of the chunk, and Σ β_i x_i over all chunks so far.
class Pass {
 public:
  Pass(const Samples& samples, Span<const double> w, Span<const double> beta)
      : samples_(samples), w_(w), beta_(beta), sum_(w.size(), 0.0), error_(w.size(), 0.0), part_(w.size()) {}

  // In twice the precision if `accurate`.
  void visit(std::size_t first, std::size_t last, bool accurate, Products& products) {
    std::visit([&](const auto& s) { accurate ? run_accurately(s, first, last, products) : run(s, first, last, products); },
               samples_);
  }

  // Move Σ β_i x_i to `part`.
  void store(LinearPart& part) {
    const std::size_t longest = is_sparse(samples_) ? rows(samples_) : kSummedRows;
    part.rounded_additions = static_cast<double>(longest + 4);
    part.combined = std::move(sum_), part.compensation = std::move(error_);
  }

 private:
  template <class Storage>
  void run_accurately(const Storage& s, std::size_t first, std::size_t last, Products& products) {
    for (std::size_t i = first; i < last; ++i) {
      double f = 0, rest = 0, norm = 0;
      for_each_value(s, i, [&](std::size_t j, double value) {
        const double product = value * w_[j];
        compensated_add(f, rest, product);
        rest += std::fma(value, w_[j], -product);
        norm += value * value;
        if (beta_[i] == 0) return;
        const double part = beta_[i] * value;
        compensated_add(sum_[j], error_[j], part);
        error_[j] += std::fma(beta_[i], value, -part);
      });
      products.f[i - first] = f, products.rest[i - first] = rest, products.norm[i - first] = std::sqrt(norm);
    }
  }

  template <class T>
  void run(const Dense<T>& s, std::size_t first, std::size_t last, Products& products) {
    const CertificateLoops& loops = certificate_loops();
    for (std::size_t start = first; start < last; start += kSummedRows) {
      const std::size_t count = std::min(kSummedRows, last - start), k = start - first;
      std::fill(part_.begin(), part_.end(), 0.0);
      const auto pass = [&](auto loop) {
        loop(s.row(start), count, s.features, w_.data(), beta_.data() + start, products.f + k, products.norm + k,
             part_.data());
      };
      if constexpr (std::is_same_v<T, double>) pass(loops.rows_double);
      else pass(loops.rows_float);
      for (std::size_t j = 0; j < s.features; ++j) compensated_add(sum_[j], error_[j], part_[j]);
    }
  }

  template <class T, class I>
  void run(const Csr<T, I>& s, std::size_t first, std::size_t last, Products& products) {
    for (std::size_t i = first; i < last; ++i) {
      double dot = 0, square = 0;
      for (I k = s.start[i]; k < s.start[i + 1]; ++k) {
        const double value = static_cast<double>(s.values[k]);
        dot += value * w_[static_cast<std::size_t>(s.index[k])], square += value * value;
      }
      products.f[i - first] = dot, products.norm[i - first] = std::sqrt(square);
      if (beta_[i] == 0) continue;
      for (I k = s.start[i]; k < s.start[i + 1]; ++k)
        sum_[static_cast<std::size_t>(s.index[k])] += beta_[i] * static_cast<double>(s.values[k]);
    }
  }

  const Samples& samples_;
  Span<const double> w_, beta_;
  std::vector<double> sum_, error_;  // Σ β_i x_i and its compensation
  std::vector<double> part_;         // Σ β_i x_i of a few dense rows
};

class PartSums {
 public:
  PartSums(const LinearBoundedProblem& problem, Span<const double> weights, double offset, Span<const double> beta,
           bool accurate)
      : p_(problem), w_(weights), b_(offset), beta_(beta), n_(beta.size()), accurate_(accurate),
        features_(static_cast<double>(weights.size())) {
    norm_ = std::sqrt(certificate_loops().squares(w_.data(), w_.size()));
  }

  LinearPart run() {
    part_.count = static_cast<double>(n_);
    sum_terms();
    return std::move(part_);
  }

  // The sums from known products; `f_error` is set to a bound on their errors.
  LinearPart run(const LinearProducts& products, double& f_error) {
    part_.count = static_cast<double>(n_);
    double longest = 0;
    const double norm = 1.001 * std::visit([&](const auto& s) { return norm_bound(s, longest); }, p_.samples);
    const std::vector<double> norms(kChunk, norm);
    part_.plain = kPlainError;
    for (std::size_t first = 0; first < n_; first += kChunk)
      add_chunk(first, std::min(n_, first + kChunk), products.f.data() + first, norms.data(),
                (longest + 8) * u * products.reach, 1.0);
    f_error = (longest + 8) * u * products.reach * norm;
    return std::move(part_);
  }

 private:
  static constexpr double u = kUnitRoundoff;

  // Chunks of plain sums in four lanes have the relative error of kChunk / 4 additions, the sum of the lanes and the
  // operations of a term.  Accurate sums are compensated.
  void sum_terms() {
    const auto products = std::make_unique<Products>();
    Pass pass(p_.samples, w_, beta_);
    if (!accurate_) part_.plain = kPlainError;
    for (std::size_t first = 0; first < n_; first += kChunk) {
      const std::size_t last = std::min(n_, first + kChunk);
      pass.visit(first, last, accurate_, *products);
      if (accurate_) {
        for (std::size_t i = first; i < last; ++i) part_.add(accurate_terms(i, *products, i - first));
      } else {
        add_chunk(first, last, products->f, products->norm, (features_ + 2) * u * norm_, 0.0);
      }
    }
    pass.store(part_);
    if (accurate_) part_.rounded_additions = 0;
  }

  void add_chunk(std::size_t first, std::size_t last, const double* f, const double* norm, double product_error,
                 double f_share) {
    const LinearTerms terms{p_.target.data() + first, p_.lower.data() + first, p_.upper.data() + first,
                            p_.ridge.data() + first,  beta_.data() + first,    f,
                            norm,                     b_,                      p_.tube,
                            product_error,            1 - p_.bounds_error,     f_share};
    part_.add(certificate_loops().terms(terms, last - first));
  }

  LinearSums accurate_terms(std::size_t i, const Products& products, std::size_t k) const {
    LinearSums s;
    const double ridge = p_.ridge[i], b = beta_[i];
    const Residual r = residual(p_.target[i], products.f[k], products.rest[k], products.norm[k]);
    const double above = std::abs(r.value) - p_.tube, h = r.value > 0 ? p_.upper[i] : -p_.lower[i], e = r.error;
    if (above + e > 0) {
      // with a residual near zero and no tube the other side may be the larger one
      const double other = r.value > 0 ? -p_.lower[i] : p_.upper[i];
      const double crossing = e - std::abs(r.value) - p_.tube;
      s.losses = loss(above + e, h, ridge);
      if (crossing > 0) s.losses = std::max(s.losses, loss(crossing, other, ridge));
      s.inflation = s.losses - loss(std::max(0.0, above), h, ridge);
      s.loss_sizes = s.losses + (ridge > 0 && std::isfinite(h) ? ridge * h * h : 0);
    }
    const double slope = ridge * b - r.value;
    const double right = slope + (b >= 0 ? p_.tube : -p_.tube), left = slope + (b > 0 ? p_.tube : -p_.tube);
    s.violation = std::max(b < p_.upper[i] ? -right : 0.0, b > p_.lower[i] ? left : 0.0);
    s.outside = std::max(p_.lower[i] - b, b - p_.upper[i]);

    const double x = in_box(i);
    s.total = x, s.magnitude = std::abs(x), s.squares = 0.5 * ridge * x * x;
    const double product = p_.target[i] * x, tube = p_.tube * std::abs(x);
    s.dual = (product - tube) - s.squares;
    s.linear = std::abs(product) + tube;
    const double size = std::abs(p_.target[i]);
    if (const double width = p_.upper[i] - p_.lower[i]; std::isfinite(width)) s.boxes = width * (size + p_.tube);
    else if (ridge > 0) s.boxes = size * size / ridge;
    s.weighted = products.norm[k] * std::abs(b), s.moved = products.norm[k] * std::abs(x - b);
    return s;
  }

  // target − f − b in twice the precision, and its error; `rest` is the rounding error of f = ⟨w, x⟩.
  struct Residual {
    double value, error;
  };
  Residual residual(double target, double f, double rest, double norm) const {
    const double size = std::abs(target) + std::abs(f) + std::abs(b_) + p_.tube;
    double high = target, low = -rest;
    compensated_add(high, low, -f);
    compensated_add(high, low, -b_);
    const double squares = (features_ + 4) * u * (features_ + 4) * u;
    const double found = high + low;
    return {found, 1.01 * (squares * (norm_ * norm + size) + u * (std::abs(found) + p_.tube))};
  }

  // The loss for an excess of s ≥ 0 over the tube and the bound h on |β|; increasing in s.
  static double loss(double s, double h, double ridge) {
    if (s == 0) return 0;
    if (ridge > 0 && s <= h * ridge) return 0.5 * s * (s / ridge);
    return h * s - 0.5 * ridge * h * h;
  }

  // β_i in its box without the rounding error of the bounds; lower ≤ 0 ≤ upper.
  double safe_lower(std::size_t i) const { return p_.lower[i] * (1 - p_.bounds_error); }
  double safe_upper(std::size_t i) const { return p_.upper[i] * (1 - p_.bounds_error); }
  double in_box(std::size_t i) const { return std::clamp(beta_[i], safe_lower(i), safe_upper(i)); }

  const LinearBoundedProblem& p_;
  Span<const double> w_;
  const double b_;
  Span<const double> beta_;
  const std::size_t n_;
  const bool accurate_;
  const double features_;
  double norm_ = 0;  // ‖w‖
  LinearPart part_;
};

double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }

// Call take(field) with a reference to every number of a part that does not belong to a vector.
template <class Take>
void for_each_number(LinearPart& part, Take take) {
  for (BoundedSum* sum : {&part.losses, &part.dual, &part.beta}) sum->for_each_field(take);
  LinearSums& s = part.sums;
  take(s.losses), take(s.inflation), take(s.loss_sizes), take(s.dual), take(s.total), take(s.squares), take(s.linear);
  take(s.boxes), take(s.magnitude), take(s.weighted), take(s.moved), take(s.violation), take(s.outside);
  take(part.plain), take(part.rounded_additions), take(part.count);
}

// The candidates with the largest slack, and the smallest norms among those with equal slack.
void keep_best(std::vector<SlackCandidate>& candidates) {
  const auto better = [](const SlackCandidate& a, const SlackCandidate& b) {
    return a.slack != b.slack ? a.slack > b.slack : a.norm < b.norm;
  };
  const std::size_t kept = std::min(kStoredCandidates, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(kept), candidates.end(), better);
  candidates.resize(kept);
}

double norm_of(const Samples& samples, std::size_t i) {
  double square = 0;
  std::visit([&](const auto& s) { for_each_value(s, i, [&](std::size_t, double value) { square += value * value; }); },
             samples);
  return std::sqrt(square);
}

}  // namespace

std::vector<SlackCandidate> slack_candidates(const LinearBoundedProblem& p, Span<const double> beta, double side,
                                             double least_slack, std::size_t count) {
  std::vector<SlackCandidate> found;
  const double share = 1 - p.bounds_error;  // of the box, without the rounding error of the bounds
  for (std::size_t i = 0; i < beta.size() && found.size() < count; ++i) {
    const double low = p.lower[i] * share, high = p.upper[i] * share, b = std::clamp(beta[i], low, high);
    const double slack = side > 0 ? high - b : b - low, slope = std::abs(p.target[i]) + p.tube + p.ridge[i] * std::abs(b);
    if (slack >= least_slack) found.push_back({slack, slope, 1.001 * norm_of(p.samples, i), p.ridge[i]});
  }
  return found;
}

LinearPart sums_of_part(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                        Span<const double> beta, bool accurate) {
  return PartSums(problem, weights, offset, beta, accurate).run();
}

LinearPart sums_of_products(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                            Span<const double> beta, const LinearProducts& products, double& f_error) {
  return PartSums(problem, weights, offset, beta, false).run(products, f_error);
}

LinearPart linear_part(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                       Span<const double> beta, bool accurate) {
  LinearPart part = sums_of_part(problem, weights, offset, beta, accurate);
  if (problem.bias == Bias::free) {
    const double least = std::numeric_limits<double>::min();
    part.increasing = slack_candidates(problem, beta, 1, least, beta.size()), keep_best(part.increasing);
    part.decreasing = slack_candidates(problem, beta, -1, least, beta.size()), keep_best(part.decreasing);
  }
  return part;
}

void LinearPart::add(const LinearSums& part) {
  losses.add(part.losses), dual.add(part.dual), beta.add(part.total);
  sums.losses += part.losses, sums.inflation += part.inflation, sums.loss_sizes += part.loss_sizes;
  sums.squares += part.squares, sums.linear += part.linear, sums.boxes += part.boxes;
  sums.magnitude += part.magnitude, sums.weighted += part.weighted, sums.moved += part.moved;
  sums.violation = larger(part.violation, sums.violation), sums.outside = larger(part.outside, sums.outside);
}

void LinearPart::merge(const LinearPart& other) {
  if (combined.empty()) combined.resize(other.combined.size()), compensation.resize(other.combined.size());
  if (other.combined.size() != combined.size() && !other.combined.empty())
    throw std::invalid_argument("parts of problems with different numbers of features cannot be merged");
  for (std::size_t j = 0; j < other.combined.size(); ++j) {
    compensated_add(combined[j], compensation[j], other.combined[j]);
    compensation[j] += other.compensation[j];
  }
  const BoundedSum loss_sum = losses, dual_sum = dual, beta_sum = beta;
  add(other.sums);
  losses = loss_sum, dual = dual_sum, beta = beta_sum;
  losses.merge(other.losses), dual.merge(other.dual), beta.merge(other.beta);
  plain = std::max(plain, other.plain);
  rounded_additions = std::max(rounded_additions, other.rounded_additions);
  count += other.count;
  increasing.insert(increasing.end(), other.increasing.begin(), other.increasing.end()), keep_best(increasing);
  decreasing.insert(decreasing.end(), other.decreasing.begin(), other.decreasing.end()), keep_best(decreasing);
}

std::vector<double> LinearPart::state() const {
  LinearPart copy = *this;
  std::vector<double> numbers;
  for_each_number(copy, [&](double& value) { numbers.push_back(value); });
  for (std::size_t size : {combined.size(), increasing.size(), decreasing.size()})
    numbers.push_back(static_cast<double>(size));
  numbers.insert(numbers.end(), combined.begin(), combined.end());
  numbers.insert(numbers.end(), compensation.begin(), compensation.end());
  for (const auto* candidates : {&increasing, &decreasing})
    for (const SlackCandidate& c : *candidates) numbers.insert(numbers.end(), {c.slack, c.slope, c.norm, c.ridge});
  return numbers;
}

LinearPart LinearPart::from_state(Span<const double> state) {
  LinearPart part;
  std::size_t next = 0;
  const auto read = [&] {
    if (next >= state.size()) throw std::invalid_argument("the state of a part is incomplete");
    return state[next++];
  };
  const auto read_size = [&] {
    const double size = read();
    if (!(size >= 0 && size <= static_cast<double>(state.size())))
      throw std::invalid_argument("the state of a part is damaged");
    return static_cast<std::size_t>(size);
  };
  for_each_number(part, [&](double& value) { value = read(); });
  const std::size_t features = read_size(), increasing = read_size(), decreasing = read_size();
  for (auto* vector : {&part.combined, &part.compensation})
    for (std::size_t j = 0; j < features; ++j) vector->push_back(read());
  const auto read_candidates = [&](std::vector<SlackCandidate>& candidates, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      const double slack = read(), slope = read(), norm = read(), ridge = read();
      candidates.push_back({slack, slope, norm, ridge});
    }
  };
  read_candidates(part.increasing, increasing), read_candidates(part.decreasing, decreasing);
  return part;
}

}  // namespace hinge

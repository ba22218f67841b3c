// cost_sequence.cpp: the problems of cost_sequence.hpp from flat arrays: thousands of them in one call.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/cost_sequence.hpp"

namespace hinge::bind {
namespace nb = nanobind;
namespace {

using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void need(bool fits, const char* what) {
  if (!fits) throw std::invalid_argument(what);
}

template <class T>
Span<T> part_of(const Vector<T>& v, std::size_t first, std::size_t count) {
  return {v.data() + first, count};
}

// Problem p has samples[start[p] .. start[p + 1]); linear, lower, upper have its slots · n values from slots · start[p]
// on, coefficients its m × n from m · start[p] on; the tables have a row for each problem and a column for each cost.
void climb_ladders(const Gram& gram, Vector<const std::int32_t> samples, Vector<const std::int64_t> start,
                   Vector<const double> linear, Vector<const double> lower, Vector<const double> upper,
                   std::size_t slots, Vector<const std::int64_t> max_iterations, Vector<const double> costs,
                   Vector<double> coefficients, Matrix<double> offset, Matrix<double> seconds,
                   Matrix<std::int8_t> status, Matrix<std::int64_t> iterations, double tolerance, double max_seconds,
                   std::size_t cache_bytes, bool double_rows, int threads) {
  need(start.size() > 0 && start.data()[0] == 0, "start must begin with 0");
  const std::size_t count = start.size() - 1, total = samples.size(), m = costs.size();
  for (std::size_t p = 0; p < count; ++p) need(start.data()[p] < start.data()[p + 1], "start must rise");
  need(static_cast<std::size_t>(start.data()[count]) == total, "start must end with the number of samples");
  for (std::size_t size : {linear.size(), lower.size(), upper.size()})
    need(size == slots * total, "linear, lower and upper need slots values for every sample");
  need(max_iterations.size() == count && coefficients.size() == m * total, "a result has the wrong size");
  for (std::size_t k = 0; k < total; ++k)
    need(samples.data()[k] >= 0 && static_cast<std::size_t>(samples.data()[k]) < gram.size(),
         "samples must be rows of the kernel matrix");
  for (double cost : Span<const double>(costs.data(), m)) need(cost > 0, "costs must be positive");
  const auto fits = [&](const auto& table) { return table.shape(0) == count && table.shape(1) == m; };
  need(fits(offset) && fits(seconds) && fits(status) && fits(iterations), "a table has the wrong shape");

  std::vector<LadderPart> parts;
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t first = static_cast<std::size_t>(start.data()[p]);
    const std::size_t n = static_cast<std::size_t>(start.data()[p + 1]) - first;
    const std::size_t at = slots * first, size = slots * n;
    parts.push_back({part_of(samples, first, n), part_of(linear, at, size), part_of(lower, at, size),
                     part_of(upper, at, size), slots, max_iterations.data()[p],
                     part_of(coefficients, m * first, m * n), {offset.data() + p * m, m}, {seconds.data() + p * m, m},
                     {status.data() + p * m, m}, {iterations.data() + p * m, m}});
  }
  const LadderOptions options{tolerance, max_seconds, cache_bytes, double_rows};
  const nb::gil_scoped_release nogil;
  climb(gram.source(), parts, {costs.data(), m}, options, {threads, check_signals});
}

}  // namespace

void ladders(nb::module_& m) {
  m.def("climb", &climb_ladders, "gram"_a, "samples"_a.noconvert(), "start"_a.noconvert(), "linear"_a.noconvert(),
        "lower"_a.noconvert(), "upper"_a.noconvert(), "slots"_a, "max_iterations"_a.noconvert(), "costs"_a.noconvert(),
        "coefficients"_a.noconvert(), "offset"_a.noconvert(), "seconds"_a.noconvert(), "status"_a.noconvert(),
        "iterations"_a.noconvert(), "tolerance"_a, "max_seconds"_a, "cache_bytes"_a, "double_rows"_a, "threads"_a,
        "Problems over some of the samples each, for several costs.  See cost_sequence.hpp.");
}

}  // namespace hinge::bind

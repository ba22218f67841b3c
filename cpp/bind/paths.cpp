// paths.cpp: Python binding of the parametric active-set method.
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/leave_one_out.hpp"
#include "hinge/solvers/path.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

using Numbers = Vector<const double>;
using Groups = Vector<const std::int8_t>;
using Indices = Vector<const std::int32_t>;

struct PathSnapshot {
  std::shared_ptr<const ActiveSet::Snapshot> state;
};

// The columns of hinge::PathRecord.
struct PathColumns {
  explicit PathColumns(PathRecord&& r)
      : start(to_numpy(std::move(r.start))), stop(to_numpy(std::move(r.stop))), mu(to_numpy(std::move(r.mu))),
        mu_rate(to_numpy(std::move(r.mu_rate))), value(to_numpy(std::move(r.value))), rate(to_numpy(std::move(r.rate))),
        violation(to_numpy(std::move(r.violation))), offset(to_numpy(std::move(r.offset))),
        changed_at(to_numpy(std::move(r.changed_at))), margin(to_numpy(std::move(r.margin))),
        changed(to_numpy(std::move(r.changed))), place(to_numpy(std::move(r.place))) {}

  NumpyVector<double> start, stop, mu, mu_rate, value, rate, violation;
  NumpyVector<std::int64_t> offset, changed_at;
  NumpyVector<std::int32_t> margin, changed;
  NumpyVector<std::int8_t> place;
};

struct PathRun {
  PathRun(const PathResult& result, nb::object error)
      : result(result), status(result.status), error(std::move(error)) {}

  PathResult result;
  Status status;
  std::optional<PathColumns> record;  // if requested
  nb::object error;
};

std::vector<double> copied(const Numbers& v, std::size_t size, const char* name) {
  if (v.size() != size) {
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(v.size()) + " entries but needs " +
                                std::to_string(size));
  }
  return bind::copied(v);
}

std::unique_ptr<ActiveSet> make_active_set(const Gram& gram, std::size_t slots, const Groups& group,
                                           std::size_t cache_bytes, int threads) {
  if (group.size() != slots * gram.size()) throw std::invalid_argument("group needs slots · n entries");
  for (std::int8_t g : span(group))
    if (g < -1 || g > 1) throw std::invalid_argument("entries of group must be -1, 0 or 1");
  return std::make_unique<ActiveSet>(gram.gram(), slots, span(group), cache_bytes, threads);
}

std::unique_ptr<ActiveSet> make_pair_active_set(const Gram& gram, const Indices& first, const Indices& second,
                                                const Groups& group, std::size_t cache_bytes, int threads) {
  if (first.size() == 0 || first.size() != second.size() || group.size() != first.size())
    throw std::invalid_argument("first, second and group need one entry per pair, and at least one pair");
  for (std::size_t p = 0; p < first.size(); ++p) {
    for (std::int32_t i : {first.data()[p], second.data()[p]})
      if (i < 0 || static_cast<std::size_t>(i) >= gram.size())
        throw std::invalid_argument("first and second must be rows of the kernel matrix");
    if (group.data()[p] != -1) throw std::invalid_argument("entries of group must be -1 for pairs");
  }
  return std::make_unique<ActiveSet>(gram.gram(), bind::copied(first), bind::copied(second), span(group), cache_bytes,
                                     threads);
}

// Keeps the kernel matrix alive.
class PathFollower {
 public:
  PathFollower(nb::object gram, std::size_t slots, const Groups& group, std::size_t cache_bytes, int threads,
               const std::optional<Indices>& first, const std::optional<Indices>& second)
      : gram_(std::move(gram)) {
    if (first.has_value() != second.has_value()) throw std::invalid_argument("pairs need both first and second");
    const Gram& source = nb::cast<const Gram&>(gram_);
    set_ = first ? make_pair_active_set(source, *first, *second, group, cache_bytes, threads)
                 : make_active_set(source, slots, group, cache_bytes, threads);
  }

  PathRun start(const Numbers& beta, const Numbers& linear, const Numbers& lower, const Numbers& upper,
                const Numbers& total, double max_seconds, std::int64_t max_events, nb::object python_control) {
    const std::vector<double> point = copied(beta, set_->size(), "beta");
    PathData values = data(linear, lower, upper, total, set_->size());
    const PathOptions options{max_seconds, max_events};
    PyRunControl control(std::move(python_control));
    PathResult result;
    {
      const nb::gil_scoped_release nogil;
      result = set_->start(point, std::move(values), options, control);
    }
    return {result, control.error()};
  }

  PathRun follow(const Numbers& linear, const Numbers& lower, const Numbers& upper, const Numbers& total, double origin,
                 double span, bool record, double max_seconds, std::int64_t max_events, nb::object python_control) {
    PathData rates = data(linear, lower, upper, total, set_->size());
    const PathOptions options{max_seconds, max_events};
    PyRunControl control(std::move(python_control));
    PathRecord segments;
    PathResult result;
    {
      const nb::gil_scoped_release nogil;
      result = set_->follow(std::move(rates), origin, span, record ? &segments : nullptr, options, control);
    }
    PathRun run(result, control.error());
    if (record) run.record.emplace(std::move(segments));
    return run;
  }

  void grow(nb::object gram, const Groups& group, const Numbers& linear, const Numbers& lower, const Numbers& upper,
            const Numbers& total) {
    const Gram& source = nb::cast<const Gram&>(gram);
    const std::size_t size = group.size();
    if (source.size() == 0 || size % source.size() != 0 || size < set_->size())
      throw std::invalid_argument("group needs slots · n entries, at least as many as before");
    PathData values = data(linear, lower, upper, total, size);
    {
      const nb::gil_scoped_release nogil;
      set_->grow(source.gram(), span(group), std::move(values));
    }
    gram_ = std::move(gram);
  }

  NumpyVector<double> beta() const { return to_numpy(set_->beta()); }
  NumpyVector<double> mu() const { return to_numpy(set_->mu()); }
  NumpyVector<double> f() const { return to_numpy(std::vector<double>(set_->f())); }
  NumpyVector<std::int8_t> places() const { return to_numpy(set_->places()); }
  std::size_t margin_size() const { return set_->margin_size(); }
  PathSnapshot snapshot() const { return {set_->snapshot()}; }
  void restore(const PathSnapshot& snapshot) { set_->restore(*snapshot.state); }

 private:
  PathData data(const Numbers& linear, const Numbers& lower, const Numbers& upper, const Numbers& total,
                std::size_t size) const {
    return {copied(linear, size, "linear"), copied(lower, size, "lower"), copied(upper, size, "upper"),
            copied(total, set_->groups(), "total")};
  }

  nb::object gram_;
  std::unique_ptr<ActiveSet> set_;
};

// Solutions without each of the samples; returns the numbers of events.
NumpyVector<std::int64_t> remove_each(const Matrix<const double>& schur, const Matrix<const double>& solved,
                                      const Matrix<const double>& solved_transposed,
                                      const Matrix<const double>& inverse,
                                      const Vector<const std::int64_t>& margin_variables, const Numbers& linear,
                                      const Numbers& lower, const Numbers& upper, const Numbers& start,
                                      const Groups& place, const Numbers& f, double mu,
                                      const Vector<const std::int64_t>& samples, const Matrix<double>& beta,
                                      const Vector<double>& intercept, int threads) {
  const std::size_t n = schur.shape(0), a = inverse.shape(0), N = linear.size(), m = margin_variables.size();
  const auto shaped = [](const Matrix<const double>& matrix, std::size_t rows, std::size_t columns) {
    return matrix.shape(0) == rows && matrix.shape(1) == columns;
  };
  const bool matrices = shaped(schur, n, n) && shaped(solved, a, n) && shaped(solved_transposed, n, a) &&
                        shaped(inverse, a, a) && beta.shape(0) == samples.size() && beta.shape(1) == n;
  const bool vectors = n > 0 && N % n == 0 && lower.size() == N && upper.size() == N && start.size() == N &&
                       place.size() == N && f.size() == n && intercept.size() == samples.size() &&
                       (a == m || a == m + 1);
  if (!matrices || !vectors) throw std::invalid_argument("the shapes of the arrays do not match");
  for (std::int64_t v : span(margin_variables))
    if (v < 0 || static_cast<std::size_t>(v) >= N) throw std::invalid_argument("margin_variables has a wrong entry");
  for (std::int64_t i : span(samples))
    if (i < 0 || static_cast<std::size_t>(i) >= n) throw std::invalid_argument("samples has a wrong entry");
  const auto flat = [](const auto& matrix) { return Span(matrix.data(), matrix.size()); };
  const LeaveOneOutProblem problem{n,           N / n,        m,           a,           flat(schur), flat(solved),
                                   flat(solved_transposed), flat(inverse), span(margin_variables), span(linear),
                                   span(lower), span(upper),  span(start), span(place), span(f),     mu};
  std::vector<std::int64_t> events(samples.size());
  {
    const nb::gil_scoped_release nogil;
    leave_one_out(problem, span(samples), flat(beta), span(intercept), events, {threads, check_signals});
  }
  return to_numpy(std::move(events));
}

}  // namespace

void paths(nb::module_& m) {
  m.def("remove_each", &remove_each, "schur"_a.noconvert(), "solved"_a.noconvert(), "solved_transposed"_a.noconvert(),
        "inverse"_a.noconvert(), "margin_variables"_a.noconvert(), "linear"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "start"_a.noconvert(), "place"_a.noconvert(), "f"_a.noconvert(), "mu"_a,
        "samples"_a.noconvert(), "beta"_a.noconvert(), "intercept"_a.noconvert(), "threads"_a = 1,
        "Write the solutions without each of the samples to the rows of beta and to intercept.  See leave_one_out.hpp."
        "  Returns the numbers of events; -1 if a path failed.");


  nb::class_<PathSnapshot>(m, "PathSnapshot", "The state of an ActiveSet.");

  nb::class_<PathColumns> record(m, "PathRecord",
                                 "The segments of a piecewise linear path.  See PathRecord in path.hpp.");
  def_array(record, "start", &PathColumns::start);
  def_array(record, "stop", &PathColumns::stop);
  def_array(record, "mu", &PathColumns::mu);
  def_array(record, "mu_rate", &PathColumns::mu_rate);
  def_array(record, "offset", &PathColumns::offset);
  def_array(record, "margin", &PathColumns::margin);
  def_array(record, "value", &PathColumns::value);
  def_array(record, "rate", &PathColumns::rate);
  def_array(record, "changed_at", &PathColumns::changed_at);
  def_array(record, "changed", &PathColumns::changed);
  def_array(record, "place", &PathColumns::place);
  def_array(record, "violation", &PathColumns::violation);

  auto run = def_record<PathRun>(m, "PathRun", "Result of `ActiveSet.start` and `ActiveSet.follow`.");
  run.def_prop_ro("infeasible", [](const PathRun& r) { return r.result.infeasible; })
      .def_prop_ro("reached", [](const PathRun& r) { return r.result.reached; })
      .def_prop_ro("events", [](const PathRun& r) { return r.result.events; })
      .def_prop_ro("exchanges", [](const PathRun& r) { return r.result.exchanges; })
      .def_prop_ro("idle", [](const PathRun& r) { return r.result.idle; })
      .def_prop_ro("repairs", [](const PathRun& r) { return r.result.repairs; })
      .def_prop_ro("refactorings", [](const PathRun& r) { return r.result.refactorings; })
      .def_prop_ro("refreshes", [](const PathRun& r) { return r.result.refreshes; })
      .def_prop_ro("violation", [](const PathRun& r) { return r.result.violation; })
      .def_prop_ro("margin_sum", [](const PathRun& r) { return r.result.margin_sum; })
      .def_ro("record", &PathRun::record);

  nb::class_<PathFollower>(m, "ActiveSet", "The parametric active-set method.  See path.hpp.")
      .def(nb::init<nb::object, std::size_t, const Groups&, std::size_t, int, const std::optional<Indices>&,
                    const std::optional<Indices>&>(),
           "gram"_a, "slots"_a, "group"_a, "cache_bytes"_a, "threads"_a, "first"_a.none() = nb::none(),
           "second"_a.none() = nb::none())
      .def("start", &PathFollower::start, "beta"_a, "linear"_a, "lower"_a, "upper"_a, "total"_a, "max_seconds"_a,
           "max_events"_a, "control"_a.none() = nb::none())
      .def("follow", &PathFollower::follow, "linear"_a, "lower"_a, "upper"_a, "total"_a, "origin"_a, "span"_a,
           "record"_a, "max_seconds"_a, "max_events"_a, "control"_a.none() = nb::none())
      .def("grow", &PathFollower::grow, "gram"_a, "group"_a, "linear"_a, "lower"_a, "upper"_a, "total"_a)
      .def_prop_ro("beta", &PathFollower::beta, nb::rv_policy::automatic)
      .def_prop_ro("mu", &PathFollower::mu, nb::rv_policy::automatic)
      .def_prop_ro("f", &PathFollower::f, nb::rv_policy::automatic)
      .def_prop_ro("places", &PathFollower::places, nb::rv_policy::automatic)
      .def_prop_ro("margin_size", &PathFollower::margin_size)
      .def("snapshot", &PathFollower::snapshot)
      .def("restore", &PathFollower::restore, "snapshot"_a);
}

}  // namespace hinge::bind

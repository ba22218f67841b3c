// paths.cpp: the parametric active set as Python sees it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <stdexcept>

#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/path.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = Vector<const double>;

std::vector<double> copied(const Numbers& v, std::size_t size, const char* what) {
  if (v.size() != size) throw std::invalid_argument(std::string(what) + " has the wrong length");
  return std::vector<double>(v.data(), v.data() + v.size());
}

struct Snapshot {
  std::shared_ptr<const ActiveSet::Snapshot> state;
};

nb::dict report(const PathResult& result, const PyRunControl& control) {
  nb::dict out;
  out["status"] = static_cast<int>(result.status);
  out["infeasible"] = result.infeasible;
  out["reached"] = result.reached;
  out["events"] = result.events;
  out["exchanges"] = result.exchanges;
  out["idle"] = result.idle;
  out["repairs"] = result.repairs;
  out["refactorings"] = result.refactorings;
  out["refreshes"] = result.refreshes;
  out["violation"] = result.violation;
  out["margin_sum"] = result.margin_sum;
  out["error"] = control.error();
  return out;
}

nb::dict columns(PathRecord&& record) {
  nb::dict out;
  out["start"] = to_numpy(std::move(record.start));
  out["stop"] = to_numpy(std::move(record.stop));
  out["mu"] = to_numpy(std::move(record.mu));
  out["mu_rate"] = to_numpy(std::move(record.mu_rate));
  out["offset"] = to_numpy(std::move(record.offset));
  out["margin"] = to_numpy(std::move(record.margin));
  out["value"] = to_numpy(std::move(record.value));
  out["rate"] = to_numpy(std::move(record.rate));
  out["changed_at"] = to_numpy(std::move(record.changed_at));
  out["changed"] = to_numpy(std::move(record.changed));
  out["place"] = to_numpy(std::move(record.place));
  out["violation"] = to_numpy(std::move(record.violation));
  return out;
}

// Keeps the kernel matrix it views alive.
class Follower {
 public:
  Follower(nb::object gram, std::size_t slots, const Vector<const std::int8_t>& group, std::size_t cache_bytes,
           int threads, const std::optional<Vector<const std::int32_t>>& first,
           const std::optional<Vector<const std::int32_t>>& second)
      : gram_(std::move(gram)) {
    const Gram& source = nb::cast<const Gram&>(gram_);
    if (first.has_value() != second.has_value()) throw std::invalid_argument("a pair has two samples");
    if (first) {
      pairs(source, *first, *second, group, cache_bytes, threads);
      return;
    }
    if (group.size() != slots * source.size()) throw std::invalid_argument("group needs slots · n entries");
    for (std::size_t v = 0; v < group.size(); ++v)
      if (group.data()[v] < -1 || group.data()[v] > 1) throw std::invalid_argument("groups are -1, 0 or 1");
    set_ = std::make_unique<ActiveSet>(source.gram(), slots, Span<const std::int8_t>(group.data(), group.size()),
                                       cache_bytes, threads);
  }

  nb::dict start(const Numbers& beta, const Numbers& linear, const Numbers& lower, const Numbers& upper,
                 const Numbers& total, double max_seconds, std::int64_t max_events, nb::object python_control) {
    const std::vector<double> point = copied(beta, set_->size(), "beta");
    PathData values = data(linear, lower, upper, total);
    const PathOptions options{max_seconds, max_events};
    PyRunControl control(std::move(python_control));
    PathResult result;
    {
      nb::gil_scoped_release nogil;
      result = set_->start(point, std::move(values), options, control);
    }
    return report(result, control);
  }

  nb::tuple follow(const Numbers& linear, const Numbers& lower, const Numbers& upper, const Numbers& total,
                   double origin, double span, bool record, double max_seconds, std::int64_t max_events,
                   nb::object python_control) {
    PathData rates = data(linear, lower, upper, total);
    const PathOptions options{max_seconds, max_events};
    PyRunControl control(std::move(python_control));
    PathRecord pieces;
    PathResult result;
    {
      nb::gil_scoped_release nogil;
      result = set_->follow(std::move(rates), origin, span, record ? &pieces : nullptr, options, control);
    }
    nb::object recorded = nb::none();
    if (record) recorded = columns(std::move(pieces));
    return nb::make_tuple(report(result, control), recorded);
  }

  void grow(nb::object gram, const Vector<const std::int8_t>& group, const Numbers& linear, const Numbers& lower,
            const Numbers& upper, const Numbers& total) {
    const Gram& source = nb::cast<const Gram&>(gram);
    const std::size_t size = group.size();
    if (source.size() == 0 || size % source.size() != 0 || size < set_->size())
      throw std::invalid_argument("group needs slots · n entries, and no fewer than before");
    PathData values{copied(linear, size, "linear"), copied(lower, size, "lower"), copied(upper, size, "upper"),
                    copied(total, set_->groups(), "total")};
    {
      nb::gil_scoped_release nogil;
      set_->grow(source.gram(), Span<const std::int8_t>(group.data(), size), std::move(values));
    }
    gram_ = std::move(gram);
  }

  nb::object beta() const { return nb::cast(to_numpy(set_->beta())); }
  nb::object mu() const { return nb::cast(to_numpy(set_->mu())); }
  nb::object f() const { return nb::cast(to_numpy(std::vector<double>(set_->f()))); }
  nb::object places() const { return nb::cast(to_numpy(set_->places())); }
  std::size_t margin_size() const { return set_->margin_size(); }
  Snapshot snapshot() const { return {set_->snapshot()}; }
  void restore(const Snapshot& snapshot) { set_->restore(*snapshot.state); }

 private:
  void pairs(const Gram& source, const Vector<const std::int32_t>& first, const Vector<const std::int32_t>& second,
             const Vector<const std::int8_t>& group, std::size_t cache_bytes, int threads) {
    if (first.size() == 0 || first.size() != second.size() || group.size() != first.size())
      throw std::invalid_argument("every pair has two samples and a group");
    for (std::size_t p = 0; p < first.size(); ++p)
      for (std::int32_t i : {first.data()[p], second.data()[p]})
        if (i < 0 || static_cast<std::size_t>(i) >= source.size() || group.data()[p] != -1)
          throw std::invalid_argument("pairs stand on samples that are there, and in no group");
    set_ = std::make_unique<ActiveSet>(source.gram(), std::vector<std::int32_t>(first.data(), first.data() + first.size()),
                                       std::vector<std::int32_t>(second.data(), second.data() + second.size()),
                                       Span<const std::int8_t>(group.data(), group.size()), cache_bytes, threads);
  }

  PathData data(const Numbers& linear, const Numbers& lower, const Numbers& upper, const Numbers& total) const {
    return {copied(linear, set_->size(), "linear"), copied(lower, set_->size(), "lower"),
            copied(upper, set_->size(), "upper"), copied(total, set_->groups(), "total")};
  }

  nb::object gram_;
  std::unique_ptr<ActiveSet> set_;
};

}  // namespace

void paths(nb::module_& m) {
  nb::class_<Snapshot>(m, "PathSnapshot", "The state of an ActiveSet.");
  nb::class_<Follower>(m, "ActiveSet", "The parametric active set engine.  See path.hpp.")
      .def(nb::init<nb::object, std::size_t, const Vector<const std::int8_t>&, std::size_t, int,
                    const std::optional<Vector<const std::int32_t>>&, const std::optional<Vector<const std::int32_t>>&>(),
           "gram"_a, "slots"_a, "group"_a, "cache_bytes"_a, "threads"_a, "first"_a.none() = nb::none(),
           "second"_a.none() = nb::none())
      .def("start", &Follower::start, "beta"_a, "linear"_a, "lower"_a, "upper"_a, "total"_a, "max_seconds"_a,
           "max_events"_a, "control"_a.none() = nb::none())
      .def("follow", &Follower::follow, "linear"_a, "lower"_a, "upper"_a, "total"_a, "origin"_a, "span"_a, "record"_a,
           "max_seconds"_a, "max_events"_a, "control"_a.none() = nb::none())
      .def("grow", &Follower::grow, "gram"_a, "group"_a, "linear"_a, "lower"_a, "upper"_a, "total"_a)
      .def_prop_ro("beta", &Follower::beta)
      .def_prop_ro("mu", &Follower::mu)
      .def_prop_ro("f", &Follower::f)
      .def_prop_ro("places", &Follower::places)
      .def_prop_ro("margin_size", &Follower::margin_size)
      .def("snapshot", &Follower::snapshot)
      .def("restore", &Follower::restore, "snapshot"_a);
}

}  // namespace hinge::bind

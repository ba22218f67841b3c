// online.cpp: Python binding of the online learner.  A lock serializes the calls of several threads.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <cmath>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/online.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

struct OnlineSummary {
  NumpyVector<double> offset, level, dropped;
  NumpyVector<std::int64_t> beyond;
  double largest;
};

struct OnlineRecord {
  explicit OnlineRecord(OnlineState&& s)
      : vectors(to_numpy(std::move(s.vectors))), coefficients(to_numpy(std::move(s.coefficients))),
        norms(to_numpy(std::move(s.norms))), offset(to_numpy(std::move(s.offset))), level(to_numpy(std::move(s.level))),
        dropped(to_numpy(std::move(s.dropped))), beyond(to_numpy(std::move(s.beyond))), scale(s.scale),
        largest(s.largest), seen(s.seen), head(s.head) {}

  NumpyVector<double> vectors, coefficients, norms, offset, level, dropped;
  NumpyVector<std::int64_t> beyond;
  double scale, largest;
  std::int64_t seen;
  std::size_t head;
};

OnlineState to_state(const OnlineRecord& r) {
  const auto copy = [](const auto& v) { return std::vector(v.data(), v.data() + v.size()); };
  return {copy(r.vectors), copy(r.coefficients), copy(r.norms), copy(r.offset), copy(r.level), copy(r.dropped),
          copy(r.beyond),  r.scale,              r.largest,     r.seen,         r.head};
}

// A number for one output, else an array.
using Values = std::variant<double, NumpyVector<double>>;

Values to_python(std::vector<double>&& values) {
  if (values.size() == 1) return values[0];
  return to_numpy(std::move(values));
}

class Learner {
 public:
  Learner(const KernelFunction& kernel, const std::string& loss, double rate, double power, double regularization,
          double nu, double level, bool offset, std::size_t budget, std::size_t features, std::size_t outputs,
          double threshold, double curvature, double bound)
      : learner_(kernel,
                 {online_loss_named(loss), rate, power, regularization, nu, offset, budget, threshold, curvature,
                     bound},
                 features, outputs, level) {}

  std::size_t learn(const Samples& samples, const Vector<const double>& target, const Matrix<double>& before) {
    const std::size_t n = rows(samples.view);
    if (hinge::features(samples.view) != learner_.features() || target.size() != n || before.shape(0) != n ||
        before.shape(1) != learner_.outputs())
      throw std::invalid_argument("target needs one entry per sample, and before one row per sample");
    const nb::gil_scoped_release nogil;
    const std::lock_guard<std::mutex> lock(mutex_);
    return learner_.learn(samples.view, span(target), {before.data(), before.size()}, check_signals);
  }

  std::optional<Values> learn_one(const Vector<const double>& x, double target) {
    check_sample(x);
    if (!std::isfinite(target))
      throw nb::value_error("y is NaN or infinite; leave the sample out. The model is unchanged");
    std::vector<double> before(learner_.outputs());
    {
      const nb::gil_scoped_release nogil;
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!learner_.learn(learner_.row(hinge::Dense<double>{x.data(), 1, x.size()}, 0), target, before.data()))
        before.clear();
    }
    if (before.empty()) return std::nullopt;
    return to_python(std::move(before));
  }

  Values decide_one(const Vector<const double>& x) {
    check_sample(x);
    std::vector<double> values(learner_.outputs());
    {
      const nb::gil_scoped_release nogil;
      const std::lock_guard<std::mutex> lock(mutex_);
      learner_.decide(learner_.row(hinge::Dense<double>{x.data(), 1, x.size()}, 0), values.data());
    }
    return to_python(std::move(values));
  }

  OnlineSummary summary() {
    OnlineState s;
    {
      const nb::gil_scoped_release nogil;
      const std::lock_guard<std::mutex> lock(mutex_);
      const OnlineState& current = learner_.stored_state();
      s.offset = current.offset, s.level = current.level, s.dropped = current.dropped, s.beyond = current.beyond;
      s.largest = current.largest;
    }
    return {to_numpy(std::move(s.offset)), to_numpy(std::move(s.level)), to_numpy(std::move(s.dropped)),
            to_numpy(std::move(s.beyond)), s.largest};
  }

  OnlineRecord state() {
    OnlineState s;
    {
      const nb::gil_scoped_release nogil;
      const std::lock_guard<std::mutex> lock(mutex_);
      s = learner_.state();
    }
    return OnlineRecord(std::move(s));
  }

  void restore(const OnlineRecord& record) {
    const OnlineState s = to_state(record);
    const nb::gil_scoped_release nogil;
    const std::lock_guard<std::mutex> lock(mutex_);
    learner_.restore(s);
  }

  std::int64_t seen() const { return learner_.seen(); }
  std::size_t terms() const { return learner_.terms(); }

 private:
  void check_sample(const Vector<const double>& x) const {
    if (x.size() != learner_.features()) {
      throw nb::value_error(("x has " + std::to_string(x.size()) + " features, but this learner was started with " +
                             std::to_string(learner_.features()))
                                .c_str());
    }
    for (std::size_t f = 0; f < x.size(); ++f) {
      if (!std::isfinite(x.data()[f])) {
        throw nb::value_error(("x contains NaN or infinity (feature " + std::to_string(f) +
                               "); leave the sample out or impute the value. The model is unchanged")
                                  .c_str());
      }
    }
  }

  OnlineLearner learner_;
  std::mutex mutex_;
};

}  // namespace

void online(nb::module_& m) {
  nb::class_<OnlineSummary> summary(m, "OnlineSummary", "The numbers per output of an online learner.");
  def_array(summary, "offset", &OnlineSummary::offset);
  def_array(summary, "level", &OnlineSummary::level);
  def_array(summary, "dropped", &OnlineSummary::dropped);
  def_array(summary, "beyond", &OnlineSummary::beyond);
  summary.def_ro("largest", &OnlineSummary::largest);

  nb::class_<OnlineRecord> state(m, "OnlineState",
                                 "The complete state of an online learner.  See OnlineState in online.hpp.");
  def_array(state, "vectors", &OnlineRecord::vectors);
  def_array(state, "coefficients", &OnlineRecord::coefficients);
  def_array(state, "norms", &OnlineRecord::norms);
  def_array(state, "offset", &OnlineRecord::offset);
  def_array(state, "level", &OnlineRecord::level);
  def_array(state, "dropped", &OnlineRecord::dropped);
  def_array(state, "beyond", &OnlineRecord::beyond);
  state
      .def(nb::new_([](const Vector<const double>& vectors, const Vector<const double>& coefficients,
                       const Vector<const double>& norms, const Vector<const double>& offset,
                       const Vector<const double>& level, const Vector<const double>& dropped,
                       const Vector<const std::int64_t>& beyond, double scale, double largest, std::int64_t seen,
                       std::size_t head) {
             return OnlineRecord({copied(vectors), copied(coefficients), copied(norms), copied(offset), copied(level),
                                  copied(dropped), copied(beyond), scale, largest, seen, head});
           }),
           "vectors"_a, "coefficients"_a, "norms"_a, "offset"_a, "level"_a, "dropped"_a, "beyond"_a, "scale"_a,
           "largest"_a, "seen"_a, "head"_a)
      .def_ro("scale", &OnlineRecord::scale)
      .def_ro("largest", &OnlineRecord::largest)
      .def_ro("seen", &OnlineRecord::seen)
      .def_ro("head", &OnlineRecord::head);

  nb::class_<Learner>(m, "OnlineLearner", "Stochastic gradient descent in feature space.  See online.hpp.")
      .def(nb::init<const KernelFunction&, const std::string&, double, double, double, double, double, bool,
                    std::size_t, std::size_t, std::size_t, double, double, double>(),
           "kernel"_a, "loss"_a, "rate"_a, "power"_a, "regularization"_a, "nu"_a, "level"_a, "offset"_a, "budget"_a,
           "features"_a, "outputs"_a, "threshold"_a = 0.0, "curvature"_a = 0.0, "bound"_a = 1.0)
      .def("learn", &Learner::learn, "samples"_a, "target"_a.noconvert(), "before"_a.noconvert(),
           "Learn the samples in order and write their values before each step to `before`.  Returns the number of "
           "samples learned: fewer than all if the next one overflows.")
      .def("learn_one", &Learner::learn_one, "x"_a, "target"_a,
           "Learn one sample and return its values before the step, or None if it overflows.")
      .def("decide_one", &Learner::decide_one, "x"_a, "The decision values of one sample.")
      .def("summary", &Learner::summary)
      .def("state", &Learner::state)
      .def("restore", &Learner::restore, "state"_a)
      .def_prop_ro("seen", &Learner::seen)
      .def_prop_ro("terms", &Learner::terms);
}

}  // namespace hinge::bind

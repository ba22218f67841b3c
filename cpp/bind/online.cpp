// bind/online.cpp: the online learner as Python sees it.  One lock per learner: two threads take turns.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <mutex>
#include <string>

#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/online.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

class Learner {
 public:
  Learner(const KernelFunction& kernel, const std::string& loss, double rate, double power, double regularization,
          double nu, double level, bool offset, std::size_t budget, std::size_t features, std::size_t machines)
      : learner_(kernel, {online_loss_named(loss), rate, power, regularization, nu, offset, budget}, features, machines,
                 level) {}

  // Rows from first to last; returns how many were learned: fewer than all if the next one overflows.
  std::size_t learn(const Samples& samples, const Vector<double>& target, const Output& before, std::size_t first,
                    std::size_t last) {
    const std::size_t n = rows(samples.view);
    if (hinge::features(samples.view) != learner_.features() || target.size() != n || before.shape(0) != n ||
        before.shape(1) != learner_.machines() || first > last || last > n) {
      throw std::invalid_argument("online: one target and one row of values per sample is needed");
    }
    const nb::gil_scoped_release nogil;
    const std::lock_guard<std::mutex> turn(lock_);
    Stopwatch watch;
    double next_look = 0.05;
    for (std::size_t i = first; i < last; ++i) {
      if (!learner_.learn(learner_.row(samples.view, i), target.data()[i], before.data() + i * learner_.machines())) {
        return i - first;
      }
      if (i % 64 == 63 && watch.seconds() > next_look) {
        check_signals();
        next_look = watch.seconds() + 0.05;
      }
    }
    return last - first;
  }

  // One sample: what the learner said of it before, or None if it overflows.  `learns`: also learn it.
  nb::object one(const Vector<double>& x, double target, bool learns) {
    if (x.size() != learner_.features()) {
      throw nb::value_error(("x has " + std::to_string(x.size()) + " features, but this learner was started with " +
                             std::to_string(learner_.features()))
                                .c_str());
    }
    for (std::size_t f = 0; f < x.size(); ++f) {
      if (!std::isfinite(x.data()[f])) {
        throw nb::value_error(("x contains NaN or infinity (feature " + std::to_string(f) +
                               "); leave the sample out or fill it in. The model is as it was")
                                  .c_str());
      }
    }
    if (!std::isfinite(target)) throw nb::value_error("y is NaN or infinity; leave the sample out. The model is as it was");
    std::vector<double> before(learner_.machines());
    {
      const nb::gil_scoped_release nogil;
      const std::lock_guard<std::mutex> turn(lock_);
      const double* const row = learner_.row(hinge::Dense<double>{x.data(), 1, x.size()}, 0);
      if (!learns) {
        learner_.decide(row, before.data());
      } else if (!learner_.learn(row, target, before.data())) {
        before.clear();
      }
    }
    if (before.empty()) return nb::none();
    if (before.size() == 1) return nb::float_(before[0]);
    return nb::cast(to_numpy(std::move(before)));
  }

  // What is small: a few numbers per machine.
  nb::dict summary() {
    OnlineState s;
    {
      const nb::gil_scoped_release nogil;
      const std::lock_guard<std::mutex> turn(lock_);
      const OnlineState& now = learner_.peek();
      s.offset = now.offset, s.level = now.level, s.dropped = now.dropped, s.beyond = now.beyond, s.largest = now.largest;
    }
    nb::dict out;
    out["offset"] = to_numpy(std::move(s.offset));
    out["level"] = to_numpy(std::move(s.level));
    out["dropped"] = to_numpy(std::move(s.dropped));
    out["beyond"] = to_numpy(std::move(s.beyond));
    out["largest"] = s.largest;
    return out;
  }

  nb::dict state() {
    OnlineState s;
    {
      const nb::gil_scoped_release nogil;
      const std::lock_guard<std::mutex> turn(lock_);
      s = learner_.state();
    }
    nb::dict out;
    out["vectors"] = to_numpy(std::move(s.vectors));
    out["coefficients"] = to_numpy(std::move(s.coefficients));
    out["norms"] = to_numpy(std::move(s.norms));
    out["offset"] = to_numpy(std::move(s.offset));
    out["level"] = to_numpy(std::move(s.level));
    out["dropped"] = to_numpy(std::move(s.dropped));
    out["beyond"] = to_numpy(std::move(s.beyond));
    out["scale"] = s.scale;
    out["largest"] = s.largest;
    out["seen"] = s.seen;
    out["head"] = s.head;
    return out;
  }

  void restore(const Vector<double>& vectors, const Vector<double>& coefficients, const Vector<double>& norms,
               const Vector<double>& offset, const Vector<double>& level, const Vector<double>& dropped,
               const Vector<std::int64_t>& beyond, double scale, double largest, std::int64_t seen, std::size_t head) {
    const auto copy = [](const auto& v) { return std::vector(v.data(), v.data() + v.size()); };
    const OnlineState s{copy(vectors), copy(coefficients), copy(norms), copy(offset), copy(level),
                        copy(dropped), copy(beyond),       scale,       largest,      seen,        head};
    const nb::gil_scoped_release nogil;
    const std::lock_guard<std::mutex> turn(lock_);
    learner_.restore(s);
  }

  std::int64_t seen() const { return learner_.seen(); }
  std::size_t terms() const { return learner_.terms(); }

 private:
  OnlineLearner learner_;
  std::mutex lock_;
};

}  // namespace

void online_learners(nb::module_& m) {
  nb::class_<Learner>(m, "OnlineLearner", "Stochastic gradient descent in feature space.  See online.hpp.")
      .def(nb::init<const KernelFunction&, const std::string&, double, double, double, double, double, bool, std::size_t,
                    std::size_t, std::size_t>(),
           "kernel"_a, "loss"_a, "rate"_a, "power"_a, "regularization"_a, "nu"_a, "level"_a, "offset"_a, "budget"_a,
           "features"_a, "machines"_a)
      .def("learn", &Learner::learn, "samples"_a, "target"_a.noconvert(), "before"_a.noconvert(), "first"_a, "last"_a)
      .def("one", &Learner::one, "x"_a, "target"_a, "learns"_a)
      .def("summary", &Learner::summary)
      .def("state", &Learner::state)
      .def("restore", &Learner::restore, "vectors"_a, "coefficients"_a, "norms"_a, "offset"_a, "level"_a, "dropped"_a,
           "beyond"_a, "scale"_a, "largest"_a, "seen"_a, "head"_a)
      .def_prop_ro("seen", &Learner::seen)
      .def_prop_ro("terms", &Learner::terms);
}

}  // namespace hinge::bind

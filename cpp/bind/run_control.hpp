// run_control.hpp: RunControl that polls the one of Python: interrupt flag, progress callback, history as arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "hinge/run_control.hpp"

namespace hinge::bind {

namespace nb = nanobind;

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

// Polls a hinge.control.RunControl, or only the signal handlers of Python if `control` is None. The solver runs with the
// GIL released; every method that touches Python objects acquires it.
class PyRunControl final : public RunControl {
 public:
  explicit PyRunControl(nb::object control)
      : control_(std::move(control)), callback_(control_.is_none() ? nb::none() : nb::object(control_.attr("callback"))),
        reports_(!callback_.is_none()) {}

  void record(const Snapshot& snapshot) override { history_.push_back(snapshot); }

  bool wants_progress() override { return reports_ && watch_.seconds() >= next_report_; }

  bool progress(const Snapshot& snapshot) override {
    next_report_ = watch_.seconds() + 0.1;
    nb::gil_scoped_acquire gil;
    try {
      return !callback_(as_dict(snapshot)).is(nb::bool_(false));
    } catch (nb::python_error& error) {
      error_ = nb::borrow(error.value());
      return false;
    }
  }

  // A signal handler raises its exception, or stores it in the interrupt flag of the control (hinge/control.py).
  bool interrupted() override {
    nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      nb::object stored = control_.is_none() ? nb::none() : nb::object(control_.attr("flag").attr("error"));
      if (stored.is_none()) return false;
      error_ = std::move(stored);
    } catch (nb::python_error& error) {
      error_ = nb::borrow(error.value());
    }
    return true;
  }

  // The exception that stopped the run, or None. The GIL must be held.
  nb::object error() const { return error_.is_valid() ? error_ : nb::none(); }

  nb::dict history() const { return as_columns(history_); }

  static nb::dict as_columns(const std::vector<Snapshot>& history) {
    nb::dict out;
    out["iteration"] = column<std::int64_t>(history, [](const Snapshot& s) { return s.iteration; });
    out["seconds"] = column<double>(history, [](const Snapshot& s) { return s.seconds; });
    out["violation"] = column<double>(history, [](const Snapshot& s) { return s.violation; });
    out["primal"] = column<double>(history, [](const Snapshot& s) { return s.primal; });
    out["dual"] = column<double>(history, [](const Snapshot& s) { return s.dual; });
    out["gap"] = column<double>(history, [](const Snapshot& s) { return s.gap; });
    out["active"] = column<std::int64_t>(history, [](const Snapshot& s) { return s.active; });
    out["exact"] = column<std::uint8_t>(history, [](const Snapshot& s) { return std::uint8_t{s.exact}; });
    return out;
  }

 private:
  static nb::dict as_dict(const Snapshot& s) {
    nb::dict out;
    out["iteration"] = s.iteration, out["seconds"] = s.seconds, out["violation"] = s.violation;
    out["primal"] = s.primal, out["dual"] = s.dual, out["gap"] = s.gap, out["active"] = s.active;
    out["exact"] = s.exact;
    return out;
  }

  template <class T, class Field>
  static nb::ndarray<nb::numpy, T, nb::ndim<1>> column(const std::vector<Snapshot>& history, Field field) {
    std::vector<T> values;
    values.reserve(history.size());
    for (const Snapshot& s : history) values.push_back(field(s));
    return to_numpy(std::move(values));
  }

  nb::object control_, callback_, error_;
  bool reports_;
  std::vector<Snapshot> history_;
  Stopwatch watch_;
  double next_report_ = 0.1;
};

}  // namespace hinge::bind

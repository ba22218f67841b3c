// run_control.cpp: see run_control.hpp.
#include "run_control.hpp"

#include "bind.hpp"

namespace hinge::bind {
namespace {

template <class T, class Field>
NumpyVector<T> column(const std::vector<Snapshot>& snapshots, Field field) {
  NumpyVector<T> values = new_vector<T>(snapshots.size());
  for (std::size_t k = 0; k < snapshots.size(); ++k) values.data()[k] = snapshots[k].*field;
  return values;
}

nb::dict as_dict(const Snapshot& s) {
  nb::dict out;
  out["iteration"] = s.iteration, out["seconds"] = s.seconds, out["violation"] = s.violation;
  out["primal"] = s.primal, out["dual"] = s.dual, out["gap"] = s.gap, out["active"] = s.active;
  out["exact"] = s.exact;
  return out;
}

}  // namespace

RunHistory::RunHistory(const std::vector<Snapshot>& snapshots)
    : iteration(column<std::int64_t>(snapshots, &Snapshot::iteration)),
      active(column<std::int64_t>(snapshots, &Snapshot::active)),
      seconds(column<double>(snapshots, &Snapshot::seconds)),
      violation(column<double>(snapshots, &Snapshot::violation)),
      primal(column<double>(snapshots, &Snapshot::primal)),
      dual(column<double>(snapshots, &Snapshot::dual)),
      gap(column<double>(snapshots, &Snapshot::gap)),
      exact(column<bool>(snapshots, &Snapshot::exact)) {}

bool PyRunControl::progress(const Snapshot& snapshot) {
  next_report_ = stopwatch_.seconds() + kReportInterval;
  const nb::gil_scoped_acquire gil;
  try {
    return !callback_(as_dict(snapshot)).is(nb::bool_(false));
  } catch (nb::python_error& error) {
    error_ = nb::borrow(error.value());
    return false;
  }
}

// A signal handler raises its exception, or stores it in the interrupt flag of the control (hinge/control.py).
bool PyRunControl::interrupted() {
  const nb::gil_scoped_acquire gil;
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

void run_records(nb::module_& m) {
  nb::class_<RunHistory> history(m, "RunHistory", "The recorded iterations of a run, as columns.");
  def_array(history, "iteration", &RunHistory::iteration);
  def_array(history, "seconds", &RunHistory::seconds);
  def_array(history, "violation", &RunHistory::violation);
  def_array(history, "primal", &RunHistory::primal);
  def_array(history, "dual", &RunHistory::dual);
  def_array(history, "gap", &RunHistory::gap);
  def_array(history, "active", &RunHistory::active);
  def_array(history, "exact", &RunHistory::exact);
}

}  // namespace hinge::bind

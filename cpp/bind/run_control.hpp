// run_control.hpp: signals, the progress callback and the history of a run.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "hinge/run_control.hpp"

namespace hinge::bind {

// The recorded iterations of a run, as columns.
struct RunHistory {
  explicit RunHistory(const std::vector<Snapshot>& snapshots);

  NumpyVector<std::int64_t> iteration, active;
  NumpyVector<double> seconds, violation, primal, dual, gap;
  NumpyVector<bool> exact;
};

// Polls a hinge.control.RunControl, or only Python's signal handlers if `control` is None.
// Used with the GIL released: every method that calls Python acquires it.
class PyRunControl final : public RunControl {
 public:
  explicit PyRunControl(nb::object control)
      : control_(std::move(control)),
        callback_(control_.is_none() ? nb::none() : nb::object(control_.attr("callback"))),
        reports_(!callback_.is_none()) {}

  void record(const Snapshot& snapshot) override { snapshots_.push_back(snapshot); }
  bool wants_progress() override { return reports_ && stopwatch_.seconds() >= next_report_; }
  bool progress(const Snapshot& snapshot) override;
  bool interrupted() override;

  // With the GIL held: the exception that stopped the run, or None.
  nb::object error() const { return error_.is_valid() ? error_ : nb::none(); }
  RunHistory history() const { return RunHistory(snapshots_); }

 private:
  static constexpr double kReportInterval = 0.1;  // seconds between two calls of the callback

  nb::object control_, callback_, error_;
  bool reports_;
  std::vector<Snapshot> snapshots_;
  Stopwatch stopwatch_;
  double next_report_ = kReportInterval;
};

// Acquires the GIL, runs Python's signal handlers and throws what they raise.
inline void check_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// ---- records of runs ----
//
// The exception of a run refers to stack frames, and they may refer to the record: the garbage collector of Python must
// see the reference from the record to the exception.

template <class Record>
int traverse_error(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  Py_VISIT(nb::inst_ptr<Record>(self)->error.ptr());
  return 0;
}

template <class Record>
int clear_error(PyObject* self) {
  nb::inst_ptr<Record>(self)->error.reset();
  return 0;
}

template <class Record>
inline PyType_Slot kErrorSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_error<Record>)},
                                    {Py_tp_clear, reinterpret_cast<void*>(clear_error<Record>)},
                                    {0, nullptr}};

// A class with the read-only attributes `status` and `error`; the other attributes are added by the caller.
template <class Record>
nb::class_<Record> def_record(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Record> record(m, name, nb::type_slots(kErrorSlots<Record>), doc);
  record.def_prop_ro("status", [](const Record& self) { return static_cast<int>(self.status); })
      .def_prop_ro("error", [](const Record& self) { return self.error; },
                   nb::sig("def error(self) -> BaseException | None"));
  return record;
}

}  // namespace hinge::bind

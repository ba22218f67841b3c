// bind.hpp: the parts of the extension module; module.cpp calls them.
#pragma once

#include <nanobind/nanobind.h>

namespace hinge::bind {

void run_records(nanobind::module_& m);
void kernels(nanobind::module_& m);
void certificate(nanobind::module_& m);
void decomposition(nanobind::module_& m);
void working_sets(nanobind::module_& m);
void cost_sequences(nanobind::module_& m);
void paths(nanobind::module_& m);
void linear(nanobind::module_& m);
void ranking(nanobind::module_& m);
void libsvm_text(nanobind::module_& m);
void online(nanobind::module_& m);
void adatron(nanobind::module_& m);
void products(nanobind::module_& m);
void inspection(nanobind::module_& m);

}  // namespace hinge::bind

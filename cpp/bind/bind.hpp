// bind.hpp: one function per room of the binding; module.cpp calls them.
#pragma once

#include <nanobind/nanobind.h>

namespace hinge::bind {

void kernels(nanobind::module_& m);
void solvers(nanobind::module_& m);
void ladders(nanobind::module_& m);
void paths(nanobind::module_& m);
void linear_machines(nanobind::module_& m);
void pairs(nanobind::module_& m);
void libsvm_text(nanobind::module_& m);
void online_learners(nanobind::module_& m);
void adatron(nanobind::module_& m);
void thin(nanobind::module_& m);

}  // namespace hinge::bind

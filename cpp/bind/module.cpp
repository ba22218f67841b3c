// module.cpp: hinge._core.native.  Bindings convert arguments and release the GIL, nothing else.
#include "bind.hpp"

NB_MODULE(native, m) {
  m.doc() = "The compiled core of hinge.";
  hinge::bind::kernels(m);
  hinge::bind::solvers(m);
  hinge::bind::ladders(m);
  hinge::bind::paths(m);
  hinge::bind::linear_machines(m);
  hinge::bind::pairs(m);
  hinge::bind::libsvm_text(m);
  hinge::bind::online_learners(m);
  hinge::bind::adatron(m);
  hinge::bind::thin(m);
}

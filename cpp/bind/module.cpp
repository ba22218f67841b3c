// module.cpp: hinge._core.native.  Bindings convert arguments and results and release the GIL; they contain no
// algorithm.
#include "bind.hpp"

NB_MODULE(native, m) {
  m.doc() = "The compiled core of hinge.";
  m.attr("VERSION") = HINGE_VERSION;
  hinge::bind::run_records(m);
  hinge::bind::kernels(m);
  hinge::bind::certificate(m);
  hinge::bind::decomposition(m);
  hinge::bind::working_sets(m);
  hinge::bind::cost_sequences(m);
  hinge::bind::paths(m);
  hinge::bind::linear(m);
  hinge::bind::ranking(m);
  hinge::bind::libsvm_text(m);
  hinge::bind::online(m);
  hinge::bind::adatron(m);
  hinge::bind::products(m);
  hinge::bind::inspection(m);
}

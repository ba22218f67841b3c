// loops_base.cpp: the loops of loops.inl, compiled for any processor.
#include "certificate/loops.inl"

namespace hinge {

const CertificateLoops certificate_loops_base = every_certificate_loop;

}  // namespace hinge

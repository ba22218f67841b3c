// loops_avx2.cpp: the loops of loops.inl, compiled for AVX2 and FMA.
#include "certificate/loops.inl"

namespace hinge {

const CertificateLoops certificate_loops_avx2 = every_certificate_loop;

}  // namespace hinge

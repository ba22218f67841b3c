// expect.hpp: checks, pseudo-random numbers and the exit code of a test program.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

namespace hinge::test {

inline int failures = 0;

inline void expect(bool ok, const std::string& what) {
  if (ok) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}

// The next pseudo-random number between −½ and ½.
inline double number(unsigned& seed) {
  seed = seed * 1664525U + 1013904223U;
  return static_cast<double>(seed >> 8) / 16777216.0 - 0.5;
}

template <class Call>
bool throws(Call call) {
  try {
    call();
  } catch (const std::exception&) {
    return true;
  }
  return false;
}

inline int verdict(const char* program) {
  std::printf("%s: %s\n", program, failures ? "FAILED" : "passed");
  return failures != 0;
}

}  // namespace hinge::test

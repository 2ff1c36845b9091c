// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/config.hpp>
#include <zero/version.hpp>

#include <cstdint>
#if !ZERO_IS_X86_64()
#  include <cfenv>
#endif

namespace zero::inline ZERO_ABI {

/// While it lives, the calling thread computes with the default floating-point environment: round
/// to nearest, denormals neither flushed nor read as zero, no traps. Its destructor restores what
/// was set before, exception flags included. A program linked with -Ofast starts with flush-to-zero
/// set, and so do the threads of some other libraries.
///
/// Covers what is loaded from memory after the constructor and stored before the destructor, which
/// is how a kernel works; the compiler may move arithmetic on values it holds in registers across
/// either. x86-64: the MXCSR register; other processors: the whole environment by `<cfenv>`. Cost:
/// some ten cycles. Belongs to the thread that made it.
class exact_float_environment {
 public:
#if ZERO_IS_X86_64()
  exact_float_environment() noexcept {
    asm volatile("stmxcsr %0" : "=m"(saved_) : : "memory");
    std::uint32_t const standard = 0x1f80;  // the value at processor reset: Intel SDM 1, 10.2.3
    asm volatile("ldmxcsr %0" : : "m"(standard) : "memory");
  }

  ~exact_float_environment() { asm volatile("ldmxcsr %0" : : "m"(saved_) : "memory"); }
#else
  exact_float_environment() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }

  ~exact_float_environment() { std::fesetenv(&saved_); }
#endif

  exact_float_environment(exact_float_environment const&) = delete;
  exact_float_environment& operator=(exact_float_environment const&) = delete;

 private:
#if ZERO_IS_X86_64()
  std::uint32_t saved_ = 0;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace zero::inline ZERO_ABI

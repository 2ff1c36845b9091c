// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// What the compiler is and can do. The only header that asks for predefined macros of a compiler;
/// everything else uses the macros below. Feature tests are function-like and always defined, so
/// that a misspelt one is an error and not silently false.

#if defined(_MSVC_LANG)
#  define ZERO_DETAIL_CPLUSPLUS _MSVC_LANG
#else
#  define ZERO_DETAIL_CPLUSPLUS __cplusplus
#endif

#if ZERO_DETAIL_CPLUSPLUS < 202002L
#  error \
      "zero: this library is C++20; compile with -std=c++20 (nvcc too: -std=c++20). With CMake, link zero::zero or zero::cuda, and leave CMAKE_CUDA_STANDARD unset: an older one overrides the flag that zero::cuda brings."
#endif

#if defined(__clang__) && defined(__FAST_MATH__)
#  error \
      "zero: clang cannot keep single functions exact under -ffast-math or -Ofast; compile the files that include zero with -fno-fast-math, or with g++ or nvcc."
#endif

#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#  error \
      "zero: float and double must be evaluated in their own precision; compile for SSE arithmetic (x86: -mfpmath=sse) instead of the x87 unit."
#endif

/// 1 in a translation unit that nvcc compiles (in its host pass as well), else 0. No class layout
/// and no host function may depend on it.
#if defined(__CUDACC__)
#  define ZERO_HAS_CUDA_COMPILER() 1
#else
#  define ZERO_HAS_CUDA_COMPILER() 0
#endif

/// 1 while code for a GPU is generated, 0 in every host pass. Only function bodies may ask.
#if defined(__CUDA_ARCH__)
#  define ZERO_IS_DEVICE_PASS() 1
#else
#  define ZERO_IS_DEVICE_PASS() 0
#endif

/// 1 where the host is an x86-64 processor, else 0.
#if defined(__x86_64__) || defined(_M_X64)
#  define ZERO_IS_X86_64() 1
#else
#  define ZERO_IS_X86_64() 0
#endif

/// Marks a function that runs on the host and, compiled by nvcc, on a GPU too. Nothing without
/// nvcc.
#if ZERO_HAS_CUDA_COMPILER()
#  define ZERO_HOST_DEVICE __host__ __device__
#else
#  define ZERO_HOST_DEVICE
#endif

/// Marks a host function whose floating-point arithmetic must not be contracted, reassociated or
/// approximated, whatever flags the user compiles with.
///
/// g++ takes it as a function attribute, and refuses to inline a function with it into one without
/// it: the primitives of `core/arithmetic.hpp` stay exact in a caller compiled with `-Ofast`, at
/// the price of a call. A loop that wants them inlined carries ZERO_EXACT itself. The attribute
/// does not reach into lambdas, and functions without it that handle floats are not inlined into
/// one with it, unless they are ZERO_ALWAYS_INLINE. `no-trapping-math` changes no value; it lets
/// selections vectorise. Square roots vectorise if the file is compiled with -fno-math-errno, which
/// changes no value either and no attribute can say. Other compilers: see ZERO_EXACT_BODY.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDA_ARCH__)
#  define ZERO_EXACT \
    __attribute__((optimize("no-fast-math", "fp-contract=off", "no-trapping-math")))
#else
#  define ZERO_EXACT
#endif

/// The first thing in the body of a primitive: clang's form of ZERO_EXACT, which belongs to a
/// block. clang inlines such a function everywhere and keeps it exact, except under
/// -ffp-contract=fast, which has no macro; `arithmetic_is_exact` finds out.
#if defined(__clang__) && !defined(__CUDA_ARCH__)
#  define ZERO_EXACT_BODY _Pragma("clang fp contract(off) reassociate(off)")
#else
#  define ZERO_EXACT_BODY
#endif

/// Marks a host function that handles floats as bits and computes with integers alone, so that it
/// is inlined into ZERO_EXACT functions and into others.
#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
#  define ZERO_ALWAYS_INLINE __attribute__((always_inline))
#else
#  define ZERO_ALWAYS_INLINE
#endif

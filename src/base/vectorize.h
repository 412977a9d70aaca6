// Attributes and pragmas for vectorized loops (a function compiled once per instruction set), and vectors of a given number of bytes.
#pragma once

#include <cstddef>
#include <cstdint>

/// Attribute for a function of simple loops: it is compiled once per instruction set, and the best version is chosen at program start.
/// Sanitizers are not compatible with that choice, nor with loops vectorized by the compiler alone.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RELAYOUT_VECTORIZE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RELAYOUT_VECTORIZE
#endif

/// Before a loop of constant length: vectorizes the loop instead of unrolling it.
#if defined(__GNUC__) && !defined(__clang__)
#define RELAYOUT_KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define RELAYOUT_KEEP_LOOP
#endif

/// Before a loop with independent iterations, over more arrays than GCC would check for overlap.
#if defined(__GNUC__) && !defined(__clang__)
#define RELAYOUT_INDEPENDENT _Pragma("GCC ivdep")
#else
#define RELAYOUT_INDEPENDENT
#endif

namespace relayout {

/// Vectors of kBytes bytes, at any address. GCC keeps vectors wider than the registers in memory: a product of doubles in vectors of 64
/// bytes took eight times as long on a processor with registers of 32 bytes. Functions that use them exist in two widths, for
/// InstructionSet::avx512 and for the other sets.
template <class T, int kBytes>
struct VectorOf {
  using Type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias)) = T;
  static constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
};

/// A number at any address, as payloads in files have no alignment.
template <class T>
struct [[gnu::packed]] Unaligned {
  T value;
};

/// The value of a polynomial, c[0] + c[1] · z + c[2] · z² + …, by Horner's scheme.
template <std::size_t kCount>
[[gnu::always_inline]] inline double polynomial(const double (&c)[kCount], double z) {
  double sum = c[kCount - 1];
  for (std::size_t i = kCount - 1; i-- > 0;) sum = sum * z + c[i];
  return sum;
}

}  // namespace relayout

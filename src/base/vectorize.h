#pragma once

#include <cstdint>

/// On a function of simple loops: compiled once per instruction set, the best one is chosen when the program starts. Sanitizers do
/// not go with that choice, nor with loops widened by the compiler alone.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RELAYOUT_VECTORIZE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RELAYOUT_VECTORIZE
#endif

/// Before a loop of constant length: it is to become vector instructions, not copies of its body.
#if defined(__GNUC__) && !defined(__clang__)
#define RELAYOUT_KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define RELAYOUT_KEEP_LOOP
#endif

/// Before a loop whose iterations do not see what others write: more arrays than GCC would check against each other.
#if defined(__GNUC__) && !defined(__clang__)
#define RELAYOUT_INDEPENDENT _Pragma("GCC ivdep")
#else
#define RELAYOUT_INDEPENDENT
#endif

namespace relayout {

/// Vectors of so many bytes, at any address. GCC keeps those that are wider than the registers in memory: a product of doubles in vectors
/// of 64 bytes took eight times as long on a processor with registers of 32. Functions that use them come in both widths, for
/// InstructionSet::avx512 and for the others.
template <class T, int kBytes>
struct VectorOf {
  using Type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias)) = T;
  static constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
};

}  // namespace relayout

#pragma once

namespace relayout::test {

/// Under the address sanitizer, which slows each node and each process down some tens of times.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

/// Number of nodes that shows whether a cost is linear and a recursion bounded: at 100,000, quadratic cost takes too long and deep
/// recursion overflows the stack.
inline constexpr int kMany = kIsSanitized ? 5'000 : 100'000;

}  // namespace relayout::test

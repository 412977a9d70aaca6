#pragma once

namespace relayout::test {

/// Number of nodes that shows whether a cost is linear and a recursion bounded: at 100,000, quadratic cost takes too long and deep
/// recursion overflows the stack. Fewer under the sanitizers, which slow each node down some tens of times.
#ifdef __SANITIZE_ADDRESS__
inline constexpr int kMany = 5'000;
#else
inline constexpr int kMany = 100'000;
#endif

}  // namespace relayout::test

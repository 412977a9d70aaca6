#pragma once

namespace relayout::test {

/// How many nodes show that a cost is linear and a recursion bounded: at 100,000, what is quadratic or deep does not end well. Under the
/// sanitizers, which make each some tens of times slower, fewer.
#ifdef __SANITIZE_ADDRESS__
inline constexpr int kMany = 5'000;
#else
inline constexpr int kMany = 100'000;
#endif

}  // namespace relayout::test

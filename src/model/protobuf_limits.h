#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace relayout {

/// Bytes of the largest message, and so of the largest model file: protobuf refuses larger ones.
inline constexpr int64_t kLargestMessage = std::numeric_limits<int32_t>::max();
inline constexpr int kMaxSubgraphLevels = 200;
inline constexpr int kMaxGroupLevels = 100;  ///< of unknown groups
/// Three messages per subgraph level, and the messages below the last level.
inline constexpr int kMessageLevels = 3 * kMaxSubgraphLevels + 20;
/// The recursion limit for protobuf.
inline constexpr int kRecursionLimit = kMessageLevels + kMaxGroupLevels;

/// Error{unsupported} for a model file of too many bytes, or for a model in standard output.
void refuse_large_file(int64_t bytes);
void refuse_large_stream(int64_t bytes);
/// Error{unsupported} for a model that is too large without its large tensors, or as a text.
[[noreturn]] void fail_large_skeleton();
[[noreturn]] void fail_large_text();
/// Error{unsupported} "WHAT nested deeper than MOST levels".
[[noreturn]] void fail_nesting(std::string_view what, int most);

}  // namespace relayout

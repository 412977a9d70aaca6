#pragma once

#include <cstdint>
#include <optional>

#include "relayout/types.h"

namespace relayout {

/// Bytes of the operands and results of one node that the evaluator of constants computes; of one for pass fold-constants.
inline constexpr int64_t kEvaluatedBytes = int64_t{64} << 20, kStoredBytes = int64_t{1} << 20;
/// Bytes of all results that pass fold-constants computes: each stays in memory until it is written.
inline constexpr int64_t kAllStoredBytes = int64_t{64} << 20;
/// Bytes of each result that is computed once, before anything runs.
inline constexpr int64_t kEarlyBytes = int64_t{64} << 20;
/// Contents are followed up to this size where only shapes, axes and bounds matter, not weights.
inline constexpr int64_t kSmallElements = 1024;

/// Elements of the largest tensor whose contents are examined where they may be known in part.
inline constexpr int64_t kMostContents = 64;

/// Bytes of a tensor in memory; nothing when they overflow.
[[nodiscard]] std::optional<int64_t> bytes_in_memory(DataType type, const Dims& dims);

}  // namespace relayout

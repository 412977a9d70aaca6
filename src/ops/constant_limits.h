#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "relayout/datum.h"
#include "relayout/types.h"

namespace relayout {

/// Bytes of the operands and results of one node that the evaluator of constants computes; of one for pass fold-constants.
inline constexpr int64_t kEvaluatedBytes = int64_t{64} << 20, kStoredBytes = int64_t{1} << 20;
/// Bytes of all results that pass fold-constants computes: each stays in memory until it is written.
inline constexpr int64_t kAllStoredBytes = int64_t{64} << 20;
/// Contents are followed up to this size where only shapes, axes and bounds matter, not weights.
inline constexpr int64_t kSmallElements = 1024;

/// Elements of the largest tensor whose contents are examined where they may be known in part.
inline constexpr int64_t kMostContents = 64;

/// Bytes of a tensor in memory; nothing when they overflow.
[[nodiscard]] std::optional<int64_t> bytes_in_memory(DataType type, const Dims& dims);

/// Whether results that follow from constants are computed once, before anything runs: small tensors. Layout plans and the executor share
/// this decision, so that both treat the same values as constants.
[[nodiscard]] bool is_computed_early(const std::vector<DatumInfo>& outputs, const std::function<bool(std::size_t index)>& is_wanted);

}  // namespace relayout

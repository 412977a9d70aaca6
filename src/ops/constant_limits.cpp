// Limits of size for computed constants: 64 MiB for one node (fold-constants: 1 MiB, 64 MiB in all), 64 MiB for a result computed before a
// run, 1024 elements where dims are followed, 64 in part.

#include "ops/constant_limits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr int64_t kEarlyBytes = int64_t{64} << 20;  ///< of each result

}  // namespace

std::optional<int64_t> bytes_in_memory(DataType type, const Dims& dims) {
  const auto size = static_cast<int64_t>(type == DataType::string ? sizeof(std::string) : memory_size(type));
  return checked_mul(element_count(dims), std::max<int64_t>(size, 1));
}

bool is_computed_early(const std::vector<DatumInfo>& outputs, const std::function<bool(std::size_t index)>& is_wanted) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_wanted(i)) continue;
    if (outputs[i].kind != Datum::Kind::tensor) return false;
    const auto bytes = bytes_in_memory(outputs[i].type, outputs[i].dims);
    if (!bytes || *bytes > kEarlyBytes) return false;
  }
  return true;
}

}  // namespace relayout

// Limits of size for computed constants: 64 MiB for one node (fold-constants: 1 MiB, 64 MiB in all), 64 MiB for a result computed before a
// run, 1024 elements where dims are followed, 64 in part.

#include "ops/constant_limits.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/checked.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
std::optional<int64_t> bytes_in_memory(DataType type, const Dims& dims) {
  const auto size = static_cast<int64_t>(type == DataType::string ? sizeof(std::string) : memory_size(type));
  return checked_mul(element_count(dims), std::max<int64_t>(size, 1));
}

}  // namespace relayout

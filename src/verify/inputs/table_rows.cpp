// The rows in which an embedding table of A differs from that of B, so that generated ids can choose them.
#include "verify/inputs/table_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/interrupt.h"
#include "base/positions.h"
#include "model/tensor_data.h"
#include "ops/loops/dtypes.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

const TensorData* data_of(const Value& value) {
  if (value.initializer() != nullptr) return value.initializer()->data.get();
  const Node* const producer = value.producer();
  return producer != nullptr && producer->is("Constant") ? producer->constant_data() : nullptr;
}

}  // namespace

bool is_table(const Value* value) {
  const TensorData* const data = value == nullptr ? nullptr : data_of(*value);
  return data != nullptr && !data->dims().empty() && kNumericTypes.has(data->type()) && traits(data->type()).bits >= 8;
}

std::vector<int64_t> differing_rows(const Value& a, const Value& b, std::size_t most) {
  constexpr int64_t kBuffer = int64_t{1} << 20;
  if (!is_table(&a) || !is_table(&b)) return {};
  const TensorData &left = *data_of(a), &right = *data_of(b);
  if (left.type() != right.type() || left.dims() != right.dims() || element_count(left.dims()) == 0) return {};
  const int64_t rows = left.dims()[0], row_bytes = left.byte_size() / rows;
  if (row_bytes > kBuffer) return {};
  const int64_t block = std::min(rows, kBuffer / row_bytes);
  std::vector<std::byte> from_a(as_size(block * row_bytes)), from_b(from_a.size());
  std::vector<int64_t> out;
  for (int64_t begin = 0; begin < rows; begin += block) {
    check_interrupt();
    const int64_t count = std::min(block, rows - begin);
    const auto size = as_size(count * row_bytes);
    left.read_rows(begin, count, std::span(from_a).first(size));
    right.read_rows(begin, count, std::span(from_b).first(size));
    for (int64_t i = 0; i < count; ++i) {
      const auto at = as_size(i * row_bytes);
      if (std::memcmp(&from_a[at], &from_b[at], as_size(row_bytes)) == 0) continue;
      if (out.size() == most) return {};
      out.push_back(begin + i);
    }
  }
  return out;
}

}  // namespace relayout

// Finds the scale of each element of a quantized tensor: one for all, or one for each place along an axis, each block, row or column.
#include "verify/scale_sharing.h"

#include <cstddef>
#include <cstdint>

#include "base/positions.h"
#include "model/attributes.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

ScaleSharing::Places in_rows(const Dims& dims, int64_t count) {
  int64_t elements = 1;
  for (const int64_t dim : dims) elements *= dim;
  if (elements < count || elements % count != 0) return nullptr;
  return [in_row = elements / count](int64_t i) { return as_size(i / in_row); };
}

}  // namespace

ScaleSharing ScaleSharing::of(const Node& node) {
  const Attributes attributes(node);
  const int64_t block = attributes.integer("block_size", 0);
  return {.how = block > 0 ? How::blocks : How::axis, .axis = attributes.integer("axis", 1), .block = block};
}

ScaleSharing::Places ScaleSharing::along_axis(const Dims& dims, int64_t count) const {
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (count == 1 && how == How::axis) return [](int64_t) { return std::size_t{0}; };
  if (at < 0 || at >= rank) return nullptr;
  const int64_t size = dims[as_size(at)];
  int64_t inner = 1, outer = 1;
  for (int64_t i = at + 1; i < rank; ++i) inner *= dims[as_size(i)];
  for (int64_t i = 0; i < at; ++i) outer *= dims[as_size(i)];
  if (how == How::axis) {
    if (size != count) return nullptr;
    return [inner, size](int64_t i) { return as_size(i / inner % size); };
  }
  const int64_t blocks = (size + block - 1) / block;
  if (outer * blocks * inner != count) return nullptr;
  return [=, each = block](int64_t i) { return as_size((i / (inner * size) * blocks + i / inner % size / each) * inner + i % inner); };
}

ScaleSharing::Places ScaleSharing::in_matrix(const Dims& dims, int64_t count) const {
  if (dims.size() != 2) return nullptr;
  const int64_t rows = dims[0], columns = dims[1], blocks = (rows + block - 1) / block;
  if (how == How::rows) {
    if (columns * blocks != count) return nullptr;
    return [=, each = block](int64_t i) { return as_size(i % columns * blocks + i / columns / each); };
  }
  if ((rows * columns + block - 1) / block != count) return nullptr;
  return [=, each = block](int64_t i) { return as_size((i % columns * rows + i / columns) / each); };
}

ScaleSharing::Places ScaleSharing::places(const Dims& dims, int64_t count) const {
  if (how == How::leading) return in_rows(dims, count);
  if (is_transposed && dims.size() != 2) return nullptr;
  const Dims read = is_transposed ? Dims{dims[1], dims[0]} : dims;
  const bool is_matrix = how == How::rows || how == How::column_major;
  Places found = is_matrix ? in_matrix(read, count) : along_axis(read, count);
  if (!is_transposed || found == nullptr) return found;
  return [found, rows = read[0], columns = read[1]](int64_t i) { return found(i % rows * columns + i / rows); };
}

}  // namespace relayout

// Which elements of a quantized tensor share a scale: all, those at one place of an axis, of a block, of a row or of a column.
#include "verify/scale_sharing.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/positions.h"
#include "model/node.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

ScaleSharing::Places in_rows(const Dims& dims, int64_t count) {
  const int64_t elements = element_count(dims);
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
  if (count == 1 && how == How::axis) return [](int64_t) { return std::size_t{0}; };
  const auto at = checked_axis(axis, dims.size());
  if (!at) return nullptr;
  const int64_t size = dims[*at], inner = element_count(std::span(dims).subspan(*at + 1));
  if (how == How::axis) {
    if (size != count) return nullptr;
    return [inner, size](int64_t i) { return as_size(i / inner % size); };
  }
  const int64_t blocks = (size + block - 1) / block;
  if (element_count(std::span(dims).first(*at)) * blocks * inner != count) return nullptr;
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

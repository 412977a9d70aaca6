// Stores equal initializers of a graph once.
//
//     a = MatMul (x, W)              a = MatMul (x, W)
//     b = MatMul (y, V)       →      b = MatMul (y, W)          V, which is equal to W, is gone

#include <cstring>
#include <tuple>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/positions.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// Rows that are read at once.
int64_t rows_at_once(const TensorData& data) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  const int64_t rows = data.dims().empty() ? 1 : data.dims().front();
  const int64_t row = std::max<int64_t>(data.byte_size() / std::max<int64_t>(rows, 1), 1);
  // Elements of few bits fill whole bytes only together.
  return traits(data.type()).bits < 8 ? rows : std::clamp<int64_t>(kPiece / row, 1, std::max<int64_t>(rows, 1));
}

/// Calls `visit` for the stored bytes of a tensor in order, until it returns false.
template <class Visit>
bool visit_bytes(const TensorData& data, ByteBuffer& buffer, const Visit& visit) {
  const int64_t rows = data.dims().empty() ? 1 : data.dims().front(), step = rows_at_once(data);
  const int64_t row = rows == 0 ? 0 : data.byte_size() / rows;
  for (int64_t at = 0; at < rows; at += step) {
    check_interrupt();
    const int64_t count = std::min(step, rows - at);
    const auto bytes = buffer.room(count == rows ? data.byte_size() : count * row);
    data.read_rows(at, count, bytes);
    if (!visit(at, bytes)) return false;
  }
  return true;
}

uint64_t hash_of_bytes(const TensorData& data) {
  ByteBuffer buffer;
  uint64_t hash = kFnvBasis;
  visit_bytes(data, buffer, [&](int64_t /*at*/, std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, std::min(sizeof(word), bytes.size() - i));
      hash = mix(hash ^ word);
    }
    return true;
  });
  return hash;
}

bool are_equal(const TensorData& a, const TensorData& b) {
  ByteBuffer left, right;
  return visit_bytes(a, left, [&](int64_t at, std::span<const std::byte> bytes) {
    const auto other = right.room(std::ssize(bytes));
    b.read_rows(at, a.dims().empty() ? 1 : std::min(rows_at_once(a), a.dims().front() - at), other);
    return std::ranges::equal(bytes, other);
  });
}

struct Shared {
  Initializer* initializer;
  Value* kept;
};

Match<Shared> match_equal(Initializer& initializer, std::span<Initializer* const> others, PassContext& context) {
  if (initializer.value->is_output() || !is_removable(initializer, context)) return NotApplicable{};
  for (const Initializer* const other : others) {
    if (are_equal(*initializer.data, *other->data)) return Shared{&initializer, other->value};
  }
  return NotApplicable{};
}

void share(Graph& graph, PassContext& context) {
  std::map<std::tuple<DataType, Dims>, std::vector<Initializer*>> by_form;
  for (Initializer& initializer : graph.initializers()) {
    // A value that a caller or a training step may replace is not equal for long.
    if (!initializer.data || !context.constants.is_constant(*initializer.value)) continue;
    by_form[{initializer.data->type(), initializer.data->dims()}].push_back(&initializer);
  }
  for (const auto& [form, all] : by_form) {
    if (all.size() < 2) continue;
    std::map<uint64_t, std::vector<Initializer*>> kept;
    for (Initializer* const initializer : all) {
      std::vector<Initializer*>& equal = kept[hash_of_bytes(*initializer->data)];
      const bool is_gone = rewrite_one(
          {"initializer", initializer->value->name()}, context, [&] { return match_equal(*initializer, equal, context); },
          [&](const Shared& shared) {
            graph.replace_uses(*shared.initializer->value, *shared.kept);
            graph.erase_initializer(*shared.initializer);
          });
      if (!is_gone) equal.push_back(initializer);
    }
  }
}

}  // namespace

void share_weights(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& nested) {
    if (!nested.is_function()) share(nested, context);
  });
}

}  // namespace relayout::passes

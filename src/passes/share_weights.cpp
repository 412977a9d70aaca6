// Stores equal initializers of a graph once.
//
//     a = MatMul (x, W)              a = MatMul (x, W)
//     b = MatMul (y, V)       →      b = MatMul (y, W)          V, which is equal to W, is gone

#include <cstring>
#include <tuple>

#include "base/hash.h"
#include "base/interrupt.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// Rows of about as many bytes.
int64_t rows_of(const TensorData& data, int64_t bytes) {
  const int64_t rows = data.dims().empty() ? 1 : data.dims().front();
  const int64_t row = std::max<int64_t>(data.byte_size() / std::max<int64_t>(rows, 1), 1);
  // Elements of few bits fill whole bytes only together.
  return traits(data.type()).bits < 8 ? rows : std::clamp<int64_t>(bytes / row, 1, std::max<int64_t>(rows, 1));
}

/// The stored bytes of rows.
std::span<const std::byte> read(const TensorData& data, int64_t first, int64_t count, ByteBuffer& buffer) {
  const int64_t rows = data.dims().empty() ? 1 : data.dims().front();
  const auto bytes = buffer.room(count == rows ? data.byte_size() : count * (data.byte_size() / rows));
  data.read_rows(first, count, bytes);
  return bytes;
}

/// Of the first, middle and last rows: tensors that differ differ there, as a rule.
uint64_t hash_of_samples(const TensorData& data) {
  constexpr int64_t kPiece = int64_t{1} << 12;
  const int64_t rows = data.dims().empty() ? 1 : data.dims().front(), count = std::min(rows, rows_of(data, kPiece));
  ByteBuffer buffer;
  uint64_t hash = kFnvBasis;
  for (const int64_t first : std::set<int64_t>{0, (rows - count) / 2, rows - count}) {
    const auto bytes = rows == 0 ? std::span<const std::byte>() : read(data, first, count, buffer);
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, std::min(sizeof(word), bytes.size() - i));
      hash = mix(hash ^ word);
    }
  }
  return hash;
}

bool are_equal(const TensorData& a, const TensorData& b) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  const int64_t rows = a.dims().empty() ? 1 : a.dims().front(), step = rows_of(a, kPiece);
  ByteBuffer left, right;
  for (int64_t first = 0; first < rows; first += step) {
    check_interrupt();
    const int64_t count = std::min(step, rows - first);
    if (!std::ranges::equal(read(a, first, count, left), read(b, first, count, right))) return false;
  }
  return true;
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
      std::vector<Initializer*>& equal = kept[hash_of_samples(*initializer->data)];
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

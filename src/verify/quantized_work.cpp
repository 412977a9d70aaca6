// Counts what a model quantizes, from the operators that read quantized weights and those that make quantized results.
#include "verify/quantized_work.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "model/attributes.h"
#include "model/walk.h"
#include "ops/element_types.h"
#include "ops/op_signature.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/noise.h"

namespace relayout {
namespace {

/// Integers of more bits stand for sums, as the bias of a quantized convolution does.
constexpr int kMostBits = 16;

/// An operator that reads quantized numbers, and which of its inputs hold them (a bit each); the other integers are zero points.
struct Reader {
  std::string_view op;
  unsigned inputs;
  int bits;  ///< where the tensor's type does not tell: numbers packed into bytes; 0: it does
};
constexpr int kByAttribute = -1;
constexpr auto kReaders = std::to_array<Reader>({
    {"ConvInteger", 0b11, 0},
    {"DequantizeLinear", 0b1, 0},
    {"DynamicQuantizeLSTM", 0b110, 0},
    {"DynamicQuantizeMatMul", 0b10, 0},
    {"GatherBlockQuantized", 0b1, kByAttribute},
    {"MatMulBnb4", 0b10, 4},
    {"MatMulInteger", 0b11, 0},
    {"MatMulIntegerToFloat", 0b11, 0},
    {"MatMulNBits", 0b10, kByAttribute},
    {"QAttention", 0b11, 0},
    {"QGemm", 0b1001, 0},
    {"QLinearAdd", 0b1001, 0},
    {"QLinearConv", 0b1001, 0},
    {"QLinearMatMul", 0b1001, 0},
    {"QLinearMul", 0b1001, 0},
});
static_assert(std::ranges::is_sorted(kReaders, {}, &Reader::op));

const Reader* reader_of(const Node& node) {
  if (!node.domain().empty() && node.domain() != "com.microsoft") return nullptr;
  const auto found = std::ranges::lower_bound(kReaders, std::string_view(node.op_type()), {}, &Reader::op);
  return found != kReaders.end() && found->op == node.op_type() ? &*found : nullptr;
}

class Count {
 public:
  explicit Count(const Graph& graph) : types_(graph, signatures_) {
    for_each_node(graph.model(), [this](const Node& node) {
      count_weights(node);
      count_results(node);
    });
  }
  [[nodiscard]] const QuantizedWork& work() const noexcept { return work_; }

 private:
  /// Bits of a type that may stand for real numbers by a scale; 0 of any other.
  [[nodiscard]] int bits_of(const Value& value) const {
    const DataType type = types_.of(value);
    if (type == DataType::undefined || type == DataType::boolean || type == DataType::string) return 0;
    const int bits = traits(type).bits;
    return traits(type).is_float ? (bits <= 8 ? bits : 0) : bits <= kMostBits ? bits : 0;
  }

  void count_weights(const Node& node) {
    const Reader* const reader = reader_of(node);
    for (std::size_t i = 0; reader != nullptr && i < node.inputs().size(); ++i) {
      const Value* const value = node.input(i);
      if ((reader->inputs >> i & 1U) == 0 || value == nullptr || !value->is_stored_constant() || !seen_.insert(value).second) continue;
      int bits = bits_of(*value);
      if (bits > 0 && reader->bits != 0) {
        bits = reader->bits == kByAttribute ? static_cast<int>(Attributes(node).integer("bits", 4)) : reader->bits;
      }
      note(bits, work_.constants);
    }
  }

  void count_results(const Node& node) {
    if (!quantizes(node)) return;
    bool rounds = false;
    for (const Value* const output : node.outputs()) {
      const int bits = output == nullptr ? 0 : bits_of(*output);
      // Of DynamicQuantizeLinear the first result is the tensor, the last its zero point.
      if (rounds || bits == 0) continue;
      rounds = true;
      note(bits, work_.activations);
    }
    // What rounds its operand inside and gives back real numbers.
    constexpr int kDynamic = 8;
    if (!rounds && node.op_type().starts_with("DynamicQuantize")) note(kDynamic, work_.activations);
  }

  void note(int bits, int64_t& count) {
    if (bits == 0) return;
    work_.bits = work_.bits == 0 ? bits : std::min(work_.bits, bits);
    ++count;
  }

  OpSignatures signatures_;
  ElementTypes types_;
  QuantizedWork work_;
  std::unordered_set<const Value*> seen_;
};

}  // namespace

QuantizedWork quantized_work(const Graph& graph) {
  return Count(graph).work();
}

bool is_coarser(const QuantizedWork& b, const QuantizedWork& a) noexcept {
  return b.bits > 0 && (a.bits == 0 || b.bits < a.bits);
}

std::string describe(const QuantizedWork& b) {
  const auto counted = [](int64_t count, const std::string& what) { return std::to_string(count) + " " + what + (count == 1 ? "" : "s"); };
  std::string parts;
  if (b.constants > 0) parts = counted(b.constants, "weight");
  if (b.activations > 0) parts += (parts.empty() ? "" : ", ") + counted(b.activations, "activation");
  return "b quantizes " + counted(b.tensors(), "tensor") + " to int" + std::to_string(b.bits) + " (" + parts + ")";
}

}  // namespace relayout

// Tells which nodes quantize, and counts a model's quantized weights and activations with their least bits.
#include "verify/run/quantized_work.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/numbers.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/element_types.h"
#include "ops/op.h"
#include "ops/quantized_form.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Integers of more bits represent sums, as in the bias of a quantized convolution.
constexpr int kMostBits = 16;

/// Inputs that hold quantized numbers; the other integers are zero points.
std::vector<std::size_t> quantized_inputs(const Node& node) {
  if (node.op_type() == "DequantizeLinear" && has_trait(node, Trait::quantizes)) return {0};
  std::vector<std::size_t> out;
  if (const QuantizedForm* const form = quantized_form(node)) {
    for (const auto& operand : form->operands(node)) out.push_back(operand.numbers);
  }
  return out;
}

/// Bits of numbers that are packed into bytes, so that the tensor's type does not give them.
std::optional<int> packed_bits(const Node& node) {
  const QuantizedForm* const form = quantized_form(node);
  if (form == nullptr || form->packing == QuantizedForm::Packing::none) return std::nullopt;
  constexpr int64_t kBits = 4;
  return static_cast<int>(form->packing == QuantizedForm::Packing::codes ? kBits : Attributes(node).integer("bits", kBits));
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
  /// Bits of a value's type if it may represent real numbers by a scale, otherwise 0.
  [[nodiscard]] int bits_of(const Value& value) const {
    const DataType type = types_.of(value);
    if (type == DataType::undefined || type == DataType::boolean || type == DataType::string) return 0;
    const int bits = traits(type).bits;
    return traits(type).is_float ? (bits <= 8 ? bits : 0) : bits <= kMostBits ? bits : 0;
  }

  void count_weights(const Node& node) {
    for (const std::size_t i : quantized_inputs(node)) {
      const Value* const value = node.input(i);
      if (value == nullptr || !value->is_stored_constant() || !seen_.insert(value).second) continue;
      const int bits = bits_of(*value);
      note(bits > 0 ? packed_bits(node).value_or(bits) : 0, work_.constants);
    }
  }

  void count_results(const Node& node) {
    if (!quantizes(node)) return;
    bool rounds = false;
    for (const Value* const output : node.outputs()) {
      const int bits = output == nullptr ? 0 : bits_of(*output);
      // The first result of DynamicQuantizeLinear is the tensor, the last its zero point.
      if (rounds || bits == 0) continue;
      rounds = true;
      note(bits, work_.activations);
    }
    // Operators that round their operand internally and return real numbers.
    constexpr int kDynamic = 8;
    const QuantizedForm* const form = quantized_form(node);
    if (!rounds && form != nullptr && form->is_dynamic) note(kDynamic, work_.activations);
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

bool quantizes(const Node& node) {
  const bool converts_to = has_trait(node, Trait::quantizes) && has_trait(node, Trait::jumps);  // back to real numbers nothing jumps
  return converts_to || has_trait(node, Trait::quantized);
}

bool holds_steps(const Value& value) {
  const Node* node = value.producer();
  while (node != nullptr && !quantizes(*node)) {
    const Value* const moved = traits_of(*node).moves_input(0) ? node->input(0) : nullptr;
    node = moved == nullptr ? nullptr : moved->producer();
  }
  return node != nullptr;
}

QuantizedWork quantized_work(const Graph& graph) {
  return Count(graph).work();
}

bool is_coarser(const QuantizedWork& b, const QuantizedWork& a) noexcept {
  return b.bits > 0 && (a.bits == 0 || b.bits < a.bits);
}

std::string describe(const QuantizedWork& b) {
  std::string parts;
  if (b.constants > 0) parts = counted(b.constants, "weight");
  if (b.activations > 0) parts += (parts.empty() ? "" : ", ") + counted(b.activations, "activation");
  return "B quantizes " + counted(b.tensors(), "tensor") + " to int" + std::to_string(b.bits) + " (" + parts + ")";
}

}  // namespace relayout

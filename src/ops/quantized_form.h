#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/graph.h"

namespace relayout {

/// How an operator on quantized numbers represents one on real numbers, and which of its inputs are numbers, scales and zero points.
struct QuantizedForm {
  static constexpr std::size_t kNoInput = ~std::size_t{0};  ///< an input that Node::input() never has

  /// Inputs that represent real numbers: (number − zero point) · scale.
  struct Operand {
    std::size_t numbers = kNoInput, scale = kNoInput, zero = kNoInput;
  };
  /// How numbers are packed in the bytes of their tensor.
  enum class Packing : uint8_t {
    none,    ///< one by one, of the tensor's type
    blocks,  ///< `bits` of each, with a scale for each block
    codes,   ///< 4 bits of each, which choose from a list of numbers
  };

  std::string_view op, real = {};   ///< `real`: of the default domain; empty where several nodes are needed
  std::array<Operand, 2> all = {};  ///< those that are not there at the end
  std::size_t result = kNoInput;    ///< scale of the result, the zero point follows; without one results are sums or real numbers
  std::size_t bias = kNoInput;      ///< integers in the scale of the products of both operands
  std::size_t plain = kNoInput;     ///< an input that is read as it is, the first of `real`
  std::size_t first_weight = 0;     ///< among the operands: those from here on are weights
  Packing packing = Packing::none;
  bool is_variadic = false;  ///< the last operand is repeated up to the last input
  bool is_dynamic = false;   ///< rounds its first input, which is real, to 8 bits between its least and largest elements

  [[nodiscard]] std::vector<Operand> operands(const Node& node) const;
  [[nodiscard]] std::vector<Operand> weights(const Node& node) const;
  /// The axis along which a weight may have a scale each: that of the result's channels.
  [[nodiscard]] int64_t channel_axis(const Node& node) const;
};

/// The form of a node's operator; nullptr for an operator that has none, and for calls of functions. QuantizeLinear,
/// DynamicQuantizeLinear and DequantizeLinear go from one kind of numbers to the other and have none.
[[nodiscard]] const QuantizedForm* quantized_form(const Node& node);
[[nodiscard]] std::span<const QuantizedForm> quantized_forms();

/// The name of the real numbers that `integers`, a result of `node`, represent; empty where none is known.
using RealName = std::function<std::string(const Node& node, const Value& integers)>;

/// Rewrites operators that compute with quantized numbers (QLinearConv, QGemm, QLinearAdd, …) as DequantizeLinear, the operator itself and
/// QuantizeLinear, from opset 13 on. Nodes keep their names; real numbers get the names from `real_name` that are free.
void write_real_form(Graph& graph, const RealName& real_name);
/// Whether a graph has an operator that write_real_form() rewrites.
[[nodiscard]] bool has_real_form(const Graph& graph);

}  // namespace relayout

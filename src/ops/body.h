#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/node.h"
#include "ops/call.h"
#include "ops/partial_dims.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// One call of an operator, seen from the body of that operator.
class BodyCall {
 public:
  using Number =
      std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>, onnx::TensorProto>;
  using NamedAttributes = std::vector<std::pair<std::string, Number>>;

  BodyCall(const Node& call, PartialOperands& operands) : call_(&call), operands_(&operands), attributes_(call) {}

  [[nodiscard]] const Attributes& attributes() const noexcept { return attributes_; }
  [[nodiscard]] bool has(std::size_t input) const { return call_->input(input) != nullptr; }
  [[nodiscard]] bool wants(std::size_t output) const { return call_->output(output) != nullptr; }
  /// Facts about an input that is present; nothing, or undefined, where they are not certain.
  [[nodiscard]] std::optional<std::size_t> rank(std::size_t input) const;
  [[nodiscard]] std::optional<int64_t> dim(std::size_t input, std::size_t axis) const;
  [[nodiscard]] DataType type(std::size_t input) const;
  /// The call's attributes of these names, for a node that takes the same attributes.
  [[nodiscard]] NamedAttributes given(std::initializer_list<std::string_view> names) const;
  /// An integer attribute that the call must have, from `least` to `most`.
  [[nodiscard]] int64_t required(std::string_view attribute, int64_t least, int64_t most) const;
  /// An attribute that holds a tensor and that the call must have.
  [[nodiscard]] const onnx::TensorProto& tensor_attribute(const std::string& name) const;
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void reject(const std::string& why) const;

 private:
  const Node* call_;
  PartialOperands* operands_;
  Attributes attributes_;
};

/// Sets type and contents of an attribute; not its name.
void set_value(onnx::AttributeProto& attribute, const BodyCall::Number& value);

/// Writes the body of one call of an operator: nodes of standard operators of opset `kOpset`. Values are names; "" is an absent one.
class Body : public BodyCall {
 public:
  using Name = std::string;
  using Names = std::vector<Name>;

  static constexpr int64_t kOpset = 24;
  static constexpr std::string_view kOwnDomain = "relayout";

  Body(const Node& call, PartialOperands& operands);

  /// The value that the call passes as this input.
  [[nodiscard]] Name input(std::size_t index) const;
  Name make(std::string_view op, const Names& inputs, const NamedAttributes& attributes = {});
  Names make(std::string_view op, const Names& inputs, std::size_t outputs, const NamedAttributes& attributes = {});
  /// Adds a node of an operator that only bodies use: of domain `kOwnDomain`.
  Names make_own(std::string_view op, const Names& inputs, std::size_t outputs, const NamedAttributes& attributes);
  Name integers(const std::vector<int64_t>& values);  ///< a vector
  Name integer(int64_t value);                        ///< a scalar
  Name real(double value);                            ///< a scalar, f32
  Name reals(const std::vector<float>& values);       ///< a vector
  Name reals(const std::vector<float>& values, const Dims& dims);
  Name like(double value, const Name& model);  ///< a scalar of the element type of `model`
  Name cast(const Name& value, DataType type);
  Name cast_like(const Name& value, const Name& model) { return make("CastLike", {value, model}); }
  /// Makes this value output `index` of the call.
  void give(std::size_t index, const Name& value);

  /// The whole body; every output that the call wants must be given.
  [[nodiscard]] onnx::FunctionProto finish();

 private:
  onnx::FunctionProto message_;
  std::string prefix_;
  std::vector<Name> outputs_;
  int made_ = 0;
};

struct Op;

/// The body of a function with the attributes of one call filled in: a graph of its own.
struct FunctionInstance {
  std::unique_ptr<onnx::FunctionProto> message;
  std::unique_ptr<Graph> graph;
};

/// The computation of a node whose operator has a body, as standard operators; some bodies depend on types and ranks of the operands.
/// Error{unsupported} for a form that has no body, Error{invalid} for attributes that the operator does not take.
[[nodiscard]] FunctionInstance compose(const Op& op, const Node& call, PartialOperands& operands);

/// Infer and Compute of every operator with a body, by inferring and computing the nodes of its body.
[[nodiscard]] std::optional<std::vector<DatumInfo>> infer_composed(const OpCall& call, std::span<const DatumInfo* const> inputs);
void compute_composed(const OpCall& call, std::span<const Datum* const> inputs, std::span<Datum* const> outputs);

/// The operators with bodies, sorted by domain and name: those of other domains, and those that ONNX Runtime adds to the default one.
[[nodiscard]] std::span<const Op> composed_table();
[[nodiscard]] const Op* find_composed(std::string_view domain, std::string_view name);

}  // namespace relayout

// Declares the two tables of rows, and what a row sees of its node.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "derive/sizes.h"
#include "derive/writer.h"
#include "model/node.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::derive {

/// One node, for which a row writes others.
class Row {
 public:
  Row(const Node& node, Sizes& sizes, Writer& writer) : node(node), sizes(sizes), w(writer), attributes(node) {}

  const Node& node;
  Sizes& sizes;
  Writer& w;
  const Attributes attributes;

  [[nodiscard]] Name x(std::size_t input = 0) const { return name_of(node.input(input)); }
  [[nodiscard]] Name y(std::size_t output = 0) const { return name_of(node.output(output)); }
  [[nodiscard]] Names inputs() const;
  /// The inputs with others in place of some: "" takes one away.
  [[nodiscard]] Names inputs_with(std::initializer_list<std::pair<std::size_t, Name>> others) const;
  [[nodiscard]] DataType type(std::size_t input = 0) const;
  [[nodiscard]] std::size_t rank(std::size_t input = 0) const { return rank_of(node.input(input)); }
  [[nodiscard]] std::size_t rank_of(const Value* value) const;
  /// −1: free. Refuses an absent operand.
  [[nodiscard]] int64_t size(std::size_t input, std::size_t axis) const { return sizes.dim(present(input), axis); }
  [[nodiscard]] Dim dim(std::size_t input, std::size_t axis) const { return dim(present(input), axis); }
  /// A size where it is known, else the dim of another value that always has the same, else of the value itself.
  [[nodiscard]] Dim dim(const Value& value, std::size_t axis) const;
  /// A value that stays, of the dims of this one: itself, a lasting one, or what the same nodes make of lasting operands.
  [[nodiscard]] Name stand_in(const Value& value) const;
  /// The dims of a value as a vector.
  [[nodiscard]] Name shape(const Name& value) const;
  [[nodiscard]] Name expand_to(const Name& value, const Name& like) const { return w.make("Expand", {value, shape(like)}); }
  [[nodiscard]] Name zeros_like(const Name& value, DataType type) const { return expand_to(w.real(0, type), value); }
  [[nodiscard]] const Value& present(std::size_t input) const;
  [[nodiscard]] Name number(double value) const { return w.real(value, type()); }
  /// The axis of an attribute, counted from the front of input 0.
  [[nodiscard]] std::size_t axis(int64_t otherwise) const;
  /// `value` as a formula says, in which x or a, b, c are the inputs, y the output, and {alpha=1} an attribute with its default.
  [[nodiscard]] Name formula(std::string_view text) const;
  [[noreturn]] void refuse(const std::string& why) const { fail(ErrorKind::unsupported, node.label() + ": " + why); }

 private:
  [[nodiscard]] static Name name_of(const Value* value) { return value == nullptr ? Name() : value->name(); }
};

/// One node of the model, whose tangents a row writes from those of its inputs.
class LinearizeRow : public Row {
 public:
  using TangentOf = std::function<Name(const Value&)>;
  LinearizeRow(const Node& node, Sizes& sizes, Writer& writer, const TangentOf& tangent_of, bool may_join)
      : Row(node, sizes, writer), may_join(may_join), tangent_of_(tangent_of), given_(node.outputs().size()) {}
  const bool may_join;  ///< whether two products may become one
  /// "": zero.
  [[nodiscard]] Name t(std::size_t input = 0) const { return node.input(input) == nullptr ? Name() : tangent_of_(*node.input(input)); }
  /// The tangent of an input with explicit zeros; that of an absent input is absent.
  [[nodiscard]] Name t_or_zeros(std::size_t input) const;
  [[nodiscard]] Name tangent_of(const Value& value) const { return tangent_of_(value); }
  void give(Name tangent, std::size_t output = 0) { given_.at(output) = std::move(tangent); }
  /// Gives a tangent that has the dims of `input`, in those of the output.
  void give_broadcast(const Name& tangent, std::size_t input);
  [[nodiscard]] const Names& given() const noexcept { return given_; }

 private:
  const TangentOf& tangent_of_;
  Names given_;
};

/// One linear node, whose inputs' cotangents a row writes from those of its outputs.
class TransposeRow : public Row {
 public:
  using CotangentOf = std::function<Name(const Value&)>;
  using IsLinear = std::function<bool(const Value&)>;
  TransposeRow(const Node& node, Sizes& sizes, Writer& writer, const CotangentOf& cotangent_of, const IsLinear& is_linear)
      : Row(node, sizes, writer), cotangent_of_(cotangent_of), is_linear_(is_linear), given_(node.inputs().size()) {}
  [[nodiscard]] Name ct(std::size_t output = 0) const {
    return node.output(output) == nullptr ? Name() : cotangent_of_(*node.output(output));
  }
  [[nodiscard]] bool is_linear(std::size_t input) const { return node.input(input) != nullptr && is_linear_(*node.input(input)); }
  [[nodiscard]] bool is_linear(const Value& value) const { return is_linear_(value); }
  void give(Name cotangent, std::size_t input = 0) { given_.at(input) = std::move(cotangent); }
  /// Gives a cotangent to a value that a nested graph reads.
  void give_captured(const Value& value, Name cotangent) { captured_.emplace_back(&value, std::move(cotangent)); }
  /// Gives a cotangent that has the dims of output 0 to an input that was broadcast to them: sums over the axes that were.
  void give_summed(const Name& cotangent, std::size_t input);
  /// The sum over the axes by which an input was broadcast to the first `compared` axes of output 0; `own` axes of the cotangent and of the
  /// input follow these, and stay.
  [[nodiscard]] Name summed(const Name& cotangent, std::size_t compared, std::size_t input, std::size_t own) const;
  [[nodiscard]] const Names& given() const noexcept { return given_; }
  [[nodiscard]] const std::vector<std::pair<const Value*, Name>>& captured() const noexcept { return captured_; }

 private:
  const CotangentOf& cotangent_of_;
  const IsLinear& is_linear_;
  Names given_;
  std::vector<std::pair<const Value*, Name>> captured_;
};

/// The tangents of an operator's outputs, as nodes that are linear in those of its inputs.
struct Linearize {
  std::string_view op;
  void (*write)(LinearizeRow& row);
};
/// nullptr: the table has no row for the operator.
[[nodiscard]] const Linearize* find_linearize(std::string_view op);

/// Why a standard operator has no derivative; "": it has one, or makes no numbers that could have one.
[[nodiscard]] std::string_view why_refused(std::string_view op);
/// Whether an operator is replaced by others that have derivatives.
[[nodiscard]] bool is_opened(std::string_view op);

/// The transpose of an operator that is linear in some of its inputs.
struct Transpose {
  std::string_view op;
  void (*write)(TransposeRow& row);
};
[[nodiscard]] const Transpose* find_transpose(std::string_view op);

/// An operator that others replace: writes these, and returns their outputs. Error{unsupported}: a form of it that has no such nodes.
struct Open {
  std::string_view op;
  Names (*write)(const Row& row);
};
[[nodiscard]] Names attention(const Row& row);
/// A product along axes of known size, by pairs: its derivatives are right where elements are 0.
[[nodiscard]] Names product_of_axes(const Row& row);
/// A recurrent operator, step by step.
[[nodiscard]] Names unrolled(const Row& row);

/// The rows of one family: a table for each file.
using LinearizeRows = std::span<const Linearize>;
[[nodiscard]] LinearizeRows elementwise_rows();
[[nodiscard]] LinearizeRows linear_rows();
[[nodiscard]] LinearizeRows reduction_rows();
[[nodiscard]] LinearizeRows normalization_rows();
[[nodiscard]] LinearizeRows branch_rows();
using TransposeRows = std::span<const Transpose>;
[[nodiscard]] TransposeRows arithmetic_transposes();
[[nodiscard]] TransposeRows product_transposes();
[[nodiscard]] TransposeRows movement_transposes();
[[nodiscard]] TransposeRows branch_transposes();

/// A formula of a row as nodes. `value`: the name of an operand; `attribute`: the number of an attribute, or its default.
struct FormulaScope {
  Writer& w;
  DataType type;
  std::function<Name(std::string_view name)> value;
  std::function<double(std::string_view name, double otherwise)> attribute;
};
[[nodiscard]] Name write_formula(std::string_view text, const FormulaScope& scope);

}  // namespace relayout::derive

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "model/tensor_data.h"
#include "ops/certain_shapes.h"
#include "ops/partial_dims.h"
#include "relayout/datum.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"

namespace relayout {

enum class Reads : uint8_t;

/// A constant: its contents without having read them, where they can be had so (initializers, Constant nodes, Identity and
/// Transpose of those), else evaluated.
struct Constant {
  DataType type = DataType::undefined;
  Dims dims;
  TensorData data;                     ///< not for strings
  Tensor strings;                      ///< of type string only
  Initializer* initializer = nullptr;  ///< the initializer itself, when no node lies between
  [[nodiscard]] Tensor load() const { return strings ? strings : data.load(); }
};

/// Why a node's results are never evaluated, or nothing.
[[nodiscard]] std::optional<Reason> why_never_evaluated(const Node& node);

/// Why a value is no constant.
struct NotConstant {
  Reason reason;
  bool may_be_certain;  ///< some of its contents all the same
  NotConstant(Reason why, bool certain) : reason(why), may_be_certain(certain) {}
};

/// The initializers that a model's training_info writes to.
class TrainedNames {
 public:
  [[nodiscard]] bool contains(const Value& value);

 private:
  std::optional<std::unordered_set<std::string>> names_;  ///< nothing before the first question
};

/// Answers what is constant: initializers (not overridable ones), Constant in every attribute form, sparse initializers, and chains of
/// pure ops over constants, evaluated by the kernels of the op table within a size budget. CastLike, Shape and Size need only
/// type or dims of an operand, and of a Shape the dims that are certain may be all that is read: see certain_shapes.h.
/// Answers are remembered by value; a pass that changes the contents of a value calls forget().
class Constants {
 public:
  struct Options {
    int64_t budget = int64_t{64} << 20;  ///< bytes of the operands and results of one evaluated node
  };
  explicit Constants(Options options) : options_(options) {}
  Constants() : Constants(Options{}) {}

  /// The constant, or why not: not_constant, overridable, training_info, quantized, too_large.
  [[nodiscard]] std::variant<Constant, Reason> find(const Value& value);
  [[nodiscard]] bool is_constant(const Value& value);
  /// Contents of a small constant (parameters, shapes), or nothing.
  [[nodiscard]] std::optional<Tensor> value(const Value& value);
  /// Element type of a value (of a sequence: of its elements), as far as it follows from constants, Casts and declared inputs of the
  /// graph (those are contracts) through operators that keep the type; or undefined.
  [[nodiscard]] DataType type_of(const Value& value);
  /// Dims, −1 for each that is not certain; nothing when the rank is not.
  [[nodiscard]] PartialDims dims(const Value& value);
  /// Small contents as far as they are certain.
  [[nodiscard]] std::optional<PartialContents> contents(const Value& value) { return certain_.contents(value, *this); }
  void forget(const Value& value);
  void clear();

 private:
  using Answer = std::variant<Constant, Reason>;
  /// Most values are no constants, so that what is remembered of them is small.
  using Known = std::variant<std::shared_ptr<const Constant>, NotConstant>;
  /// The remembered answer for a value that is no source, found now where it is not known yet.
  [[nodiscard]] const Known& look_up(const Value& value);
  /// Of an operand that is known to be constant.
  [[nodiscard]] const Constant& constant(const Value& value) const { return *std::get<0>(known_.at(&value)); }
  [[nodiscard]] Answer of_source(const Value& value);
  /// Why no initializer stands for the value whatever a caller does, or nothing.
  [[nodiscard]] std::optional<Reason> why_no_source(const Value& value);
  /// The operand from number `next` on whose answer `node` waits for; nullptr when it can be answered.
  [[nodiscard]] const Value* next_unknown(const Node& node, std::size_t& next) const;
  void answer(const Node& node);
  void answer_all(const Node& node, const Known& answer);
  void answer_all(const Node& node, Answer answer);
  /// Of a node with an operand that is no constant: what of it is read may be certain all the same.
  void answer_by_certain(const Node& node, Reason otherwise);
  [[nodiscard]] Answer seen_through(const Node& node);
  /// The operand that a node gets when it reads this much of `value`; nothing when the type is not known.
  [[nodiscard]] std::optional<Tensor> operand(const Value& value, Reads reads);
  void evaluate(const Node& node);

  Options options_;
  std::unordered_map<const Value*, Known> known_;
  std::unordered_map<const Value*, DataType> types_;
  CertainShapes certain_;
  TrainedNames trained_;
};

}  // namespace relayout

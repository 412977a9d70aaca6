#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "model/tensor_data.h"
#include "ops/body.h"
#include "ops/partial_dims.h"
#include "relayout/datum.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// Bytes of the operands and results of one node that the evaluator of constants computes; of one for pass fold-constants.
inline constexpr int64_t kEvaluatedBytes = int64_t{64} << 20, kStoredBytes = int64_t{1} << 20;
/// Bytes of all results that pass fold-constants computes: each stays in memory until it is written.
inline constexpr int64_t kAllStoredBytes = int64_t{64} << 20;
/// Bytes of each result that is computed once, before anything runs.
inline constexpr int64_t kEarlyBytes = int64_t{64} << 20;
/// Contents are followed up to this size where only shapes, axes and bounds matter, not weights.
inline constexpr int64_t kSmallElements = 1024;

/// Elements of the largest tensor whose contents are examined where they may be known in part.
inline constexpr int64_t kMostContents = 64;

/// Bytes of a tensor in memory; nothing when they overflow.
[[nodiscard]] std::optional<int64_t> bytes_in_memory(DataType type, const Dims& dims);

class Constants;
struct Op;

/// Certain facts about the dims of values, and about small contents. They follow from declared inputs of the main graph (those are
/// contracts), constants and operators, never from the declaration of an inner value. Folds change none of them, so answers are remembered
/// by value.
class CertainShapes {
 public:
  /// Dims, −1 for each that is not certain; nothing when the rank is not.
  [[nodiscard]] PartialDims of(const Value& value, Constants& constants);
  [[nodiscard]] std::optional<PartialContents> contents(const Value& value, Constants& constants);
  /// Sets the dims of a value from which none follow: an input of a function.
  void assume(const Value& value, PartialDims dims) { dims_.insert_or_assign(&value, std::move(dims)); }
  /// The body of a call, written from the certain facts about its operands.
  [[nodiscard]] FunctionInstance compose(const Op& op, const Node& call, Constants& constants);
  void forget(const Value& value);
  void clear();

 private:
  enum class Question : bool { dims, contents };
  struct Open {
    const Value* value;
    Question question;
  };
  class Operands;
  void answer(Open first, Constants& constants);
  [[nodiscard]] bool is_answered(const Open& open) const;

  std::unordered_map<const Value*, PartialDims> dims_;
  std::unordered_map<const Value*, std::shared_ptr<const PartialContents>> contents_;  ///< null: nothing, as for most
};

enum class Reads : uint8_t;

/// A constant. Its contents are unread where they need no computation (initializers, Constant nodes, Identity and Transpose of those), else
/// evaluated.
struct Constant {
  DataType type = DataType::undefined;
  Dims dims;
  TensorData data;                     ///< not for strings
  Tensor strings;                      ///< of type string only
  Initializer* initializer = nullptr;  ///< the initializer itself, unless a node is between
  [[nodiscard]] Tensor load() const { return strings ? strings : data.load(); }
};

/// Why a node's results are never evaluated, or nothing.
[[nodiscard]] std::optional<Reason> why_never_evaluated(const Node& node);
/// The constant that an attribute of a Constant of this name gives: `value`, `value_ints` …; nothing for others, and for a sparse one of
/// more bytes than `budget`.
[[nodiscard]] std::optional<Constant> given_constant(const Model& model, std::string_view name, const onnx::AttributeProto& attribute,
                                                     int64_t budget = kEvaluatedBytes);

/// Why a value is no constant.
struct NotConstant {
  Reason reason;
  bool may_be_certain;  ///< some of its contents, nevertheless
  NotConstant(Reason why, bool certain) : reason(why), may_be_certain(certain) {}
};

/// The initializers that a model's training_info writes to.
class TrainedNames {
 public:
  [[nodiscard]] bool contains(const Value& value);

 private:
  std::optional<std::unordered_set<std::string>> names_;  ///< nothing before the first question
};

/// The number that a ConstantOfShape repeats: 0 by default; nothing unless it is real.
[[nodiscard]] std::optional<double> fill_of(const Node& node);

/// Finds constants: initializers (not overridable ones), Constant in every attribute form, sparse initializers, and chains of pure
/// operators over constants, evaluated by the kernels of the op table within a size budget. CastLike, Shape and Size need only type or dims
/// of an operand. A Shape may read only dims that are certain: see constants.h. Answers are remembered by value; a pass that changes
/// the contents of a value calls forget().
class Constants {
 public:
  struct Options {
    int64_t budget = kEvaluatedBytes;  ///< bytes of the operands and results of one evaluated node
  };
  explicit Constants(Options options) : options_(options) {}
  Constants() : Constants(Options{}) {}

  /// The constant, or the reason why it is none: not_constant, overridable, training_info, quantized, too_large.
  [[nodiscard]] std::variant<Constant, Reason> find(const Value& value);
  [[nodiscard]] bool is_constant(const Value& value);
  /// Contents of a small constant (parameters, shapes), or nothing.
  [[nodiscard]] std::optional<Tensor> value(const Value& value);
  /// Element type of a value (of a sequence: of its elements) where it follows from constants, Casts and declared inputs of the graph
  /// (those are contracts) through operators that keep the type; else undefined.
  [[nodiscard]] DataType type_of(const Value& value);
  /// Dims, −1 for each that is not certain; nothing when the rank is not.
  [[nodiscard]] PartialDims dims(const Value& value);
  /// Small contents, where they are certain.
  [[nodiscard]] std::optional<PartialContents> contents(const Value& value) { return certain_.contents(value, *this); }
  /// From now on, this input of a graph within a node has these contents.
  void assume(const Value& input, const Tensor& contents);
  void forget(const Value& value);
  void clear();

 private:
  using Answer = std::variant<Constant, Reason>;
  /// Most values are no constants: their entries are small.
  using Known = std::variant<std::shared_ptr<const Constant>, NotConstant>;
  /// The remembered answer for a value, computed now if there is none yet.
  [[nodiscard]] const Known& look_up(const Value& value);
  /// The constant of an operand that is known to be one.
  [[nodiscard]] const Constant& constant(const Value& value) const { return *std::get<0>(known_.at(&value)); }
  /// Answers for the results of a node, unless it waits for the answer of an operand, from number `next` on, which it returns.
  [[nodiscard]] const Value* answer(const Node& node, std::size_t& next);
  void answer_all(const Node& node, const Known& answer);
  void answer_all(const Node& node, Answer answer);
  /// Answers for a node with an operand that is no constant: its results may be certain nevertheless.
  void answer_by_certain(const Node& node, Reason otherwise);
  [[nodiscard]] Answer seen_through(const Node& node);
  /// The operand of a node that reads this much of `value`; nothing when the type is not known.
  [[nodiscard]] std::optional<Tensor> operand(const Value& value, Reads reads);
  void evaluate(const Node& node);

  Options options_;
  std::unordered_map<const Value*, Known> known_;
  std::unordered_map<const Value*, DataType> types_;
  CertainShapes certain_;
  TrainedNames trained_;
};

}  // namespace relayout

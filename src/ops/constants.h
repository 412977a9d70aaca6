#pragma once

#include <optional>
#include <unordered_map>
#include <variant>

#include "model/tensor_data.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"

namespace relayout {

/// A constant: its contents without having read them, where they can be had so (initializers, Constant nodes, Identity and
/// Transpose of those), else evaluated.
struct Constant {
  DataType type = DataType::undefined;
  Dims dims;
  TensorData data;
  Initializer* initializer = nullptr;  ///< the initializer itself, when no node lies between
  [[nodiscard]] Tensor load() const { return data.load(); }
};

/// Answers what is constant: initializers (not overridable ones), Constant in every attribute form, sparse initializers, and chains of
/// pure ops over constants, evaluated by the kernels of the op table within a size budget. CastLike, Shape and Size need only
/// type or dims of an operand; dims come from constants alone, never from a declared shape.
/// Answers are remembered by value; a pass that changes a graph calls forget().
class Constants {
 public:
  struct Options {
    bool freeze_overridable = false;     ///< --freeze
    int64_t budget = int64_t{64} << 20;  ///< bytes of one evaluated result
  };
  explicit Constants(Options options) : options_(options) {}
  Constants() : Constants(Options{}) {}

  /// The constant, or why not: not_constant, overridable, too_large …
  [[nodiscard]] std::variant<Constant, Reason> find(const Value& value);
  /// Contents of a small constant (parameters, shapes), or nothing.
  [[nodiscard]] std::optional<Tensor> value(const Value& value);
  /// Element type of a value, as far as it follows from initializers, Casts and declared graph inputs (those are contracts), or undefined.
  [[nodiscard]] DataType type_of(const Value& value);
  void forget(const Value& value);
  void clear();

 private:
  Options options_;
  std::unordered_map<const Value*, std::variant<Constant, Reason>> known_;
};

}  // namespace relayout

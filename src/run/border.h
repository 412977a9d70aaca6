#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relayout/graph.h"
#include "relayout/verify.h"

namespace relayout {

/// A value of one model with the value of another one that should be equal.
struct ValuePair {
  const Value* a = nullptr;
  const Value* b = nullptr;
};

/// The values that two models have in common: inputs as verify() matches them, results of nodes also under different names.
class CommonValues {
 public:
  CommonValues(const Graph& a, const Graph& b, const VerifyOptions& options);

  /// The value of the other model; nullptr: it has none, or several.
  [[nodiscard]] const Value* twin_of(const Value& value) const;
  /// Whether no input reaches a value.
  [[nodiscard]] bool is_constant(const Value& value) const { return value.initializer() != nullptr || constants_.contains(&value); }

 private:
  void add(const Value& a, const Value& b);

  std::unordered_map<const Value*, const Value*> twins_;
  std::unordered_set<const Value*> constants_;  ///< of both models, made by nodes
};

/// Where parts of two models that end in one pair of values begin: at the nearest values in common, or further upstream.
class Border {
 public:
  /// Error{unsupported} where a part reaches an input that the other model does not have.
  Border(const CommonValues& common, const ValuePair& ends);

  /// In the order in which the parts read them, inputs of the models first. Constants are none: they are within the parts.
  [[nodiscard]] const std::vector<ValuePair>& pairs() const noexcept { return pairs_; }
  /// Moves it upstream, past every value that a node makes. False: all are inputs of the models.
  [[nodiscard]] bool widen();

 private:
  void find();
  void walk(const Value& end, std::unordered_set<const Value*>& seen);

  const CommonValues* common_;
  ValuePair ends_;
  std::unordered_set<const Value*> downstream_;  ///< of the ends, with these: no part can begin there
  std::unordered_set<const Value*> passed_;
  std::vector<ValuePair> pairs_;
};

}  // namespace relayout

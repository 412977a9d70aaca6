#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
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

/// The folder of inputs and outputs in that of a pair, as in ONNX's backend tests.
inline constexpr const char* kTestData = "test_data_set_0";
/// An input in the folder of a pair.
[[nodiscard]] std::filesystem::path input_file(std::size_t number);

/// Parts of two models, a.onnx and b.onnx of one folder, which have the same inputs, and the values of these.
struct PartPair {
  std::filesystem::path folder;
  std::vector<std::string> names;
  std::vector<Datum> inputs;
};

/// Writes the models of another folder, or of the same, as those of a pair: with the dims that the values of its inputs have. What follows
/// from these is no longer declared, as each model tells its own.
void declare_dims(const std::filesystem::path& from, const PartPair& parts, const LoadOptions& load);

/// How the results of a pair differ: other numbers, a value of another form, or nothing to compare, as b does not run.
struct Manner {
  bool is_compared = false, has_other_structure = false;
  bool operator==(const Manner&) const = default;
};
/// Nothing where they do not.
[[nodiscard]] std::optional<Manner> manner_of(const VerifyResult& result);

/// As verify() runs the pairs of a verification with these options.
[[nodiscard]] ExecuteOptions execution(const VerifyOptions& options);
[[nodiscard]] VerifyResult judged(const PartPair& parts, const VerifyOptions& options);

/// A copy in a folder beside, with the least dims of inputs at which the results still differ in this manner, as far as a few seconds tell;
/// the pair itself where none are less.
[[nodiscard]] PartPair shrunk(PartPair parts, const Manner& manner, const VerifyOptions& options);

}  // namespace relayout

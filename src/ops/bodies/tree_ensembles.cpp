// Writes bodies of tree ensembles: what their trees vote, a base for each class or target, and the transform at the end.

#include "model/node.h"
#include "ops/bodies/bodies.h"
#include "ops/body.h"
#include "relayout/types.h"

namespace relayout::bodies {
namespace {

/// Trees as TreeEnsembleClassifier and TreeEnsembleRegressor list them: nodes by tree and number. Doubles are in attributes of their own.
class NumberedTrees {
 public:
  /// Votes are in attributes that begin with `votes`: "class" or "target".
  NumberedTrees(Body& body, const std::string& votes) : body_(body), votes_(votes) {}

  /// Numbers of attribute `name`, or of its form of doubles; empty: it has none.
  [[nodiscard]] Body::Name numbers(const std::string& name) {
    if (body_.attributes().has(name + "_as_tensor"))
      return body_.make("Constant", {}, {{"value", body_.tensor_attribute(name + "_as_tensor")}});
    const std::vector<float> values = body_.attributes().reals(name);
    return values.empty() ? Body::Name() : body_.reals(values);
  }

  /// The sum (or another aggregate) of votes, [N, targets], of f32.
  Body::Name run(int64_t targets, const std::string& aggregate) {
    Body::NamedAttributes attributes =
        body_.given({"nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values", "nodes_values_as_tensor",
                     "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true"});
    for (const std::string part : {"ids", "nodeids", "treeids"}) {
      attributes.emplace_back("votes_" + part, body_.attributes().integers(votes_ + "_" + part));
    }
    attributes.emplace_back("targets", targets);
    attributes.emplace_back("aggregate", aggregate);
    Body::Name weights = numbers(votes_ + "_weights");
    if (weights.empty()) body_.reject("no " + votes_ + "_weights");
    const bool is_double = body_.attributes().has(votes_ + "_weights_as_tensor");
    const Body::Name base = numbers("base_values");
    Body::Name sums = body_.make_own("NumberedTrees", {features(), weights}, 1, attributes).front();
    if (!base.empty()) sums = body_.make("Add", {sums, is_double == is_double_base() ? base : body_.cast_like(base, sums)});
    return is_double ? body_.cast(sums, DataType::float32) : sums;
  }

  [[nodiscard]] std::size_t base_count() const {
    if (is_double_base()) return static_cast<std::size_t>(body_.tensor_attribute("base_values_as_tensor").dims(0));
    return body_.attributes().reals("base_values").size();
  }

 private:
  [[nodiscard]] bool is_double_base() const { return body_.attributes().has("base_values_as_tensor"); }

  /// Integers are compared as f32, as thresholds are.
  Body::Name features() {
    const Body::Name rows = feature_rows(body_, 0);
    return body_.type(0) == DataType::float64 ? rows : singles(body_, rows, 0);
  }

  Body& body_;
  std::string votes_;
};

bool is_any_negative(const std::vector<float>& values) {
  return std::ranges::any_of(values, [](float value) { return value < 0; });
}

}  // namespace

/// Of two classes, trees may score the second alone, by votes for number 0: these are probabilities unless a weight is negative.
void tree_ensemble_classifier(Body& body) {
  ClassLabels labels(body, "classlabels_int64s");
  NumberedTrees trees(body, "class");
  const std::string how = body.attributes().text("post_transform", "NONE");
  const bool scores_one =
      labels.count() == 2 && std::ranges::all_of(body.attributes().integers("class_ids"), [](int64_t id) { return id == 0; });
  const int64_t targets = scores_one ? 1 : labels.count();
  const std::size_t bases = trees.base_count();
  if (bases != 0 && bases != static_cast<std::size_t>(targets))
    body.refuse(std::to_string(bases) + " base_values for " + std::to_string(targets) + " scores");
  const Body::Name scores = trees.run(targets, "SUM");
  if (!scores_one) {
    body.give(0, labels.of_largest(scores));
    return body.give(1, transformed(body, scores, how));
  }
  if (body.attributes().has("class_weights_as_tensor")) body.refuse("weights in doubles of one score for two classes");
  const bool is_probability = !is_any_negative(body.attributes().reals("class_weights"));
  const Body::Name both = two_columns(body, scores, is_probability, how);
  body.give(0, is_probability && how == "NONE" ? labels.of_largest(both) : labels.of_sign(scores, false));
  body.give(1, both);
}

void tree_ensemble_regressor(Body& body) {
  NumberedTrees trees(body, "target");
  const int64_t targets = body.required("n_targets", 1, INT32_MAX);
  const std::size_t bases = trees.base_count();
  if (bases != 0 && bases != static_cast<std::size_t>(targets))
    body.reject(std::to_string(bases) + " base_values for " + std::to_string(targets) + " targets");
  const Body::Name scores = trees.run(targets, body.attributes().text("aggregate_function", "SUM"));
  body.give(0, regressed(body, scores, targets, body.attributes().text("post_transform", "NONE")));
}

/// Nodes and leaves are in separate lists, and name each other by position.
void tree_ensemble(Body& body) {
  constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  constexpr const char* kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto choice = [&](const char* name, int64_t otherwise, const auto& names) -> const char* {
    const int64_t number = body.attributes().integer(name, otherwise);
    if (number < 0 || number >= std::ssize(names)) body.reject(std::string(name) + " is " + std::to_string(number));
    return names[number];
  };
  const int64_t targets = body.required("n_targets", 1, INT32_MAX);
  Body::NamedAttributes attributes =
      body.given({"tree_roots", "nodes_featureids", "nodes_modes", "nodes_splits", "nodes_truenodeids", "nodes_falsenodeids",
                  "nodes_trueleafs", "nodes_falseleafs", "nodes_missing_value_tracks_true", "membership_values", "leaf_targetids"});
  attributes.emplace_back("targets", targets);
  attributes.emplace_back("aggregate", choice("aggregate_function", 1, kAggregates));
  const Body::Name weights = body.make("Constant", {}, {{"value", body.tensor_attribute("leaf_weights")}});
  const Body::Name x = feature_rows(body, 0);
  const Body::Name scores = body.make_own("PositionedTrees", {x, weights}, 1, attributes).front();
  body.give(0, regressed(body, scores, targets, choice("post_transform", 0, kTransforms)));
}

}  // namespace relayout::bodies

// Walks each row of features through all trees of an ensemble and gathers what their leaves vote.
#include "ops/kernels/classical/tree_ensemble.h"

#include <onnx/onnx_pb.h>

#include <cmath>
#include <tuple>

#include "base/positions.h"
#include "base/threads.h"
#include "model/node.h"
#include "model/origin.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

constexpr TypeSet kFeatureTypes{DataType::float16, DataType::float32, DataType::float64};

/// The comparison of a feature with a node's split; `member` looks for it in a set.
enum class Split : uint8_t { at_most, below, at_least, above, equal, other, member };
constexpr std::array<std::string_view, 6> kSplitNames{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};

enum class Aggregate : uint8_t { average, sum, least, most };

/// A node of a tree. `on_true` and `on_false` are positions of nodes, or below zero −1 − the number of a leaf.
struct TreeNode {
  double split = 0;
  int32_t feature = 0, on_true = 0, on_false = 0;
  int32_t set = -1;  ///< of `member`
  Split kind = Split::at_most;
  bool missing_is_true = false;
};

struct Vote {
  int32_t target;
  double weight;
};

class Trees {
 public:
  std::vector<TreeNode> nodes;
  std::vector<int32_t> roots;             ///< as `on_true`
  std::vector<Vote> votes;                ///< of all leaves, in order
  std::vector<int32_t> first_vote;        ///< of each leaf, and the number of all
  std::vector<std::vector<double>> sets;  ///< sorted
  int32_t targets = 0;
  int64_t features = 0;  ///< fewest columns that its nodes read
  Aggregate aggregate = Aggregate::sum;

  /// Adds the votes for `rows` rows of features into `sums`, a row of targets each.
  void run(const double* x, int64_t columns, int64_t rows, double* sums) const {
    std::fill_n(sums, rows * targets,
                aggregate == Aggregate::least  ? std::numeric_limits<double>::infinity()
                : aggregate == Aggregate::most ? -std::numeric_limits<double>::infinity()
                                               : 0.0);
    for (const int32_t root : roots) {
      for (int64_t row = 0; row < rows; ++row) add(leaf_of(root, x + row * columns), sums + row * targets);
    }
    for (int64_t i = 0; i < rows * targets; ++i) {
      if (aggregate == Aggregate::average) sums[i] /= static_cast<double>(roots.size());
      // A target without votes.
      if (aggregate != Aggregate::sum && std::isinf(sums[i])) sums[i] = 0;
    }
  }

 private:
  [[nodiscard]] std::size_t leaf_of(int32_t at, const double* row) const {
    while (at >= 0) {
      const TreeNode& node = nodes[as_size(at)];
      at = is_true(node, row[node.feature]) ? node.on_true : node.on_false;
    }
    return as_size(-1 - at);
  }

  [[nodiscard]] bool is_true(const TreeNode& node, double x) const {
    if (std::isnan(x)) return node.missing_is_true;
    switch (node.kind) {
      case Split::at_most:
        return x <= node.split;
      case Split::below:
        return x < node.split;
      case Split::at_least:
        return x >= node.split;
      case Split::above:
        return x > node.split;
      case Split::equal:
        return x == node.split;
      case Split::other:
        return x != node.split;
      case Split::member:
        break;
    }
    return std::ranges::binary_search(sets[as_size(node.set)], x);
  }

  void add(std::size_t leaf, double* sums) const {
    for (int32_t i = first_vote[leaf]; i < first_vote[leaf + 1]; ++i) {
      const Vote& vote = votes[as_size(i)];
      double& sum = sums[vote.target];
      if (aggregate == Aggregate::least) {
        sum = std::min(sum, vote.weight);
      } else if (aggregate == Aggregate::most) {
        sum = std::max(sum, vote.weight);
      } else {
        sum += vote.weight;
      }
    }
  }
};

/// Reads the attributes of a node into trees, and rejects those that lead nowhere.
class TreeReader {
 public:
  TreeReader(const OpCall& call, std::vector<double> weights, int64_t targets) : call_(call), weights_(std::move(weights)) {
    trees_.targets = static_cast<int32_t>(targets);
  }

  /// Nodes by tree and number; leaves are nodes, of any number of votes, which attributes named `votes`… list.
  Trees read_numbered(const std::string& votes) {
    const auto tree = integers("nodes_treeids"), number = integers("nodes_nodeids", tree.size());
    const auto feature = integers("nodes_featureids", tree.size()), on_true = integers("nodes_truenodeids", tree.size()),
               on_false = integers("nodes_falsenodeids", tree.size());
    const auto modes = call_.attributes.texts("nodes_modes");
    const auto splits = call_.attributes.has("nodes_values_as_tensor") ? tensor("nodes_values_as_tensor") : singles("nodes_values");
    const auto missing = optional_flags(tree.size());
    if (tree.empty() || modes.size() != tree.size() || splits.size() != tree.size()) reject(call_, "attributes nodes_* differ in length");
    places_.reserve(tree.size());
    for (std::size_t i = 0; i < tree.size(); ++i) places_.emplace_back(tree[i], number[i], static_cast<int32_t>(i));
    std::ranges::sort(places_);
    const auto is_same_node = [](const Place& a, const Place& b) {
      return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
    };
    if (std::ranges::adjacent_find(places_, is_same_node) != places_.end()) reject(call_, "two nodes of a tree have one number");

    std::vector<int32_t> leaf_of_node(tree.size(), -1);
    int32_t leaves = 0;
    for (std::size_t i = 0; i < tree.size(); ++i) {
      if (modes[i] == "LEAF") leaf_of_node[i] = leaves++;
    }
    const auto target = [&](int64_t of_tree, int64_t id) {
      const auto at = as_size(place_of(of_tree, id));
      return leaf_of_node[at] >= 0 ? -1 - leaf_of_node[at] : static_cast<int32_t>(at);
    };
    trees_.nodes.resize(tree.size());
    for (std::size_t i = 0; i < tree.size(); ++i) {
      if (leaf_of_node[i] >= 0) continue;
      const auto* const kind = std::ranges::find(kSplitNames, modes[i]);
      if (kind == kSplitNames.end()) reject(call_, "a node has mode '" + modes[i] + "'");
      trees_.nodes[i] = {splits[i],
                         checked_feature(feature[i]),
                         target(tree[i], on_true[i]),
                         target(tree[i], on_false[i]),
                         -1,
                         static_cast<Split>(kind - kSplitNames.begin()),
                         missing[i] != 0};
    }
    for_each_root(tree, [&](std::size_t i) { trees_.roots.push_back(target(tree[i], number[i])); });
    read_votes(votes, leaf_of_node, leaves);
    return finish();
  }

  /// Nodes and leaves in separate lists, by position; a leaf has one vote.
  Trees read_positioned() {
    const auto modes = integer_tensor("nodes_modes");
    const std::size_t count = modes.size();
    const auto feature = integers("nodes_featureids", count), on_true = integers("nodes_truenodeids", count),
               on_false = integers("nodes_falsenodeids", count), true_is_leaf = integers("nodes_trueleafs", count),
               false_is_leaf = integers("nodes_falseleafs", count), leaf_target = integers("leaf_targetids", weights_.size());
    const auto splits = tensor("nodes_splits");
    const auto missing = optional_flags(count);
    if (splits.size() != count) reject(call_, "attributes nodes_* differ in length");
    read_sets();
    std::size_t next_set = 0;
    const auto place = [&](int64_t position, int64_t is_leaf) {
      const auto limit = static_cast<int64_t>(is_leaf != 0 ? weights_.size() : count);
      if (position < 0 || position >= limit)
        reject(call_, "a branch leads to number " + std::to_string(position) + " of " + std::to_string(limit));
      return static_cast<int32_t>(is_leaf != 0 ? -1 - position : position);
    };
    for (std::size_t i = 0; i < count; ++i) {
      if (modes[i] < 0 || modes[i] > static_cast<int64_t>(Split::member)) reject(call_, "a node has mode " + std::to_string(modes[i]));
      TreeNode& node =
          trees_.nodes.emplace_back(TreeNode{splits[i], checked_feature(feature[i]), place(on_true[i], true_is_leaf[i]),
                                             place(on_false[i], false_is_leaf[i]), -1, static_cast<Split>(modes[i]), missing[i] != 0});
      if (node.kind != Split::member) continue;
      if (next_set == trees_.sets.size()) reject(call_, "membership_values has fewer sets than nodes test");
      node.set = static_cast<int32_t>(next_set++);
    }
    for (const int64_t root : integers("tree_roots")) trees_.roots.push_back(place(root, 0));
    for (std::size_t i = 0; i < weights_.size(); ++i) add_vote(leaf_target[i], weights_[i]);
    for (std::size_t i = 0; i <= weights_.size(); ++i) trees_.first_vote.push_back(static_cast<int32_t>(i));
    return finish();
  }

 private:
  using Place = std::tuple<int64_t, int64_t, int32_t>;  ///< tree, number, position

  [[nodiscard]] std::vector<int64_t> integers(const std::string& name) const { return call_.attributes.integers(name); }
  [[nodiscard]] std::vector<int64_t> integers(const std::string& name, std::size_t wanted) const {
    std::vector<int64_t> out = integers(name);
    if (out.size() != wanted)
      reject(call_, name + " has " + std::to_string(out.size()) + " elements, wanted are " + std::to_string(wanted));
    return out;
  }
  std::vector<double> singles(const char* name) const {
    const std::vector<float> values = call_.attributes.reals(name);
    return {values.begin(), values.end()};
  }
  [[nodiscard]] Tensor loaded(const char* name) const {
    const onnx::TensorProto* const tensor = call_.attributes.tensor(name);
    if (tensor == nullptr) reject(call_, "no " + std::string(name));
    return load_tensor(call_.node.graph().model(), *tensor);
  }
  std::vector<double> tensor(const char* name) const { return reals_of(loaded(name)); }
  std::vector<int64_t> integer_tensor(const char* name) const { return integers_of(call_, loaded(name)); }
  std::vector<int64_t> optional_flags(std::size_t count) const {
    constexpr const char* kName = "nodes_missing_value_tracks_true";
    return integers(kName).empty() ? std::vector<int64_t>(count) : integers(kName, count);
  }

  [[nodiscard]] int32_t place_of(int64_t tree, int64_t number) const {
    const auto found = std::ranges::lower_bound(places_, Place{tree, number, 0});
    if (found == places_.end() || std::get<0>(*found) != tree || std::get<1>(*found) != number) {
      reject(call_, "tree " + std::to_string(tree) + " has no node " + std::to_string(number));
    }
    return std::get<2>(*found);
  }

  int32_t checked_feature(int64_t feature) {
    if (feature < 0 || feature > std::numeric_limits<int32_t>::max() - 1) reject(call_, "a node reads feature " + std::to_string(feature));
    trees_.features = std::max(trees_.features, feature + 1);
    return static_cast<int32_t>(feature);
  }

  void add_vote(int64_t target, double weight) {
    if (target < 0 || target >= trees_.targets)
      reject(call_, "a vote is for number " + std::to_string(target) + " of " + std::to_string(trees_.targets));
    trees_.votes.push_back({static_cast<int32_t>(target), weight});
  }

  /// The first node of each tree is its root.
  template <class Visit>
  void for_each_root(const std::vector<int64_t>& tree, const Visit& visit) const {
    std::vector<std::pair<int64_t, std::size_t>> first;
    for (std::size_t i = 0; i < tree.size(); ++i) {
      if (i == 0 || tree[i] != tree[i - 1]) first.emplace_back(tree[i], i);
    }
    std::ranges::sort(first);
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (k == 0 || first[k].first != first[k - 1].first) visit(first[k].second);
    }
  }

  void read_votes(const std::string& votes, const std::vector<int32_t>& leaf_of_node, int32_t leaves) {
    const auto tree = integers(votes + "_treeids"), number = integers(votes + "_nodeids", tree.size()),
               target = integers(votes + "_ids", tree.size());
    if (weights_.size() != tree.size()) reject(call_, "votes and their weights differ in number");
    std::vector<std::pair<int32_t, std::size_t>> order;  // leaf, vote
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const int32_t leaf = leaf_of_node[as_size(place_of(tree[i], number[i]))];
      if (leaf >= 0) order.emplace_back(leaf, i);
    }
    std::ranges::sort(order);
    trees_.first_vote.assign(as_size(leaves) + 1, 0);
    for (const auto& [leaf, vote] : order) {
      add_vote(target[vote], weights_[vote]);
      ++trees_.first_vote[as_size(leaf) + 1];
    }
    for (std::size_t i = 1; i < trees_.first_vote.size(); ++i) trees_.first_vote[i] += trees_.first_vote[i - 1];
  }

  /// Sets in the order of the nodes that test them, each ended by NaN.
  void read_sets() {
    if (call_.attributes.tensor("membership_values") == nullptr) return;
    std::vector<double> members;
    for (const double value : tensor("membership_values")) {
      if (!std::isnan(value)) {
        members.push_back(value);
        continue;
      }
      std::ranges::sort(members);
      trees_.sets.push_back(std::exchange(members, {}));
    }
  }

  Trees finish() {
    if (trees_.roots.empty()) reject(call_, "no trees");
    std::vector<uint8_t> state(trees_.nodes.size(), 0);  // 1: its branches are being walked, 2: they end
    std::vector<int32_t> path;
    for (const int32_t root : trees_.roots) {
      if (root >= 0) path.push_back(root);
      while (!path.empty()) {
        const auto at = as_size(path.back());
        if (state[at] != 0) {
          state[at] = 2;
          path.pop_back();
          continue;
        }
        state[at] = 1;
        for (const int32_t next : {trees_.nodes[at].on_true, trees_.nodes[at].on_false}) {
          if (next < 0 || state[as_size(next)] == 2) continue;
          if (state[as_size(next)] == 1) reject(call_, "a tree leads back to a node");
          path.push_back(next);
        }
      }
    }
    return std::move(trees_);
  }

  const OpCall& call_;
  std::vector<double> weights_;
  std::vector<Place> places_;  ///< sorted
  Trees trees_;
};

Aggregate aggregate_of(const OpCall& call) {
  const std::string name = call.attributes.text("aggregate", "SUM");
  constexpr std::array<std::string_view, 4> kNames{"AVERAGE", "SUM", "MIN", "MAX"};
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) reject(call, "aggregate_function is '" + name + "'");
  return static_cast<Aggregate>(found - kNames.begin());
}

int64_t target_count(const OpCall& call) {
  return call.attributes.integer("targets", 1);
}

void run_trees(const OpCall& call, Trees trees, InputData inputs, OutputData outputs) {
  trees.aggregate = aggregate_of(call);
  const Tensor x = contiguous(tensor_at(inputs, 0));
  const int64_t rows = x.dims()[0], columns = x.dims()[1];
  if (columns < trees.features) {
    reject(call, "a node reads feature " + std::to_string(trees.features - 1) + " of " + std::to_string(columns));
  }
  const DenseOutput target(outputs[0]->tensor);
  const Tensor& out = target.tensor();
  constexpr int64_t kBlock = 64;  // rows that one tree serves in turn
  parallel_for((rows + kBlock - 1) / kBlock, call.threads, [&](int64_t block) {
    const int64_t first = block * kBlock, count = std::min(kBlock, rows - first);
    std::vector<double> features(as_size(count * columns)), sums(as_size(count * trees.targets));
    load(x.type(), x.bytes() + first * columns * element_stride(x.type()), 1, count * columns, features.data());
    trees.run(features.data(), columns, count, sums.data());
    store(out.type(), out.bytes() + first * trees.targets * element_stride(out.type()), 1, count * trees.targets, sums.data());
  });
  target.finish();
}

}  // namespace

Inferred infer_trees(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& x = tensor_info(call, inputs, 0, kFeatureTypes);
  const DatumInfo& weights = tensor_info(call, inputs, 1, kFeatureTypes);
  if (x.dims.size() != 2) reject(call, "features have dims " + to_string(x.dims));
  return one(call, weights.type, {x.dims[0], target_count(call)});
}

void numbered_trees(const OpCall& call, InputData inputs, OutputData outputs) {
  run_trees(call, TreeReader(call, reals_of(tensor_at(inputs, 1)), target_count(call)).read_numbered("votes"), inputs, outputs);
}

void positioned_trees(const OpCall& call, InputData inputs, OutputData outputs) {
  run_trees(call, TreeReader(call, reals_of(tensor_at(inputs, 1)), target_count(call)).read_positioned(), inputs, outputs);
}

namespace {

/// Writes trees from their roots on, so that positions and numbers of nodes do not matter.
class TreeText {
 public:
  explicit TreeText(const Trees& trees) : trees_(trees) {}

  std::string of(int32_t root) {
    std::vector<int32_t> pending{root};
    while (!pending.empty()) {
      const int32_t at = pending.back();
      pending.pop_back();
      if (at < 0) {
        put_votes(as_size(-1 - at));
        continue;
      }
      const TreeNode& node = trees_.nodes[as_size(at)];
      // Of opposite comparisons one is written, with its branches exchanged.
      const bool is_opposite = node.kind == Split::above || node.kind == Split::at_least || node.kind == Split::other;
      const Split kind = node.kind == Split::above      ? Split::at_most
                         : node.kind == Split::at_least ? Split::below
                         : node.kind == Split::other    ? Split::equal
                                                        : node.kind;
      put(kind);
      put(node.feature);
      put(node.missing_is_true != is_opposite);
      if (kind == Split::member) {
        for (const double member : trees_.sets[as_size(node.set)]) put(member);
      } else {
        put(node.split);
      }
      pending.push_back(is_opposite ? node.on_true : node.on_false);
      pending.push_back(is_opposite ? node.on_false : node.on_true);
    }
    return std::move(out_);
  }

 private:
  template <class T>
  void put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  void put_votes(std::size_t leaf) {
    std::vector<std::pair<int32_t, double>> votes;
    for (int32_t i = trees_.first_vote[leaf]; i < trees_.first_vote[leaf + 1]; ++i) {
      votes.emplace_back(trees_.votes[as_size(i)].target, trees_.votes[as_size(i)].weight);
    }
    std::ranges::sort(votes);
    put('L');
    put(votes.size());
    for (const auto& [target, weight] : votes) {
      put(target);
      put(weight);
    }
  }

  const Trees& trees_;
  std::string out_;
};

std::vector<double> numbers_in(const OpCall& call, const std::string& list, const std::string& tensor) {
  const onnx::TensorProto* const given = call.attributes.tensor(tensor);
  if (given != nullptr && given->data_type() == onnx::TensorProto_DataType_STRING) return {};
  if (given != nullptr) return reals_of(load_tensor(call.node.graph().model(), *given));
  const std::vector<float> values = list.empty() ? std::vector<float>() : call.attributes.reals(list);
  return {values.begin(), values.end()};
}

std::optional<Trees> trees_of(const Node& node) {
  if (node.domain() != kMlDomain) return std::nullopt;
  const OpCall call(node, node.opset());
  constexpr int64_t kAnyTarget = std::numeric_limits<int32_t>::max();
  try {
    if (node.op_type() == "TreeEnsemble") return TreeReader(call, numbers_in(call, "", "leaf_weights"), kAnyTarget).read_positioned();
    const bool classifies = node.op_type() == "TreeEnsembleClassifier";
    if (!classifies && node.op_type() != "TreeEnsembleRegressor") return std::nullopt;
    const std::string votes = classifies ? "class" : "target";
    return TreeReader(call, numbers_in(call, votes + "_weights", votes + "_weights_as_tensor"), kAnyTarget).read_numbered(votes);
  } catch (const Error&) {  // trees that do not run
    return std::nullopt;
  }
}

}  // namespace

}  // namespace relayout::kernels

namespace relayout {

std::optional<std::vector<std::string>> listed_trees(const Node& node) {
  const auto trees = kernels::trees_of(node);
  if (!trees) return std::nullopt;
  std::vector<std::string> out;
  for (const int32_t root : trees->roots) out.push_back(kernels::TreeText(*trees).of(root));
  std::ranges::sort(out);
  return out;
}

bool lists_trees(std::string_view attribute) {
  return attribute.starts_with("nodes_") || attribute.starts_with("class_") || attribute.starts_with("target_") ||
         attribute.starts_with("leaf_") || attribute == "tree_roots" || attribute == "membership_values";
}

std::vector<double> compared_numbers(const Node& node) {
  if (node.domain() != kMlDomain) return {};
  std::vector<double> out;
  if (const auto trees = kernels::trees_of(node)) {
    for (const kernels::TreeNode& each : trees->nodes) out.push_back(each.split);
    for (const auto& set : trees->sets) out.insert(out.end(), set.begin(), set.end());
  }
  const OpCall call(node, node.opset());
  if (call.attributes.has_reference()) return out;
  const std::string& op = node.op_type();
  const auto add = [&](const auto& numbers) { out.insert(out.end(), numbers.begin(), numbers.end()); };
  if (op == "Binarizer") out.push_back(static_cast<double>(call.attributes.real("threshold", 0)));
  if (op == "Imputer") {
    out.push_back(static_cast<double>(call.attributes.real("replaced_value_float", 0)));
    out.push_back(static_cast<double>(call.attributes.integer("replaced_value_int64", 0)));
  }
  if (op == "OneHotEncoder" || op == "CategoryMapper") add(call.attributes.integers("cats_int64s"));
  if (op == "LabelEncoder") {
    add(call.attributes.integers("keys_int64s"));
    add(kernels::numbers_in(call, "keys_floats", "keys_tensor"));
    for (std::size_t i = 0; i < call.attributes.texts("classes_strings").size(); ++i) out.push_back(static_cast<double>(i));
  }
  std::erase_if(out, [](double number) { return !std::isfinite(number); });
  return out;
}

}  // namespace relayout

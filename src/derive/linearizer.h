// Declares the two walks over a graph: along it with tangents, and back with cotangents.

#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "derive/sizes.h"
#include "derive/writer.h"
#include "relayout/graph.h"

namespace onnx {
class TypeProto;
}

namespace relayout::derive {

/// Writes the tangents of values behind the nodes that make them: linear nodes, of the given tangents.
class Linearizer {
 public:
  /// `joins`: two products become one where that is faster, which no Transposer then can read.
  Linearizer(Graph& graph, Sizes& sizes, bool joins = false) : graph_(graph), sizes_(sizes), w_(graph), joins_(joins) {}
  /// The tangent of an input, an initializer or an inner value; that of an inner value is added to what its node passes on.
  void seed(const Value& value, Name tangent) { seeds_[&value] = std::move(tangent); }
  /// Writes the tangents that these values have. Error{unsupported} names all nodes that have no row.
  void run(const std::vector<const Value*>& wanted);
  /// "": zero.
  [[nodiscard]] Name tangent(const Value& value) const;
  /// For each tangent that a node makes, the value whose tangent it is, and whose dims it has.
  using Origins = std::unordered_map<const Value*, const Value*>;
  [[nodiscard]] Origins origins() const;

 private:
  enum class Reached { nothing, numbers, integers };
  [[nodiscard]] Reached reached(const Node& node) const;
  void visit(Node& node);
  void linearize(Node& node);
  void give_outputs(const std::unordered_set<const Node*>& needed);
  [[nodiscard]] bool is_seeded(const Node& node) const;

  Graph& graph_;
  Sizes& sizes_;
  Writer w_;
  bool joins_;
  std::unordered_map<const Value*, Name> seeds_, tangents_;
  std::unordered_set<const Value*> integers_;  ///< whole numbers that were computed from values with tangents
  std::vector<std::string> refusals_;
};

/// Writes at the end of a graph the cotangents of values from which linear nodes lead to others.
class Transposer {
 public:
  /// The linear nodes depend on inputs, each with the dims of a value that `before` knows.
  Transposer(Graph& graph, const Sizes::Like& sources, const Linearizer::Origins& origins, Sizes& before);
  void seed(const Value& value, const Name& cotangent) { accumulate(value, cotangent); }
  void run();
  /// "": zero.
  [[nodiscard]] Name cotangent(const Value& value) const;
  [[nodiscard]] Writer& writer() noexcept { return w_; }
  [[nodiscard]] Sizes& sizes() noexcept { return sizes_; }
  [[nodiscard]] bool is_linear(const Value& value) const { return linear_.contains(&value); }
  /// Removes the linear nodes, which nothing reads any more.
  void erase_linear();

 private:
  void accumulate(const Value& value, const Name& cotangent);

  Graph& graph_;
  Sizes sizes_;
  Writer w_;
  std::unordered_set<const Value*> linear_;
  std::vector<Node*> nodes_;
  std::unordered_map<const Value*, Name> cotangents_;
};

/// Raises a model's opset of the default domain to `least`, where each node can be written so that it means the same.
void raise_opset(Model& model, int64_t least);
/// Replaces calls of the model's functions by their nodes; and operators of other domains that are compositions of standard ones.
void enter_calls(Model& model, bool enters_compositions = true);
/// Replaces nodes without a derivative of their own that lie between these values: functions of standard operators by their nodes, and
/// recurrent operators of a constant length by those of all steps. Error{unsupported}: a recurrent operator of another form.
void open_nodes(Graph& graph, const std::vector<const Value*>& wrt, const std::vector<const Value*>& of);
/// Moves constants out of the graphs that a node runs, so that others share them.
void share_constants(Node& node);
/// A new input of the main graph. The name must be free.
Value& add_graph_input(Model& model, const std::string& name, const onnx::TypeProto& type);

}  // namespace relayout::derive

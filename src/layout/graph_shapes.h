#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "layout/layout_graph.h"
#include "ops/constants.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/layout.h"

namespace relayout::layout {

/// Types and dims of a graph's values that follow from the inputs, without running anything. Contents are followed where they are small,
/// because shapes are computed from them.
class Shapes {
 public:
  /// Known facts about a value: its info, and its contents where they are small. The contents are not copied.
  struct Known {
    DatumInfo info;
    Datum datum;
    bool has_contents = false, is_constant = false;
    /// Its only element, where that is a boolean and known.
    [[nodiscard]] std::optional<bool> truth() const;
    /// Takes over small contents.
    void keep(const Tensor& contents);
  };
  /// The value of an input of a graph that a node runs.
  struct Given {
    const Value* input = nullptr;
    std::optional<Known> known = {};
    bool is_absent = false;  ///< the call leaves it out
  };
  /// Follows the graphs that a node runs, a function's body or nested ones, to its outputs. Returns nothing where the operator itself is to
  /// infer them.
  using Inside = std::function<std::optional<std::vector<std::optional<Known>>>(const Node& node, Shapes& shapes)>;

  /// `outer`: the Shapes of the graph around a nested one, which must live as long. Without `inside`, the results of nested graphs and
  /// functions are unknown. Inputs that are not `given` have their declared types and dims.
  explicit Shapes(const Graph& graph, const ShapeOptions& options = {}, Shapes* outer = nullptr, Inside inside = {},
                  const std::vector<Given>& given = {});

  /// Facts about a tensor, sequence or optional; nullptr when nothing is known.
  [[nodiscard]] const DatumInfo* find(const Value& value);
  /// Dims of a tensor; nullptr when they are not known.
  [[nodiscard]] const Dims* dims_of(const Value* value);
  /// Whether the contents do not depend on any input.
  [[nodiscard]] bool is_constant(const Value& value);
  /// Contents of a small integer constant.
  [[nodiscard]] std::optional<std::vector<int64_t>> integers(const Value& value);
  /// All known facts about a value.
  [[nodiscard]] std::optional<Known> known(const Value& value);
  /// Free dims and their assumed sizes: "N = 1".
  [[nodiscard]] const std::vector<std::string>& assumed() const noexcept { return assumed_; }
  /// The mismatch at the first node whose operands do not fit it; empty where all do.
  [[nodiscard]] const std::string& misfit() const noexcept { return misfit_; }
  /// The node of misfit(); nullptr: none.
  [[nodiscard]] const Node* misfit_node() const noexcept { return misfit_node_; }

 private:
  void add_input(const Value& value, const ShapeOptions& options);
  void adopt(const Value& value, const Known& known);
  Known* look_up(const Value& value);
  void infer(const Node& node);
  void compute(const Op& op, const OpCall& call, const std::vector<const Known*>& operands, const std::vector<DatumInfo>& outputs);

  const Graph* graph_;
  Shapes* outer_;
  Inside inside_;
  Constants constants_;
  std::unordered_map<const Value*, Known> known_;
  std::unordered_set<const Value*> absent_;  ///< inputs of a function that the call leaves out
  std::map<std::string, int64_t> image_sizes_;
  std::vector<std::string> assumed_;
  std::string misfit_;
  const Node* misfit_node_ = nullptr;
};

/// Calls `visit` for each graph nested in `node`, with the Shapes inside it: the given sizes, and those of operands that Loop and Scan pass
/// in. `shapes` are those of the node's graph.
void for_each_nested_shapes(const Node& node, Shapes& shapes, const ShapeOptions& given,
                            const std::function<void(Graph& nested, Shapes& inside)>& visit);

/// The graph for a layout plan: the nodes that the graph's outputs depend on, without those whose results are constant.
[[nodiscard]] LayoutGraph layout_graph(const Graph& graph, Shapes& shapes);

}  // namespace relayout::layout

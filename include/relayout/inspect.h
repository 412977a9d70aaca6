#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relayout/findings.h"
#include "relayout/layout.h"
#include "relayout/model.h"

namespace relayout {

struct PortSummary {
  std::string name, type;                 ///< type as printed: "f32", "seq(f32)"
  std::string shape;                      ///< "[N, 3, 224, 224]"; empty when none is declared
  Dims dims = {};                         ///< dims of a declared shape; -1 where free
  std::vector<std::string> symbols = {};  ///< one per dim, "" where fixed or nameless
};

struct ConvolutionSummary {
  std::string node, op_type;
  Dims weight_dims;  ///< logical [O, I/g, k…]; empty when not known
  int64_t groups = 1;
  std::string layout;      ///< of the weight: contiguous, channels-last, both, other, computed
  std::string batch_norm;  ///< the BatchNormalization that reads its result: "folds", or the code of the reason; empty if there is none
};

/// A node of the main graph. Work inside of it, in graphs and functions that it runs, is its own.
struct NodeSummary {
  std::string node, op_type;
  std::string dims;                     ///< of its first result: "[1, 64, 112, 112]"; empty when not known
  std::optional<int64_t> macs;          ///< multiply-accumulates of one run, as in InspectResult::macs; nothing when not known
  int64_t parameters = 0, bytes = 0;    ///< stored numbers that it is the first to read, and their bytes
  std::optional<int64_t> result_bytes;  ///< of all its results; nothing when not known
};

/// A box of a drawing: a caller's input or output, a node, or consecutive nodes of one scope.
struct GraphBox {
  enum class Kind { input, output, nodes };
  Kind kind = Kind::nodes;
  std::string name;     ///< of the node or scope, as its name in the file begins
  std::string content;  ///< the operator; of several, the most frequent ones with their numbers
  std::string dims;     ///< of the first result that leaves the box; empty when not known
  int64_t nodes = 1, macs = 0, parameters = 0;
};

/// The main graph as boxes in topological order, and which box reads what another one makes. Constants are not drawn.
struct GraphOutline {
  std::vector<GraphBox> boxes;
  std::vector<std::pair<std::size_t, std::size_t>> links;  ///< from box to box, each pair once
  std::size_t depth = 0;           ///< parts of a name that the nodes of a box share; 0: boxes are nodes, or of some nodes in a row
  std::vector<NodeSummary> nodes;  ///< of the main graph, constants among them
};

struct InspectResult {
  std::string path, producer;
  int64_t ir_version = 0, opset = 0, file_bytes = 0;
  /// Stored numbers: elements of initializers and Constant nodes of all graphs and functions, of sparse ones those that are not zero.
  int64_t parameters = 0, parameter_bytes = 0;
  std::map<std::string, int64_t> domains;  ///< versions of other opset imports, by domain
  int64_t nodes = 0, functions = 0;
  /// Multiply-accumulates of convolutions, matrix products and recurrent operators, quantized ones included, where shapes can be inferred.
  /// Those of functions and nested graphs count once per execution.
  std::optional<int64_t> macs;
  bool macs_are_least = false;                      ///< `macs` is a lower bound: some operators that add up products are left out
  std::map<std::string, int64_t> ops_without_macs;  ///< number of operators that add up products but are not in `macs`, by type
  std::vector<std::string> assumed;          ///< assumptions of `macs`: sizes of free dims ("N = 1"), branches, numbers of iterations
  std::optional<std::string> misfit;         ///< the first node with dims that do not fit
  std::map<std::string, int64_t> op_counts;  ///< by operator, subgraphs and functions included
  std::vector<PortSummary> inputs, outputs;
  std::vector<ConvolutionSummary> convolutions;
  std::vector<NodeSummary> node_list;             ///< if requested
  std::optional<GraphOutline> outline;            ///< if requested
  Findings findings;                              ///< findings of convert's matchers: the changes that it would make or refuse
  std::map<std::string, int64_t> repeated_names;  ///< names that several nodes have, with their number
  std::vector<std::string> unknown_ops;           ///< "domain:Op" of operators that would be left unchanged, sorted
  std::optional<LayoutReport> layout;             ///< layout of the main graph, if requested
};

struct InspectOptions {
  LoadOptions load = {};
  ShapeOptions sizes = {};  ///< sizes of free dims; see ShapeOptions for defaults
  std::optional<LayoutRequest> layout = {};
  bool nodes = false;    ///< list the nodes of the main graph
  bool outline = false;  ///< outline the main graph for a drawing
  bool measure = false;  ///< plan by measured times of kernels on this machine instead of default rates
  int threads = 0;       ///< threads for measuring; 0: available_cpus()
};

/// Describes a model, with the findings that convert() would act on. Throws the errors of Model::load(), and Error{usage} for sizes of
/// unknown dims.
[[nodiscard]] InspectResult inspect(const std::filesystem::path& path, const InspectOptions& options = {});

/// A statement about a model: whether it holds, and what is so.
struct Assertion {
  std::string statement, found;
  bool holds = false;
};

/// Tests statements: a count (an operator, `nodes`, `functions`, `inputs`, `outputs`, `parameters`, `macs`), a version (`opset`, `ir`) or
/// `bytes` of the file, then one of = != < <= > >=, then a number, which may end in k, M, G, kB, MB, GB, KiB, MiB or GiB; or `ops in FILE`,
/// where the file lists operators. Error{usage} for other statements, and for an operator that neither ONNX nor the model has.
[[nodiscard]] std::vector<Assertion> check_assertions(const InspectResult& model, const std::vector<std::string>& statements);

}  // namespace relayout

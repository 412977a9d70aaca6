#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/layout.h"

namespace relayout {

enum class Mode {
  as_written,  ///< each node one step, contiguous activations, no fusion
  optimized,   ///< layout plan, post-ops, kernel choice
  reference,   ///< relayout's kernels only, plain loops accumulating in double
};
[[nodiscard]] std::string_view to_string(Mode mode) noexcept;

/// A node that cannot run, and the reason.
struct Unsupported {
  std::string node, op_type, domain;
  int64_t opset = 0;
  std::string why;

  /// "com.acme:Foo"
  [[nodiscard]] std::string operator_name() const;
  /// "'n' (com.acme:Foo: no kernel)"
  [[nodiscard]] std::string text() const;
};
/// "cannot run 5 nodes: " and the texts of the first three.
[[nodiscard]] std::string cannot_run_text(const std::vector<Unsupported>& nodes);

/// Values that a run has just computed, and where.
struct Computed {
  const Node* node = nullptr;          ///< whose results they are; null: inputs of `graph`, which begins
  const Graph* graph = nullptr;        ///< the main graph or that of a control-flow node, in which the node is, perhaps by calls
  std::vector<std::string> callers;    ///< as in StepInfo
  std::vector<const Value*> operands;  ///< of the node, null where absent; the input of a function is the value that the call gives
  std::vector<const Value*> values;    ///< one per result, null where absent; the output of a call is that of its function
  const std::vector<Datum>& data;      ///< one per result; no tensor where a result is absent or not computed
};

struct ExecuteOptions {
  Mode mode = Mode::optimized;
  int threads = 0;                                ///< 0: available_cpus()
  LayoutChoice layout = LayoutChoice::automatic;  ///< of the optimized mode's layout plan
  uint64_t seed = 1;                              ///< seed of Random* nodes without a seed attribute
  /// Prefer short planning time and little memory over execution speed: leave out optimizations that pay off only after many runs.
  bool few_runs = false;
  /// Read a large weight from its file when a node of the main graph needs it, and drop it after the last that does: memory for the largest
  /// weights alone, at the price of reading them in each run.
  bool weights_late = false;
  /// Edits the contents of initializers and Constants at load (noise floor). Called once per tensor with the name of its value.
  std::function<void(const std::string& name, Tensor& tensor)> edit_constant;
  /// Called after each node with its outputs (for debugging and localization); slows execution.
  std::function<void(const Node& node, const std::vector<Datum>& outputs)> observe;
  /// As `observe`, but also called for results that are constants, for graphs of control-flow nodes that begin, and not for nodes that
  /// stand in place of one of the file.
  std::function<void(const Computed& computed)> watch;
  /// Whether a node need not run because `observe` writes its outputs. `observe` then gets outputs of the right dims with unspecified
  /// contents, and writes those that other nodes read. This is a hint: the node may run nevertheless. Nodes of nested graphs are asked for
  /// too, those of functions only by the node that calls them.
  std::function<bool(const Node& node)> leave_out;
  [[nodiscard]] bool is_watched() const noexcept { return observe || watch; }
};

using Inputs = std::map<std::string, Datum>;
using Outputs = std::vector<Datum>;  ///< in the order of the graph's outputs

enum class StepKind : uint8_t {
  node,     ///< computes a node or a fused group of nodes
  view,     ///< gives its input other strides: nothing runs
  reorder,  ///< copies an activation into another layout
  pack,     ///< copies an activation densely in the same layout
  inside,   ///< copies an operand or result of a node whose kernel uses a different layout
};
[[nodiscard]] std::string_view to_string(StepKind kind) noexcept;

/// One step of a plan, for reports.
struct StepInfo {
  std::string node;                    ///< name or output name of the (first) node; name of the value where a graph output is copied
  std::string op_type;                 ///< "Conv + BatchNormalization + Relu"
  std::vector<std::string> absorbed;   ///< the other nodes of the group by full name, named as `node` is: "call › node" in a function
  std::vector<std::string> operators;  ///< the operator of `node`, then of each of `absorbed`; none where a graph output is copied
  std::vector<std::string> callers;    ///< nodes whose function or nested graph `node` is in, the outermost first
  StepKind kind = StepKind::node;
  std::string implementation;  ///< oneDNN's name, or "own", "view", "copy"
  std::string layout;          ///< of the first output: "contiguous", "channels-last", "strided"
  int64_t output_bytes = 0;
  int64_t bytes = 0;       ///< size of all operands as stored, each counted once
  int64_t macs = 0;        ///< multiply-accumulates
  int64_t live_bytes = 0;  ///< bytes of activations alive in the arena while the step runs
  int threads = 1;
  Dims dims;
  std::vector<Dims> inputs;  ///< dims of the tensors that `node` reads, constants included
};

/// A step of the graph inside an If, Loop, Scan or SequenceMap.
struct InnerStep {
  StepInfo info;           ///< as of its first run
  std::size_t within = 0;  ///< index into PlanInfo::steps of the step that runs it
};

struct PlanInfo {
  std::vector<StepInfo> steps;
  std::vector<InnerStep> inner;  ///< inner steps that timed runs have executed, in order of first execution
  int64_t arena_bytes = 0, packed_bytes = 0, scratchpad_bytes = 0;
  int64_t reorders = 0, packs = 0;                  ///< executed layout conversions and dense same-layout copies of activations
  int64_t planned_reorders = 0, planned_packs = 0;  ///< as in the layout plan
  int64_t macs = 0;                                 ///< multiply-accumulates of convolutions, Gemm, MatMul
};

/// All calls of an inner step in one run.
struct InnerTime {
  int64_t nanoseconds = 0, calls = 0;
  int64_t bytes = 0, macs = 0;  ///< of all calls
};

/// Begin and end of the steps of one run, in nanoseconds of the steady clock: one entry for each of PlanInfo::steps that is not a view,
/// in the same order. Time between two steps is overhead of the executor.
struct StepTimes {
  std::vector<int64_t> begins, ends;
  std::vector<InnerTime> inner = {};  ///< one per PlanInfo::inner: part of the time of its enclosing step; no two overlap
};

/// Runs one graph. Compiles a plan per set of input shapes and keeps it in a bounded cache. A plan owns primitives, packed weights and
/// arena.
class Executor {
 public:
  /// Throws Error{unsupported} with cannot_run_text().
  Executor(const Graph& graph, ExecuteOptions options);
  ~Executor();
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;

  /// All nodes that no kernel supports; plans nothing for shapes.
  [[nodiscard]] static std::vector<Unsupported> unsupported(const Graph& graph);
  /// Throws Error{invalid} naming the node when operands do not fit, indices are out of range, or an integer is divided by zero.
  /// `times` receives the times of the steps, replacing those of earlier runs.
  [[nodiscard]] Outputs run(const Inputs& inputs, StepTimes* times = nullptr);
  /// The plan of the latest run.
  [[nodiscard]] const PlanInfo& plan_info() const;

 private:
  friend struct ExecutorBuilder;
  struct Impl;
  explicit Executor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Version and instruction set of the linked oneDNN, e.g. {"3.7.2", "AVX-512"}; loads it.
struct LibraryInfo {
  std::string version, isa;
};
[[nodiscard]] LibraryInfo onednn_info();

}  // namespace relayout

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
  reference,   ///< own kernels only, plain loops accumulating in double
};
[[nodiscard]] std::string_view to_string(Mode mode) noexcept;

/// A node that cannot run, and why.
struct Unsupported {
  std::string node, op_type, domain;
  int64_t opset = 0;
  std::string why;
};

struct ExecuteOptions {
  Mode mode = Mode::optimized;
  int threads = 0;                                ///< 0: available_cpus()
  LayoutChoice layout = LayoutChoice::automatic;  ///< of the optimized mode's layout plan
  uint64_t seed = 1;                              ///< of Random* nodes without one
  /// Plans are to be ready soon and take little memory, rather than run fast: nothing that pays only after many runs.
  bool few_runs = false;
  /// Replaces the contents of an initializer or Constant at load (noise floor): called once per tensor with its value's name.
  std::function<void(const std::string& name, Tensor& tensor)> edit_constant;
  /// Called after each node with every output as it stands (debug, localization); slows down.
  std::function<void(const Node& node, const std::vector<Datum>& outputs)> observe;
  /// Nodes that need not run, as `observe` writes the values of those that others read: it is shown memory of their outputs' dims with
  /// contents that are not specified. A hint: such a node may run all the same.
  std::function<bool(const Node& node)> leave_out;
};

using Inputs = std::map<std::string, Datum>;
using Outputs = std::vector<Datum>;  ///< in the order of the graph's outputs

enum class StepKind : uint8_t {
  node,     ///< computes what a node or a fused group of them makes
  view,     ///< strides over its input: nothing runs
  reorder,  ///< brings an activation into another layout
  pack,     ///< makes a dense copy in the same layout
  inside,   ///< copies for a node that computes in another layout than its own
};
[[nodiscard]] std::string_view to_string(StepKind kind) noexcept;

/// One step of a plan, for people.
struct StepInfo {
  std::string node;                    ///< name or output name; the first of a fused group; the value's name where a graph output is copied
  std::string op_type;                 ///< "Conv + BatchNormalization + Relu"
  std::vector<std::string> absorbed;   ///< the further nodes of the group by full name, as `node` is named: "call › node" in a function
  std::vector<std::string> operators;  ///< the operator of `node`, then of each of `absorbed`; none where a graph output is copied
  std::vector<std::string> callers;    ///< nodes whose function or nested graph `node` is in, the outermost first
  StepKind kind = StepKind::node;
  std::string implementation;  ///< oneDNN's name, or "own", "view", "copy"
  std::string layout;          ///< of the first output: "contiguous", "channels-last", "strided"
  int64_t output_bytes = 0;
  int64_t bytes = 0;       ///< of all operands as they are stored, each once
  int64_t macs = 0;        ///< multiply-accumulates
  int64_t live_bytes = 0;  ///< of activations in the arena while it runs
  int threads = 1;
  Dims dims;
  std::vector<Dims> inputs;  ///< dims of the tensors that `node` reads, constants included
};

/// A step of a graph within an If, Loop, Scan or SequenceMap.
struct InnerStep {
  StepInfo info;           ///< as it first ran
  std::size_t within = 0;  ///< number of the step of PlanInfo::steps that runs it
};

struct PlanInfo {
  std::vector<StepInfo> steps;
  std::vector<InnerStep> inner;  ///< that runs with times have met, the earliest first
  int64_t arena_bytes = 0, packed_bytes = 0, scratchpad_bytes = 0;
  int64_t reorders = 0, packs = 0;                  ///< layout conversions of activations; dense copies of the same layout: as they are run
  int64_t planned_reorders = 0, planned_packs = 0;  ///< as the layout plan has them
  int64_t macs = 0;                                 ///< multiply-accumulates of convolutions, Gemm, MatMul
};

/// All calls of an inner step in one run.
struct InnerTime {
  int64_t nanoseconds = 0, calls = 0;
  int64_t bytes = 0, macs = 0;  ///< of all of them
};

/// When the steps of one run began and ended, in nanoseconds of the steady clock: an entry for each of PlanInfo::steps that is no view,
/// in the same order. Time between two steps is the executor's own.
struct StepTimes {
  std::vector<int64_t> begins, ends;
  std::vector<InnerTime> inner = {};  ///< of PlanInfo::inner: parts of the steps that they are within, and none of one another
};

/// Runs one graph. Compiles a plan per set of input shapes (bounded cache) and runs it; plans own primitives, packed weights and arena.
class Executor {
 public:
  /// Throws Error{unsupported} listing every node that cannot run.
  Executor(const Graph& graph, ExecuteOptions options);
  ~Executor();
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;

  /// All nodes that no kernel takes, without planning for shapes.
  [[nodiscard]] static std::vector<Unsupported> unsupported(const Graph& graph);
  /// Error{invalid} naming the node when operands do not fit, indices are out of range or an integer is divided by zero.
  /// `times`: where to note the steps; the entries of earlier runs go.
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

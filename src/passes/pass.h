// Declares what a pass is, and the state of one run of passes.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "model/tensor_data.h"
#include "ops/constants.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"

namespace relayout::passes {

/// A refusal: the reason and the obstacle. With verdict not_applicable: the candidate is fine as it is, for this reason.
struct Skip {
  Reason reason;
  std::string detail = {};
  Verdict verdict = Verdict::skipped;
};
/// Not a candidate at all: no finding is written.
struct NotApplicable {};

/// Everything that a rewrite needs, or the reason against it. Matchers only read; applying cannot refuse.
template <class Rewrite>
using Match = std::variant<Rewrite, Skip, NotApplicable>;

/// The node with write access: matchers only read, the code that applies their rewrites writes.
[[nodiscard]] Node& writable(const Node& node);

/// Names of the initializers that quantization annotations refer to, by graph; collected at the first query of a graph.
class AnnotatedNames {
 public:
  [[nodiscard]] bool contains(const Value& value);
  /// To be called after functions are erased: a new graph may be allocated at the address of an old one.
  void clear() { names_.clear(); }

 private:
  std::unordered_map<const Graph*, std::unordered_set<std::string>> names_;
};

struct AffineNode;

/// A weight that a fold has computed, to be shared by equal ones: the same stored bytes, in the same order, with the same factors.
struct WeightCopy {
  TensorData original;
  Scale scale;
  Value* copy;
  std::vector<std::shared_ptr<const Scale>> stored;  ///< scales of the copy's data at that time: the copy has changed when they differ
};

/// A bias that folds have computed, before rounding, so that a chain of folds rounds once.
struct ExactBias {
  const Value* value = nullptr;  ///< stores it; the numbers are void when the operator reads another value
  std::vector<double> values;
};

/// Facts that folds leave for later folds, of the same pass and of the next one.
struct FoldState {
  std::unordered_multimap<uint64_t, WeightCopy> weight_copies;                        ///< by a hash of original and factors
  std::unordered_map<const Node*, ExactBias> exact_biases;                            ///< by linear operator
  std::unordered_map<const Node*, std::shared_ptr<const Match<AffineNode>>> affines;  ///< as read, while no other pass runs
};

/// One run of passes: their options, their results, and cached facts about the model.
struct PassContext {
  PassOptions options;
  /// Folds assume that weights stay in the range of their type where the code that reads the weight can check it: it throws OutOfRange.
  bool assume_ranges = false;
  bool expand_all_calls = false;  ///< of functions, not only those that hide a fold
  Constants constants;
  Findings findings;
  int64_t rewrites = 0;                           ///< done so far, over all passes
  int64_t bytes_of_given_nodes = 0;               ///< before the first pass
  int64_t bytes_stored_instead = 0;               ///< of constants that took the place of nodes
  std::string_view pass;                          ///< running now
  std::unordered_map<const Node*, Skip> skipped;  ///< refusals so far of the running pass
  FoldState folds;
  AnnotatedNames annotated;

  [[nodiscard]] bool may_rewrite() const noexcept { return options.stop_after < 0 || rewrites < options.stop_after; }
};

/// Description of a pass.
struct Pass {
  std::string_view name, summary;
  void (*run)(Graph&, PassContext&);
  bool (*wanted)(const PassOptions&);  ///< whether these options select it, when passes are not picked by name
  bool settles = false;                ///< makes work for the others that do: see run_passes()
  [[nodiscard]] bool on_by_default() const { return wanted(PassOptions()); }
};

/// In running order.
[[nodiscard]] std::span<const Pass> pass_table();
[[nodiscard]] const Pass* find_pass(std::string_view name);
/// Runs passes over the model's graph, its nested graphs and its functions (which each pass visits itself), in the order of the
/// table whatever the order of `passes`. Those that make work for each other run again, in the same order, after the last of them if any
/// has rewritten something, until they rewrite nothing: to convert twice is to convert once. Validates after each pass in debug builds and
/// with RELAYOUT_PASS_DEBUG: 1 checks, 2 prints the model before the pass that broke it, 3 writes a text model per pass into the working
/// folder.
void run_passes(Model& model, std::span<const Pass* const> passes, PassContext& context);

/// The obstacle to one rewrite. Of several, the first in the order of Reason is reported.
class Obstacles {
 public:
  void note(Skip skip) {
    if (!first_ || skip.reason < first_->reason) first_ = std::move(skip);
  }
  void note(Reason reason, std::string detail) { note(Skip{reason, std::move(detail)}); }
  void note(const Obstacles& others) {
    if (others.first_) note(*others.first_);
  }
  [[nodiscard]] bool any() const noexcept { return first_.has_value(); }
  /// any() must hold.
  [[nodiscard]] const Skip& first() const { return *first_; }

 private:
  std::optional<Skip> first_;
};

/// What the nodes of a model take in a file at least, without Constants. (fold_constants.cpp)
[[nodiscard]] int64_t bytes_of_nodes(const Model& model);

/// Whether --only or --exclude leave this node out.
[[nodiscard]] bool is_excluded(const Node& node, const PassOptions& options);
/// Error{usage} when a pattern of --only or --exclude matches no node of the model.
void check_patterns(const Model& model, const PassOptions& options);

// The passes of the pass table, in files of their names; both folds are in fold.cpp, branches and loops in inline_graphs.cpp.
void fold_batch_norm(Graph& graph, PassContext& context);
void fold_affine(Graph& graph, PassContext& context);
void fold_constants(Graph& graph, PassContext& context);
void inline_functions(Graph& graph, PassContext& context);
void inline_branches(Graph& graph, PassContext& context);
void inline_loops(Graph& graph, PassContext& context);
void default_operands(Graph& graph, PassContext& context);
void split_sequences(Graph& graph, PassContext& context);
void reshape_requests(Graph& graph, PassContext& context);
void merge_slices(Graph& graph, PassContext& context);
void merge_pairs(Graph& graph, PassContext& context);
void remove_identity(Graph& graph, PassContext& context);
void remove_unused(Graph& graph, PassContext& context);
void precision(Graph& graph, PassContext& context);
void narrow_integers(Graph& graph, PassContext& context);
void merge_equal(Graph& graph, PassContext& context);
void merge_quotients(Graph& graph, PassContext& context);
void product_bias(Graph& graph, PassContext& context);
void set_dims(Graph& graph, PassContext& context);
void byte_input(Graph& graph, PassContext& context);
void byte_output(Graph& graph, PassContext& context);
void undo_io(Graph& graph, PassContext& context);
void rename(Graph& graph, PassContext& context);
void share_weights(Graph& graph, PassContext& context);
void scramble(Graph& graph, PassContext& context);
void strip(Graph& graph, PassContext& context);
void conv_weights_layout(Graph& graph, PassContext& context);
void export_io(Graph& graph, PassContext& context);
void export_transposes(Graph& graph, PassContext& context);

}  // namespace relayout::passes

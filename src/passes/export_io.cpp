// Gives graph inputs and outputs that hold images the channels-last order, and takes it away again.
//
//     float[N, 3, H, W] x                            float[N, H, W, 3] x
//     y = Conv (x, W)                                x.nchw = Transpose <perm = [0, 3, 1, 2]> (x)
//                                                    y.nchw = Conv (x.nchw, W)
//     float[N, 8, H, W] y                            y = Transpose <perm = [0, 2, 3, 1]> (y.nchw)
//                                                    float[N, H, W, 8] y
//
// Public names stay. The way back recognises Transposes by their names too, so that a model made for images in this order stays as it is.

#include "base/text.h"
#include "layout/axis_order.h"
#include "ops/op.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

constexpr std::string_view kSuffix = ".nchw", kTextSuffix = "__nchw";  ///< the latter in ONNX's syntax, where nodes have no names
constexpr std::size_t kLeastRank = 4, kLeastNamedRank = 3;

/// Values upstream and downstream of convolutions: images.
class Images {
 public:
  explicit Images(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (!traits_of(node).convolution_weight()) continue;
      if (const Value* const x = node.input(0)) add_upstream(*x);
      if (const Value* const y = node.output(0)) add_downstream(*y);
    }
  }
  [[nodiscard]] bool contains(const Value& value) const { return known_.contains(&value); }

 private:
  void add_upstream(const Value& start) {
    std::vector<const Value*> open{&start};
    while (!open.empty()) {
      const Value* const value = open.back();
      open.pop_back();
      if (value == nullptr || !known_.insert(value).second || value->producer() == nullptr) continue;
      open.insert(open.end(), value->producer()->inputs().begin(), value->producer()->inputs().end());
    }
  }
  void add_downstream(const Value& start) {
    std::vector<const Value*> open{&start};
    while (!open.empty()) {
      const Value* const value = open.back();
      open.pop_back();
      if (value == nullptr || !downstream_.insert(value).second) continue;
      known_.insert(value);
      for (const Use& use : value->uses()) open.insert(open.end(), use.node->outputs().begin(), use.node->outputs().end());
    }
  }
  std::unordered_set<const Value*> known_, downstream_;
};

bool is_ours(const Node& node, const Value& inner, const std::string& port) {
  const bool is_unnamed = node.name().empty();
  if (!node.is("Transpose") || inner.is_output() || (!is_unnamed && node.name() != transpose_name(inner.name()))) return false;
  return inner.name().starts_with(port + std::string(is_unnamed ? kTextSuffix : kSuffix));
}

/// The Transpose that this pass inserted for an input; nullptr when there is none.
const Node* input_transpose(const Value& input) {
  if (input.uses().size() != 1) return nullptr;
  const Node& node = *input.uses().front().node;
  const Value* const inner = node.output(0);
  if (&node.graph() != &input.graph() || inner == nullptr || !is_ours(node, *inner, input.name())) return nullptr;
  const std::size_t rank = permutation_rank(node);
  return rank >= kLeastNamedRank && layout::permutation_of(node, rank) == layout::from_channels_last(rank) ? &node : nullptr;
}

const Node* output_transpose(const Value& output) {
  const Node* const node = output.producer();
  const Value* const inner = node != nullptr && node->is("Transpose") ? node->input(0) : nullptr;
  if (inner == nullptr || inner->producer() == nullptr || !is_ours(*node, *inner, output.name())) return nullptr;
  const std::size_t rank = permutation_rank(*node);
  return rank >= kLeastNamedRank && layout::permutation_of(*node, rank) == layout::to_channels_last(rank) ? node : nullptr;
}

/// An input or output of the graph that gets a Transpose, or loses the one that it has.
struct PortRewrite {
  Value* value;
  std::size_t rank;
  const Node* transpose;  ///< nullptr: one is to be inserted
};

class PortMatcher {
 public:
  PortMatcher(const Graph& graph, const PassOptions& options) : graph_(graph), options_(options), images_(graph) {}

  [[nodiscard]] Match<PortRewrite> match_input(Value& input) const {
    const Node* const transpose = input_transpose(input);
    if (undoes()) return undoing(input, transpose);
    if (transpose != nullptr) return Skip{Reason::already_channels_last, "", Verdict::not_applicable};
    return match_port(input);
  }

  [[nodiscard]] Match<PortRewrite> match_output(Value& output) const {
    const Node* const transpose = output_transpose(output);
    if (undoes()) return undoing(output, transpose);
    if (transpose != nullptr) return Skip{Reason::already_channels_last, "", Verdict::not_applicable};
    if (output.producer() == nullptr) return NotApplicable{};
    auto found = match_port(output);
    if (std::holds_alternative<PortRewrite>(found) && is_output_elsewhere(output)) return Skip{Reason::operator_output_captured, {}};
    return found;
  }

 private:
  [[nodiscard]] bool undoes() const { return options_.layout == WeightsLayout::contiguous || options_.undo_io; }

  static Match<PortRewrite> undoing(Value& value, const Node* transpose) {
    if (transpose == nullptr) return NotApplicable{};
    return PortRewrite{&value, permutation_rank(*transpose), transpose};
  }

  /// Only a port that is named, or is an image, gets a refusal.
  [[nodiscard]] Match<PortRewrite> match_port(Value& value) const {
    const auto& names = options_.io_names;
    const bool is_named = std::ranges::find(names, value.name()) != names.end();
    if (!names.empty() && !is_named) return NotApplicable{};
    const auto declared = value.declared();
    if (!declared || !declared->has_shape) {
      if (is_named || images_.contains(value)) return Skip{Reason::rank_unknown, {}};
      return NotApplicable{};
    }
    const std::size_t rank = declared->dims.size();
    if (rank < (is_named ? kLeastNamedRank : kLeastRank) || (!is_named && !images_.contains(value))) {
      if (is_named) return Skip{Reason::not_an_image, to_string(declared->dims)};
      return NotApplicable{};
    }
    if (!layout::is_transposable(declared->type, graph_.opset("")))
      return Skip{Reason::type_not_transposable, std::string(name_of(declared->type))};
    return PortRewrite{&value, rank, nullptr};
  }

  const Graph& graph_;
  const PassOptions& options_;
  Images images_;
};

void apply_to_input(Graph& graph, const PortRewrite& rewrite) {
  Value& input = *rewrite.value;
  if (rewrite.transpose != nullptr) {
    graph.replace_uses(*rewrite.transpose->output(0), input);
    graph.erase(writable(*rewrite.transpose));
    return graph.permute_declared(input, layout::from_channels_last(rewrite.rank));
  }
  const std::string inner = graph.model().unique_name(input.name() + std::string(kSuffix));
  // replace_uses moves the new Transpose's own use too; the next line restores it.
  Node& made = insert_after_source(graph, {input, inner, transpose_name(inner), layout::from_channels_last(rewrite.rank)});
  graph.replace_uses(input, *made.output(0));
  graph.set_input(made, 0, &input);
  graph.permute_declared(input, layout::to_channels_last(rewrite.rank));
}

void apply_to_output(Graph& graph, const PortRewrite& rewrite) {
  Value& output = *rewrite.value;
  if (rewrite.transpose != nullptr) {
    attach_through(graph, writable(*rewrite.transpose));
    return graph.permute_declared(output, layout::from_channels_last(rewrite.rank));
  }
  Value& inner = graph.detach(output, graph.model().unique_name(output.name() + std::string(kSuffix)));
  insert_last(graph, {inner, output.name(), transpose_name(inner.name()), layout::to_channels_last(rewrite.rank)});
  graph.replace_uses(output, inner);
  graph.permute_declared(output, layout::to_channels_last(rewrite.rank));
}

void check_name(const Graph& graph, const std::string& name) {
  const auto is_it = [&](const Value* value) { return value->name() == name && value->initializer() == nullptr; };
  if (std::ranges::any_of(graph.inputs(), is_it) || std::ranges::any_of(graph.outputs(), is_it)) return;
  fail(ErrorKind::usage, "--io: the model has no input or output " + quote(name));
}

}  // namespace

void export_io(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function()) return;
  for (const std::string& name : context.options.io_names) check_name(graph, name);
  const std::vector<Value*> inputs = graph.inputs(), outputs = graph.outputs();
  const PortMatcher matcher(graph, context.options);
  for (Value* const input : inputs) {
    if (input->initializer() != nullptr) continue;
    rewrite_one(
        {"input", input->name()}, context, [&] { return matcher.match_input(*input); },
        [&](const PortRewrite& rewrite) { apply_to_input(graph, rewrite); });
  }
  std::unordered_set<const Value*> done;  // a value may be listed several times
  for (Value* const output : outputs) {
    if (!done.insert(output).second) continue;
    rewrite_one(
        {"output", output->name()}, context, [&] { return matcher.match_output(*output); },
        [&](const PortRewrite& rewrite) { apply_to_output(graph, rewrite); });
  }
}

}  // namespace relayout::passes

// Graph inputs and outputs handed over in channels-last order (--io nhwc), and back:
//
//     float[N, 3, H, W] x                            float[N, H, W, 3] x
//     y = Conv (x, W)                                x.nchw = Transpose <perm = [0, 3, 1, 2]> (x)
//                                                    y.nchw = Conv (x.nchw, W)
//     float[N, 8, H, W] y                            y = Transpose <perm = [0, 2, 3, 1]> (y.nchw)
//                                                    float[N, H, W, 8] y
//
// Public names stay. Back is recognised by the names too: a model that came with images in this order is somebody else's.

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "layout/permutation.h"
#include "passes/cleanup.h"
#include "passes/pass.h"
#include "passes/passes.h"
#include "passes/transposes.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr std::string_view kSuffix = ".nchw";
constexpr std::size_t kLeastRank = 4, kLeastNamedRank = 3;

/// What lies in front of and behind convolutions: images.
class Images {
 public:
  explicit Images(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (!weight_input(node)) continue;
      if (const Value* const x = node.input(0)) before(*x);
      if (const Value* const y = node.output(0)) behind(*y);
    }
  }
  [[nodiscard]] bool contains(const Value& value) const { return known_.contains(&value); }

 private:
  void before(const Value& start) {
    std::vector<const Value*> open{&start};
    while (!open.empty()) {
      const Value* const value = open.back();
      open.pop_back();
      if (value == nullptr || !known_.insert(value).second || value->producer() == nullptr) continue;
      open.insert(open.end(), value->producer()->inputs().begin(), value->producer()->inputs().end());
    }
  }
  void behind(const Value& start) {
    std::vector<const Value*> open{&start};
    while (!open.empty()) {
      const Value* const value = open.back();
      open.pop_back();
      if (value == nullptr || !behind_.insert(value).second) continue;
      known_.insert(value);
      for (const Use& use : value->uses()) open.insert(open.end(), use.node->outputs().begin(), use.node->outputs().end());
    }
  }
  std::unordered_set<const Value*> known_, behind_;
};

class IoPass {
 public:
  IoPass(Graph& graph, PassContext& context) : graph_(graph), context_(context), images_(graph) {}

  void run() {
    for (const std::string& name : context_.options.io_names) check_name(name);
    const std::vector<Value*> inputs = graph_.inputs(), outputs = graph_.outputs();
    const bool undo = context_.options.layout == WeightsLayout::contiguous;
    for (Value* const input : inputs) {
      if (input->initializer() == nullptr) undo ? undo_input(*input) : do_input(*input);
    }
    std::unordered_set<const Value*> done;  // a value may be listed several times
    for (Value* const output : outputs) {
      if (done.insert(output).second) undo ? undo_output(*output) : do_output(*output);
    }
  }

 private:
  void check_name(const std::string& name) const {
    const auto is_it = [&](const Value* value) { return value->name() == name && value->initializer() == nullptr; };
    if (std::ranges::any_of(graph_.inputs(), is_it) || std::ranges::any_of(graph_.outputs(), is_it)) return;
    fail(ErrorKind::usage, "--io: the model has no input or output " + quote(name));
  }

  void say(std::string_view what, const Value& value, std::optional<Skip> skip = std::nullopt) {
    Finding finding{std::string(context_.pass), std::string(what), value.name()};
    if (skip) {
      finding.verdict = skip->verdict;
      finding.reason = skip->reason;
      finding.detail = std::move(skip->detail);
    } else {
      ++context_.rewrites;
    }
    context_.findings.push_back(std::move(finding));
  }

  /// The rank of a port that is to change; nothing when it is not, which is said where somebody might wonder.
  std::optional<std::size_t> rank_of(std::string_view what, const Value& value) {
    const auto& names = context_.options.io_names;
    const bool is_named = std::ranges::find(names, value.name()) != names.end();
    if (!names.empty() && !is_named) return std::nullopt;
    const auto declared = value.declared();
    if (!declared || !declared->has_shape) {
      if (is_named || images_.contains(value)) say(what, value, Skip{Reason::rank_unknown});
      return std::nullopt;
    }
    const std::size_t rank = declared->dims.size();
    if (rank < (is_named ? kLeastNamedRank : kLeastRank) || (!is_named && !images_.contains(value))) {
      if (is_named) say(what, value, Skip{Reason::rank_not_converted, to_string(declared->dims)});
      return std::nullopt;
    }
    if (!is_transposable(declared->type, graph_.opset(""))) {
      say(what, value, Skip{Reason::type_not_transposable, std::string(name_of(declared->type))});
      return std::nullopt;
    }
    return context_.may_rewrite() ? std::optional(rank) : std::nullopt;
  }

  void do_input(Value& input) {
    if (input_transpose(input) != nullptr) return say("input", input, Skip{Reason::already_channels_last, "", Verdict::not_applicable});
    const auto rank = rank_of("input", input);
    if (!rank) return;
    const std::string inner = graph_.model().unique_name(input.name() + std::string(kSuffix));
    // Readers first: they must not read themselves.
    Node* const made = insert_transpose(graph_, graph_.nodes().begin(), input, inner, inner + "/Transpose", from_channels_last(*rank));
    graph_.replace_uses(input, *made->output(0));
    graph_.set_input(*made, 0, &input);
    graph_.permute_declared(input, to_channels_last(*rank));
    say("input", input);
  }

  void do_output(Value& output) {
    if (output_transpose(output) != nullptr) return say("output", output, Skip{Reason::already_channels_last, "", Verdict::not_applicable});
    if (output.producer() == nullptr) return;
    const auto rank = rank_of("output", output);
    if (!rank) return;
    if (is_output_elsewhere(output)) return say("output", output, Skip{Reason::conv_output_captured});
    Value& inner = graph_.detach(output, graph_.model().unique_name(output.name() + std::string(kSuffix)));
    (void)insert_transpose(graph_, graph_.nodes().end(), inner, output.name(), inner.name() + "/Transpose", to_channels_last(*rank));
    graph_.replace_uses(output, inner);
    graph_.permute_declared(output, to_channels_last(*rank));
    say("output", output);
  }

  /// The Transpose that an input was given; nullptr when there is none.
  [[nodiscard]] static Node* input_transpose(const Value& input) {
    if (input.uses().size() != 1) return nullptr;
    Node& node = *input.uses().front().node;
    const Value* const inner = node.output(0);
    if (&node.graph() != &input.graph() || inner == nullptr || !is_ours(node, *inner, input.name() + std::string(kSuffix))) return nullptr;
    const std::size_t rank = permutation_rank(node);
    return rank >= kLeastNamedRank && permutation_of(node, rank) == from_channels_last(rank) ? &node : nullptr;
  }
  [[nodiscard]] static Node* output_transpose(const Value& output) {
    Node* const node = output.producer();
    const Value* const inner = node != nullptr && node->is("Transpose") ? node->input(0) : nullptr;
    if (inner == nullptr || inner->producer() == nullptr || !is_ours(*node, *inner, output.name() + std::string(kSuffix))) return nullptr;
    const std::size_t rank = permutation_rank(*node);
    return rank >= kLeastNamedRank && permutation_of(*node, rank) == to_channels_last(rank) ? node : nullptr;
  }
  [[nodiscard]] static bool is_ours(const Node& node, const Value& inner, const std::string& name) {
    return node.is("Transpose") && inner.name().starts_with(name) && !inner.is_output() && node.name() == inner.name() + "/Transpose";
  }

  void undo_input(Value& input) {
    Node* const node = input_transpose(input);
    if (node == nullptr) return;
    const std::size_t rank = permutation_rank(*node);
    graph_.replace_uses(*node->output(0), input);
    graph_.erase(*node);
    graph_.permute_declared(input, from_channels_last(rank));
    say("input", input);
  }

  void undo_output(Value& output) {
    Node* const node = output_transpose(output);
    if (node == nullptr) return;
    const std::size_t rank = permutation_rank(*node);
    attach_through(graph_, *node);
    graph_.permute_declared(output, from_channels_last(rank));
    say("output", output);
  }

  Graph& graph_;
  PassContext& context_;
  Images images_;
};

}  // namespace

void export_io(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function()) return;
  IoPass(graph, context).run();
}

}  // namespace relayout

// Takes parts of a tensor from a Split, where they were taken from a sequence.
//
//     s = SplitToSequence (x, 24)
//     a = SequenceAt (s, 0)
//     b = SequenceAt (s, 1)            →      a, b = Split (x)

#include <set>

#include "base/positions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// Opsets from which Split reads its sizes from an operand, and wants to be told how many results it has.
constexpr int64_t kSizesAsOperand = 13, kWithCount = 18;
constexpr int64_t kMostParts = 64;

struct SplitSequence {
  const Node* node = nullptr;
  int64_t axis = 0;
  Dims sizes;
  std::vector<std::pair<const Node*, std::size_t>> readers;  ///< each SequenceAt, and its place
  std::vector<const Node*> taken, anchors;
  std::string detail;
};

/// The lengths of the parts: a list, or one for all but the last; without one, each has one element.
std::optional<Dims> sizes_of(const Node& node, int64_t length, PassContext& context) {
  Dims out;
  int64_t part = 1;
  if (node.input(1) != nullptr) {
    const auto value = context.constants.value(*node.input(1));
    if (!value || (value->type() != DataType::int64 && value->type() != DataType::int32) || value->element_count() > kMostParts)
      return std::nullopt;
    const std::vector<int64_t> given = truncated_integers_of(*value);
    if (!value->dims().empty()) {
      int64_t rest = length;
      for (const int64_t size : given) {
        if (size < 0 || size > rest) return std::nullopt;
        rest -= size;
      }
      return rest == 0 && !given.empty() ? std::optional(given) : std::nullopt;
    }
    part = given.front();
  } else if (Attributes(node).integer("keepdims", 1) != 1) {
    return std::nullopt;
  }
  if (part <= 0 || length <= 0 || (length - 1) / part >= kMostParts) return std::nullopt;
  for (int64_t at = 0; at < length; at += part) out.push_back(std::min(part, length - at));
  return out;
}

Match<SplitSequence> match_sequence(const Node& node, PassContext& context) {
  const Value *const data = node.input(0), *const sequence = node.output(0);
  if (data == nullptr || sequence == nullptr || sequence->is_output() || Attributes(node).has_reference()) return NotApplicable{};
  const PartialDims dims = context.constants.dims(*data);
  SplitSequence out{&node, Attributes(node).integer("axis", 0), {}, {}, {&node}, {}, {}};
  const int64_t rank = dims ? std::ssize(*dims) : 0;
  if (out.axis < -rank || out.axis >= rank) return NotApplicable{};
  const int64_t length = (*dims)[as_size(out.axis < 0 ? out.axis + rank : out.axis)];
  const auto sizes = length > 0 ? sizes_of(node, length, context) : std::nullopt;
  if (!sizes) return NotApplicable{};
  out.sizes = *sizes;
  std::set<std::size_t> places;
  for (const Use& use : sequence->uses()) {
    const Node& reader = *use.node;
    if (!reader.is("SequenceAt") || use.index != 0 || &reader.graph() != &node.graph() || reader.input(1) == nullptr ||
        reader.output(0) == nullptr)
      return NotApplicable{};
    const auto value = context.constants.value(*reader.input(1));
    if (!value || (value->type() != DataType::int64 && value->type() != DataType::int32) || value->element_count() != 1)
      return NotApplicable{};
    int64_t place = truncated_integers_of(*value).front();
    if (place < 0) place += std::ssize(out.sizes);
    if (place < 0 || place >= std::ssize(out.sizes)) return NotApplicable{};
    // Two readers of one part would need two names for one output.
    if (!places.insert(as_size(place)).second) return NotApplicable{};
    if (is_excluded(reader, context.options)) return Skip{Reason::excluded, {}};
    out.readers.emplace_back(&reader, as_size(place));
  }
  // An unread part still needs an output name: no more of them than nodes that go.
  if (out.readers.empty() || out.sizes.size() > 2 * out.readers.size()) return NotApplicable{};
  return out;
}

/// The Split without its results.
onnx::NodeProto split_of(const SplitSequence& found, Graph& graph) {
  const Node& node = *found.node;
  onnx::NodeProto out = node_message("Split", {node.input(0)->name()}, {}, node.name());
  set_integer(out, "axis", found.axis);
  const bool are_equal = std::ranges::all_of(found.sizes, [&](int64_t size) { return size == found.sizes.front(); });
  if (are_equal && graph.opset("") >= kWithCount) set_integer(out, "num_outputs", std::ssize(found.sizes));
  if (are_equal) return out;
  if (graph.opset("") < kSizesAsOperand) {
    set_integers(out, "split", found.sizes);
    return out;
  }
  std::vector<std::byte> bytes(found.sizes.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), found.sizes.data(), bytes.size());
  const std::string name = graph.model().unique_name(node.output(0)->name() + ".sizes");
  (void)add_constant(graph, writable(node), name, TensorData(DataType::int64, {std::ssize(found.sizes)}, Bytes::owned(std::move(bytes))),
                     nullptr);
  out.add_input(name);
  return out;
}

void split(const SplitSequence& found, PassContext& context) {
  Node& node = writable(*found.node);
  Graph& graph = node.graph();
  onnx::NodeProto message = split_of(found, graph);
  const std::string sequence = node.output(0)->name();
  std::vector<std::string> names(found.sizes.size());
  for (const auto& [reader, place] : found.readers) {
    Value& part = *writable(*reader).output(0);
    names[place] = part.name();
    (void)graph.detach(part, graph.model().unique_name(part.name() + ".part"));
    context.constants.forget(part);
  }
  for (std::string& name : names) message.add_output(name.empty() ? graph.model().unique_name(sequence) : name);
  (void)graph.insert_before(graph.position_of(node), message);
  std::vector<Value*> freed;
  for (const auto& [reader, place] : found.readers) erase_node(writable(*reader), freed);
  erase_node(node, freed);
  std::erase_if(freed, [](const Value* value) { return value == nullptr; });
  for (Value* const value : freed) release(*value, context);
}

}  // namespace

void split_sequences(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, [](const Node& node) { return node.is("SplitToSequence") && node.domain().empty(); }, match_sequence, split);
}

}  // namespace relayout::passes

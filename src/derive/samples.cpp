// Follows the samples of a batch through a graph, and tells where nodes mix them.
#include "derive/samples.h"

#include "base/positions.h"
#include "derive/sizes.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/einsum.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

bool is_one_of(const Node& node, std::span<const std::string_view> ops) {
  return node.domain().empty() && std::ranges::find(ops, node.op_type()) != ops.end();
}

/// Operators that treat each sample of their first operand alone, with operands that are the same for all.
constexpr std::array<std::string_view, 14> kBySample = {"AveragePool",
                                                        "BatchNormalization",
                                                        "Conv",
                                                        "ConvTranspose",
                                                        "DepthToSpace",
                                                        "Dropout",
                                                        "GlobalAveragePool",
                                                        "GlobalMaxPool",
                                                        "LRN",
                                                        "GroupNormalization",
                                                        "InstanceNormalization",
                                                        "MaxPool",
                                                        "Resize",
                                                        "SpaceToDepth"};
/// Operators along one axis, or from one on; those that take the last one by default.
constexpr std::array<std::string_view, 2> kFromLast = {"LayerNormalization", "RMSNormalization"};
constexpr std::array<std::string_view, 5> kAlongLast = {"Hardmax", "LogSoftmax", "LpNormalization", "Softmax", "TopK"};
constexpr std::array<std::string_view, 6> kAlongFirst = {"ArgMax", "ArgMin", "Concat", "GatherElements", "ScatterElements", "Split"};

int64_t product_before(const Dims& dims, std::size_t axis) {
  int64_t out = 1;
  for (std::size_t i = 0; i < axis; ++i) out *= dims[i];
  return out;
}

}  // namespace

Samples::Samples(const Graph& graph, Sizes& sizes, const std::vector<const Value*>& inputs,
                 const std::unordered_map<const Value*, const Value*>& origins)
    : sizes_(sizes), first_(inputs.front()) {
  for (const Value* input : inputs) places_[input] = {.axis = 0};
  for (const Node& node : graph.nodes()) {
    bool is_read = false, is_mixed = false;
    const auto look = [&](const Node& reader, std::size_t i) {
      const Value* const value = reader.input(i);
      if (value == nullptr || traits_of(reader).reads(i) != Reads::elements) return;
      is_read = is_read || of(*value) != State::none;
      is_mixed = is_mixed || of(*value) == State::mixed;
    };
    const auto look_at_all = [&](const Node& reader) {
      for (std::size_t i = 0; i < reader.inputs().size(); ++i) look(reader, i);
    };
    look_at_all(node);
    for (const auto& nested : node.subgraphs()) for_each_node(*nested, look_at_all);
    if (!is_read) continue;
    const bool is_known = !is_mixed && node.subgraphs().empty() && node.domain().empty();
    const Apart made = is_known ? after(node) : Apart();
    for (const Value* output : node.outputs()) {
      if (output == nullptr) continue;
      const auto origin = origins.find(output);
      const Apart own = origin == origins.end() || !place(origin->second) ? made : places_.at(origin->second);
      places_[output] = own.axis && counts(*output, *own.axis, own.rounds) ? own : Apart();
    }
  }
}

Samples::Place Samples::place(const Value* value) const {
  const auto found = places_.find(value);
  return found == places_.end() ? std::nullopt : found->second.axis;
}

Samples::State Samples::of(const Value& value) const {
  const auto found = places_.find(&value);
  if (found == places_.end()) return State::none;
  if (!found->second.axis) return State::mixed;
  return found->second.axis == 0U && sizes_.is_same(value, 0, *first_, 0) ? State::apart : State::elsewhere;
}

/// Whether an axis has, in each round, a number of places for each sample.
bool Samples::counts(const Value& value, std::size_t axis, const Rounds& rounds) {
  if (axis >= rank(&value)) return false;
  if (sizes_.is_same(value, axis, *first_, 0)) return rounds == Rounds{1, 1};
  for (const std::size_t inference : {0UL, 1UL}) {
    const Dims* const dims = sizes_.assumed_dims(value, inference);
    const Dims* const batch = sizes_.assumed_dims(*first_, inference);
    if (dims == nullptr || batch == nullptr || batch->front() < 2) return false;
    if ((*dims)[axis] % (batch->front() * rounds.at(inference)) != 0) return false;
  }
  return true;
}

const Node* Samples::mixer(const Value& value) const {
  const Value* at = &value;
  while (of(*at) == State::mixed) {
    const Node& node = *at->producer();
    const auto is_mixed = [&](const Value* input) { return input != nullptr && of(*input) == State::mixed; };
    const auto next = std::ranges::find_if(node.inputs(), is_mixed);
    if (next == node.inputs().end()) return &node;
    at = *next;
  }
  return nullptr;
}

bool Samples::are_same_from(const Node& node, std::size_t begin) const {
  for (std::size_t i = begin; i < node.inputs().size(); ++i) {
    if (node.input(i) != nullptr && of(*node.input(i)) != State::none) return false;
  }
  return true;
}

bool Samples::avoids(const Value* axes, std::size_t rank, std::size_t axis) {
  const auto known = axes == nullptr ? std::nullopt : sizes_.integers(*axes);
  return known && std::ranges::none_of(*known, [&](int64_t one) { return checked_axis(one, rank) == axis; });
}

Samples::Apart Samples::after(const Node& node) {
  std::optional<Apart> from;
  for (const Value* input : node.inputs()) {
    if (!place(input)) continue;
    const Apart& own = places_.at(input);
    if (from && own.rounds != from->rounds) return {};
    from = own;
  }
  if (!from || first_output(node) == nullptr) return {};
  const bool keeps_order = has_trait(node, Trait::keeps_order) && !has_trait(node, Trait::elementwise) && !node.is("Transpose");
  if (keeps_order && !is_one_of(node, kBySample))
    return place(node.input(0)) && are_same_from(node, 1) ? after_reshape(node, *from) : Apart();
  return {axis_after(node), from->rounds};
}

Samples::Place Samples::axis_after(const Node& node) {
  if (has_trait(node, Trait::elementwise)) return after_elementwise(node);
  if (node.is("MatMul")) return after_matmul(node);
  if (node.is("Gemm")) return after_gemm(node);
  if (node.is("Einsum")) return after_einsum(node);
  if (node.is("Gather")) return after_gather(node);
  if (is_one_of(node, kFromLast) || is_one_of(node, kAlongLast) || is_one_of(node, kAlongFirst)) return along_axis(node);
  const Place from = place(node.input(0));
  if (!from || !are_same_from(node, 1)) return std::nullopt;
  if (is_one_of(node, kBySample)) return of(*node.input(0)) == State::apart ? from : std::nullopt;
  return node.is("Transpose") ? after_transpose(node, *from) : after_movement(node, *from);
}

Samples::Place Samples::after_elementwise(const Node& node) {
  const std::size_t rank_of_result = rank(node.output(0));
  Place out;
  for (const Value* input : node.inputs()) {
    const Place own = place(input);
    if (!own) continue;
    const std::size_t at = rank_of_result - rank(input) + *own;
    if ((out && at != *out) || !sizes_.is_same(*input, *own, *node.output(0), at)) return std::nullopt;
    out = at;
  }
  return out;
}

/// The axis in which the places of samples lie now: as many elements as before come before the first place of each round.
Samples::Apart Samples::after_reshape(const Node& node, const Apart& from) {
  const Value& out = *node.output(0);
  for (std::size_t axis = 0; axis < rank(&out); ++axis) {
    Apart made{axis};
    bool fits = true;
    for (const std::size_t inference : {0UL, 1UL}) {
      const Dims* const before = sizes_.assumed_dims(*node.input(0), inference);
      const Dims* const now = sizes_.assumed_dims(out, inference);
      if (before == nullptr || now == nullptr) return {};
      const int64_t elements = product_before(*before, *from.axis) * from.rounds.at(inference), own = product_before(*now, axis);
      fits = fits && own > 0 && elements % own == 0;
      made.rounds.at(inference) = own > 0 ? std::max<int64_t>(elements / own, 1) : 1;
    }
    if (fits && counts(out, axis, made.rounds)) return made;
  }
  return {};
}

Samples::Place Samples::after_transpose(const Node& node, std::size_t from) {
  const std::vector<int64_t> order = Attributes(node).integers("perm");
  if (order.empty()) return rank(node.input(0)) - 1 - from;
  return as_size(std::ranges::find(order, static_cast<int64_t>(from)) - order.begin());
}

Samples::Place Samples::along_axis(const Node& node) {
  const bool is_first = is_one_of(node, kAlongFirst);
  // Scale, shift, and the number of elements that are taken.
  if (!is_first && !are_same_from(node, 1)) return std::nullopt;
  const Attributes attributes(node);
  const std::size_t rank_of_result = rank(node.input(0));
  const auto axis = checked_axis(attributes.integer("axis", is_first ? 0 : -1), rank_of_result);
  Place out;
  for (const Value* input : node.inputs()) {
    const Place own = place(input);
    if (!own) continue;
    if (rank(input) != rank_of_result || (out && own != out)) return std::nullopt;
    out = own;
  }
  if (!axis || !out || (is_one_of(node, kFromLast) ? *out >= *axis : *out == *axis)) return std::nullopt;
  const bool drops = (node.is("ArgMax") || node.is("ArgMin")) && attributes.integer("keepdims", 1) == 0 && *axis < *out;
  if (drops) return *out - 1;
  for (const Value* input : node.inputs()) {
    if (place(input) && !sizes_.is_same(*input, *out, *node.output(0), *out)) return std::nullopt;
  }
  return out;
}

Samples::Place Samples::after_matmul(const Node& node) {
  const std::size_t a = rank(node.input(0)), b = rank(node.input(1)), out = rank(node.output(0));
  if (a == 0 || b == 0) return std::nullopt;
  const auto of_factor = [&](std::size_t i) -> Place {
    const std::size_t own = i == 0 ? a : b, other = i == 0 ? b : a, from_end = own - *place(node.input(i));
    // Rows of the first factor and columns of the second stay, as does what comes before both.
    const std::size_t contracted = own == 1 || i == 0 ? 1 : 2;
    if (from_end == contracted) return std::nullopt;
    const std::size_t missing = other == 1 ? 1 : 0;
    if (from_end <= 2) return out - (i == 0 ? 2 - missing : 1);
    return out + missing - from_end;
  };
  Place made;
  for (const std::size_t i : {0UL, 1UL}) {
    if (!place(node.input(i))) continue;
    const Place own = of_factor(i);
    const bool agrees = own && sizes_.is_same(*node.input(i), *place(node.input(i)), *node.output(0), *own);
    if (!agrees || (made && own != made)) return std::nullopt;
    made = own;
  }
  return made;
}

Samples::Place Samples::after_gemm(const Node& node) {
  const Value* const addend = node.input(2);
  if (place(node.input(1)) || (place(addend) && (rank(addend) != 2 || place(addend) != 0U))) return std::nullopt;
  const std::size_t rows = Attributes(node).integer("transA", 0) == 0 ? 0 : 1;
  const bool stays = !place(node.input(0)) || place(node.input(0)) == rows;
  return stays ? Place(0) : std::nullopt;
}

Samples::Place Samples::after_einsum(const Node& node) {
  const EinsumEquation terms = read_einsum(Attributes(node).text("equation", ""));
  if (terms.has_ellipsis()) return std::nullopt;
  const std::string result = terms.letters_of_result();
  Place out;
  for (std::size_t i = 0; i < terms.operands.size(); ++i) {
    const Place own = place(node.input(i));
    if (!own) continue;
    const std::string& letters = terms.operands[i];
    const char letter = letters.at(*own);
    const std::size_t at = result.find(letter);
    const bool is_single = std::ranges::count(letters, letter) == 1 && std::ranges::count(result, letter) == 1;
    if (!is_single || (out && at != *out)) return std::nullopt;
    out = at;
  }
  return out;
}

Samples::Place Samples::after_gather(const Node& node) {
  const auto axis = checked_axis(Attributes(node).integer("axis", 0), rank(node.input(0)));
  const Place data = place(node.input(0)), indices = place(node.input(1));
  if (!axis || (data && indices)) return std::nullopt;
  if (indices) return *axis + *indices;
  if (*data == *axis) return after_lookup(node, *axis);
  return *data < *axis ? *data : *data + rank(node.input(1)) - 1;
}

/// A look-up along the axis of samples, one block of places after the other, by indices that follow from sizes: an axis of these that
/// counts samples, each with indices of its own block. As with sizes, two examples decide.
Samples::Place Samples::after_lookup(const Node& node, std::size_t axis) {
  const Value& data = *node.input(0);
  const Value& indices = *node.input(1);
  if (places_.at(&data).rounds != Rounds{1, 1}) return std::nullopt;
  if (!small_) small_.emplace(node.graph(), Sizes::Like(), nullptr, true);
  const auto keeps = [&](std::size_t own, std::size_t inference) {
    const Dims* const dims = small_->assumed_dims(indices, inference);
    const Dims* const from = small_->assumed_dims(data, inference);
    const Dims* const batch = small_->assumed_dims(*first_, inference);
    const auto values = small_->assumed_integers(indices, inference);
    if (dims == nullptr || from == nullptr || batch == nullptr || !values || (*dims)[own] != batch->front()) return false;
    const int64_t block = (*from)[axis] / batch->front(), run = product_before(*dims, dims->size()) / product_before(*dims, own + 1);
    for (std::size_t i = 0; i < values->size(); ++i) {
      const int64_t sample = static_cast<int64_t>(i) / run % batch->front();
      if ((*values)[i] < 0 || (*values)[i] / block != sample) return false;
    }
    return true;
  };
  for (std::size_t own = 0; own < rank(&indices); ++own) {
    if (keeps(own, 0) && keeps(own, 1)) return axis + own;
  }
  return std::nullopt;
}

Samples::Place Samples::after_movement(const Node& node, std::size_t from) {
  const Value& data = *node.input(0);
  const std::size_t rank_of_data = rank(&data);
  const auto stays = [&](bool holds) { return holds ? Place(from) : std::nullopt; };
  if (node.is("Expand")) {
    const std::size_t at = rank(node.output(0)) - rank_of_data + from;
    return sizes_.is_same(data, from, *node.output(0), at) ? Place(at) : std::nullopt;
  }
  if (node.is("Trilu")) return stays(from + 2 < rank_of_data);
  if (node.is("CumSum")) return stays(avoids(node.input(1), rank_of_data, from));
  if (node.is("Slice")) return stays(avoids(node.input(3), rank_of_data, from));
  if (node.is("Tile")) {
    const auto repeats = sizes_.integers(*node.input(1));
    return stays(repeats && from < repeats->size() && (*repeats)[from] == 1);
  }
  if (node.is("Pad")) {
    if (node.input(3) != nullptr) return stays(avoids(node.input(3), rank_of_data, from));
    const auto pads = sizes_.integers(*node.input(1));
    return stays(pads && pads->size() == 2 * rank_of_data && pads->at(from) == 0 && pads->at(from + rank_of_data) == 0);
  }
  return traits_of(node).along() == Along::axes ? after_reduction(node, from) : std::nullopt;
}

Samples::Place Samples::after_reduction(const Node& node, std::size_t from) {
  const Attributes attributes(node);
  std::optional<std::vector<int64_t>> axes = attributes.integers("axes");
  if (axes->empty()) axes = node.input(1) == nullptr ? std::nullopt : sizes_.integers(*node.input(1));
  if (!axes || axes->empty()) return std::nullopt;
  std::size_t before = 0;
  for (const int64_t one : *axes) {
    const auto axis = checked_axis(one, rank(node.input(0)));
    if (!axis || *axis == from) return std::nullopt;
    if (*axis < from) ++before;
  }
  return attributes.integer("keepdims", 1) != 0 ? from : from - before;
}

}  // namespace relayout::derive

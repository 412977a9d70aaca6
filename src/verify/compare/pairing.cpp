// Finds which value of B corresponds to which of A, by name or else by what computes it.
#include "verify/compare/pairing.h"

#include "layout/axis_order.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/quantized_form.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/run/quantizer.h"

namespace relayout {
namespace {

/// Whether a converter may absorb a node into the linear operator upstream, or drop it.
bool may_be_absorbed(const Node& node) {
  return has_trait(node, Trait::affine) || has_trait(node, Trait::identity);
}

/// A value with more consumers is no evidence for the pairing of one of them.
constexpr std::size_t kMostReaders = 64;

/// Dependencies of a value that counts as a constant: none, or dims as well, as of a factor computed from a Shape.
enum class Known { always, by_dims };

/// Values that depend on no input, or on dims of inputs alone.
std::unordered_set<const Value*> constants_of(const Graph& graph, Known known) {
  std::unordered_set<const Value*> constants;
  const auto is_constant = [&](const Value* value) {
    return value == nullptr || (value->initializer() != nullptr && !value->is_input()) || constants.contains(value);
  };
  const auto depends_on_none = [&](const Node& node) {
    const Traits traits = traits_of(node);
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (!is_constant(node.input(i)) && (known == Known::always || traits.reads(i) == Reads::elements)) return false;
    }
    return node.subgraphs().empty() && !traits.has(Trait::random);
  };
  for (const Node& node : graph.nodes()) {
    if (!depends_on_none(node)) continue;
    if (node.inputs().empty() && !node.is("Constant")) continue;  // random numbers
    for (const Value* const output : node.outputs()) {
      if (output != nullptr) constants.insert(output);
    }
  }
  return constants;
}

/// Whether a node casts real numbers to another type: optimizers of 16-bit models add such Casts, and drop them.
bool casts_reals(const Node& node) {
  return has_trait(node, Trait::casts) && node.output(0) != nullptr &&
         kRealTypes.has(static_cast<DataType>(Attributes(node).integer("to", 0)));
}

/// The value upstream of Casts to other types; the value itself where no Cast produces it.
const Value* before_casts(const Value* value) {
  while (value != nullptr && value->producer() != nullptr && casts_reals(*value->producer())) value = value->producer()->input(0);
  return value;
}

/// Adds the uses of a value, directly or through Casts to other types; such Casts too.
void add_uses(const Value& value, std::vector<Use>& uses) {
  for (const Use& use : value.uses()) {
    uses.push_back(use);
    if (casts_reals(*use.node)) add_uses(*use.node->output(0), uses);
  }
}

void add_readers(const Value& value, std::vector<std::string>& readers) {
  for (const Use& use : value.uses()) {
    if (casts_reals(*use.node)) {
      add_readers(*use.node->output(0), readers);
    } else {
      readers.push_back(use.node->op_type() + "#" + std::to_string(use.index));
    }
  }
  for (int i = 0; i < value.output_count(); ++i) readers.emplace_back("output");
}

/// Consumers of a value, also through Casts to other types: operators with their input numbers, and the graph's outputs.
std::vector<std::string> reader_names(const Value& value) {
  std::vector<std::string> readers;
  add_readers(value, readers);
  std::ranges::sort(readers);
  return readers;
}

/// The QuantizeLinear that rounds a node's result, perhaps through an activation that its range makes redundant; nullptr where there are
/// other consumers.
const Node* quantizer_of_result(const Node& node) {
  const Value* made = node.output(0);
  for (int step = 0; step < 2 && made != nullptr && made->sole_use() != nullptr; ++step) {
    const Node& reader = *made->sole_use()->node;
    if (reader.is("QuantizeLinear")) return &reader;
    if (!has_trait(reader, Trait::clips)) return nullptr;
    made = reader.output(0);
  }
  return nullptr;
}

/// Whether a node produces channels-last images, as operators for that order do.
bool is_for_channels_last(const Node& node) {
  return node.op_type().starts_with("Nhwc") || Attributes(node).integer("channels_last", 0) == 1;
}

/// Whether a Transpose moves the channels of images to the last axis.
bool brings_channels_last(const Node& node) {
  if (!node.is("Transpose")) return false;
  const std::vector<int64_t> order = Attributes(node).integers("perm");
  return order.size() > 2 && order == layout::to_channels_last(order.size());
}

/// Whether a node's results have the order of axes of its operands. An operator on quantized numbers is judged by its real form.
bool keeps_order_of_axes(const Node& node) {
  const QuantizedForm* const form = quantized_form(node);
  const Op* const op = form != nullptr && !form->real.empty() ? find_op(form->real) : find_op(node);
  return op != nullptr && (op->layout == LayoutRule::agnostic || op->layout == LayoutRule::axis_mapped);
}

/// Values with channels as the last axis: results of nodes for which `begins` holds, and of nodes that keep the order of such operands.
std::unordered_set<const Value*> channels_last_in(const Graph& graph, bool (*begins)(const Node&)) {
  std::unordered_set<const Value*> found;
  for (const Node& node : graph.nodes()) {
    const auto reads_one = [&] { return std::ranges::any_of(node.inputs(), [&](const Value* input) { return found.contains(input); }); };
    if (begins(node) || (keeps_order_of_axes(node) && reads_one())) found.insert(node.outputs().begin(), node.outputs().end());
  }
  return found;
}

using ValueSet = std::unordered_set<const Value*>;

bool is_constant(const Value& value, const ValueSet& computed) {
  return (value.initializer() != nullptr && !value.is_input()) || computed.contains(&value);
}

bool is_same_operator(const Node& node, const Node& other) {
  return node.op_type() == other.op_type() && node.domain() == other.domain();
}

/// The producer of an operand that varies; nullptr: none.
const Node* maker_of(const Value* operand, const ValueSet& constants) {
  return operand == nullptr || is_constant(*operand, constants) ? nullptr : operand->producer();
}

/// The only operand that is no constant; nullptr where there are none or several.
const Value* sole_operand(const Node& node, const ValueSet& constants) {
  const auto varies = [&](const Value* input) { return input != nullptr && !is_constant(*input, constants); };
  if (std::ranges::count_if(node.inputs(), varies) != 1) return nullptr;
  return *std::ranges::find_if(node.inputs(), varies);
}

/// Likeness to one of several twins (branches that read one value): its name, which tools that rename values keep; the names and dims of
/// its constants; its attributes. Each counts more than all that follow.
int likeness(const Node& node, const Node& other) {
  int names = 0, dims = 0;
  for (std::size_t i = 0; i < std::min(node.inputs().size(), other.inputs().size()); ++i) {
    const Value *const mine = node.input(i), *const theirs = other.input(i);
    if (mine == nullptr || theirs == nullptr || mine->initializer() == nullptr || theirs->initializer() == nullptr) continue;
    names = std::max(names, mine->name() == theirs->name() ? 1 : 0);
    const auto *const data = mine->initializer()->data.get(), *const other_data = theirs->initializer()->data.get();
    dims = std::max(dims, data != nullptr && other_data != nullptr && data->dims() == other_data->dims() ? 1 : 0);
  }
  const auto is_there = [&](const onnx::AttributeProto& attribute) {
    const onnx::AttributeProto* const same = other.attribute(attribute.name());
    return same != nullptr && std::ranges::equal(attribute.ints(), same->ints()) && attribute.i() == same->i();
  };
  const int attributes = std::ranges::all_of(node.message().attribute(), is_there) ? 1 : 0;
  return 8 * (!node.name().empty() && node.name() == other.name() ? 1 : 0) + 4 * names + 2 * dims + attributes;
}

/// Follows a's value downstream through nodes that may have been folded, up to the value with the same consumers as b's.
const Value* end_of_chain(const Value& made, const Value* value) {
  constexpr int kMost = 4;
  const std::vector<std::string> wanted = reader_names(made);
  for (int step = 0; step <= kMost; ++step) {
    if (reader_names(*value) == wanted) return value;
    if (value->sole_use() == nullptr) return nullptr;
    const Node& next = *value->sole_use()->node;
    if (!may_be_absorbed(next) || next.output(0) == nullptr) return nullptr;
    value = next.output(0);
  }
  return nullptr;
}

/// Values of b and their partners in a. A value of a is the partner of at most one.
class PairedValues {
 public:
  explicit PairedValues(std::unordered_map<const Value*, Partner> partners) : partners_(std::move(partners)) {
    for (const auto& [value, partner] : partners_) taken_.insert(partner.value);
  }

  /// nullptr: the value has no partner.
  [[nodiscard]] const Partner* find(const Value* of_b) const {
    const auto found = partners_.find(of_b);
    return found == partners_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_taken(const Value* of_a) const { return taken_.contains(of_a); }
  /// Pairs a value of b that has no partner, by structure, if the value of a is free.
  void add(const Value* of_b, const Value* of_a, bool before_jump = false) {
    if (taken_.insert(of_a).second) partners_.emplace(of_b, Partner{of_a, true, false, before_jump});
  }
  /// Gives a value of b another partner; returns whether that one was free.
  bool move(const Value* of_b, const Value* of_a) {
    if (!taken_.insert(of_a).second) return false;
    partners_.insert_or_assign(of_b, Partner{of_a, true, false, false});
    return true;
  }
  void erase(const Value* of_b) { partners_.erase(of_b); }
  [[nodiscard]] std::unordered_map<const Value*, Partner> take() { return std::move(partners_); }

 private:
  std::unordered_map<const Value*, Partner> partners_;
  ValueSet taken_;
};

/// Corrects pairs by name where a fold left the name at another value.
class FoldedNames {
 public:
  /// `known_a`: constants by Known::by_dims.
  FoldedNames(const Graph& b, PairedValues& pairs, const ValueSet& known_a, const ValueSet& constants_b)
      : b_(b), pairs_(pairs), known_a_(known_a), constants_b_(constants_b) {}

  /// A converter that folds the nodes downstream of a linear operator may keep the name of the operator's result. The value is then that
  /// downstream of the folded chain, with the same consumers. Values between the operator and there (through a Flatten past which the fold
  /// was carried) have no equal in a, whatever their names.
  void move() {
    std::vector<std::pair<const Value*, const Value*>> moved;
    std::vector<const Value*> folded;
    for (const Node& node : b_.nodes()) {
      for (const Value* const output : node.outputs()) {
        if (output == nullptr || !absorbs_folds(*output)) continue;
        const Partner* const partner = pairs_.find(output);
        if (partner == nullptr || partner->by_structure) continue;
        const Node& maker = *partner->value->producer();
        if (is_affine_by_constants(maker) && maker.op_type() != node.op_type()) folded.push_back(output);
        const Value* const end = end_of_chain(*output, partner->value);
        const bool is_downstream = end != nullptr && end != partner->value && !pairs_.is_taken(end);
        if (is_downstream && !is_absorbed_downstream(*output)) moved.emplace_back(output, end);
      }
    }
    for (const auto& [value, end] : moved) {
      if (pairs_.move(value, end)) folded.push_back(value);
    }
    for (const Value* const value : folded) drop_carriers(*value);
  }

  /// A fold into a linear operator downstream leaves the names behind it at values that lack it, where nodes pass them on to the operator:
  /// these have no equal in a.
  void drop_unfolded() {
    for (const Node& node : b_.nodes()) {
      for (const Value* const output : node.outputs()) {
        const Partner* const partner = output == nullptr ? nullptr : pairs_.find(output);
        if (partner == nullptr || partner->by_structure || !is_absorbed_downstream(*output)) continue;
        if (lacks_affine(*output, *partner->value)) pairs_.erase(output);
      }
    }
  }

 private:
  static constexpr int kMostNodes = 8;  ///< on a way

  static bool passes_on(const Node& node) {
    return traits_of(node).moves_input(0) || has_trait(node, Trait::identity) || casts_reals(node);
  }

  /// Whether values of one name come from a pair further upstream, by nodes that pass it on and, in a alone, affine ones.
  bool lacks_affine(const Value& of_b, const Value& of_a) const {
    const Value* source = &of_b;
    const Partner* partner = nullptr;
    for (int step = 0; step < kMostNodes && partner == nullptr; ++step) {
      const Node* const maker = source->producer();
      source = maker != nullptr && passes_on(*maker) ? sole_operand(*maker, constants_b_) : nullptr;
      if (source == nullptr) return false;
      partner = pairs_.find(source);
    }
    bool is_affine = false;
    const Value* value = &of_a;
    for (int step = 0; step < kMostNodes && value != nullptr && partner != nullptr; ++step) {
      if (value == partner->value) return is_affine;
      const Node* const maker = value->producer();
      const bool is_folded = maker != nullptr && has_trait(*maker, Trait::affine);
      is_affine = is_affine || is_folded;
      value = maker != nullptr && (is_folded || passes_on(*maker)) ? sole_operand(*maker, known_a_) : nullptr;
    }
    return false;
  }

  /// Whether a converter may fold a node of a: all operands but one are constants, or follow from dims that it knows.
  bool is_affine_by_constants(const Node& node) const { return may_be_absorbed(node) && sole_operand(node, known_a_) != nullptr; }

  /// The operand to whose producer a node of b carries a fold, because the node moves elements or is affine; nullptr for any other node.
  const Value* carried_operand(const Node& node) const {
    return traits_of(node).moves_input(0) || has_trait(node, Trait::affine) ? sole_operand(node, constants_b_) : nullptr;
  }

  /// Whether a linear operator computes a value, directly or through nodes that carry folds.
  bool absorbs_folds(const Value& made) const {
    const Value* value = &made;
    for (int step = 0; step < kMostNodes && value != nullptr && value->producer() != nullptr; ++step) {
      if (has_trait(*value->producer(), Trait::multiplies)) return true;
      value = carried_operand(*value->producer());
    }
    return false;
  }

  /// Whether a linear operator reads a value, directly or through nodes that carry folds: it may have absorbed the fold, and the value is
  /// unchanged.
  bool is_absorbed_downstream(const Value& made) const {
    const Value* value = &made;
    for (int step = 0; step < kMostNodes && value != nullptr && value->uses().size() == 1; ++step) {
      const Node& reader = *value->uses().front().node;
      if (has_trait(reader, Trait::multiplies)) return true;
      if (carried_operand(reader) == nullptr && !has_trait(reader, Trait::averages)) return false;
      value = reader.output(0);
    }
    return false;
  }

  /// Removes the pairs of the values from which a moved value is computed, up to the linear operators that absorbed the fold.
  void drop_carriers(const Value& moved) {
    constexpr std::size_t kMostCarriers = 16;
    std::vector<const Value*> pending{&moved};
    for (std::size_t seen = 0; !pending.empty() && seen < kMostCarriers; ++seen) {
      const Node* const node = pending.back()->producer();
      pending.pop_back();
      if (node == nullptr || has_trait(*node, Trait::multiplies)) continue;
      for (const Value* const input : node->inputs()) {
        const Partner* const partner = input == nullptr ? nullptr : pairs_.find(input);
        if (partner == nullptr || partner->by_structure || constants_b_.contains(input)) continue;
        pairs_.erase(input);
        pending.push_back(input);
      }
    }
  }

  const Graph& b_;
  PairedValues& pairs_;
  const ValueSet &known_a_, &constants_b_;
};

/// Pairs the values that have no partner by name.
class StructuralPairing {
 public:
  StructuralPairing(const Graph& a, const Graph& b, PairedValues& pairs, const ValueSet& constants_a, const ValueSet& constants_b)
      : b_(b), pairs_(pairs), constants_a_(constants_a), constants_b_(constants_b) {
    for (const Value* const input : b.inputs()) {
      if (const Value* const same = a.find(input->name()); same != nullptr && same->is_input()) inputs_.emplace(input, same);
    }
  }

  /// An operator that jumps turns rounding upstream into a whole step. Where its results are paired, its operands are paired too, so that
  /// the comparison can be made upstream of the jump.
  void pair_operands_of_jumps() {
    for (const Node& node : b_.nodes()) {
      const Node* const other = has_trait(node, Trait::jumps) ? paired_with(node) : nullptr;
      if (other == nullptr || node.op_type() != other->op_type()) continue;
      for (std::size_t i = 0; i < std::min(node.inputs().size(), other->inputs().size()); ++i) {
        pair_steps(node.input(i), other->input(i), /*before_jump=*/true);
      }
    }
  }

  /// Steps that are dequantized to paired values are paired: a tool that counts them from another zero point gives them new names.
  void pair_dequantized() {
    for (const Node& node : b_.nodes()) {
      const Node* const other = node.is("DequantizeLinear") ? paired_with(node) : nullptr;
      if (other != nullptr && other->is("DequantizeLinear")) pair_steps(node.input(0), other->input(0));
    }
  }

  /// A node that rounds its own result may keep the name of the node that it replaces, whose result a QuantizeLinear rounds.
  void pair_named_nodes(const Graph& a) {
    std::unordered_map<std::string_view, const Node*> named;
    for (const Node& node : a.nodes()) {
      if (!node.name().empty()) named.emplace(node.name(), &node);
    }
    for (const Node& node : b_.nodes()) {
      if (!has_trait(node, Trait::quantized) || node.output(0) == nullptr) continue;
      auto found = named.find(node.name());
      if (found == named.end()) found = named.find(node.output(0)->name());
      const Node* const quantizer = found == named.end() ? nullptr : quantizer_of_result(*found->second);
      if (quantizer != nullptr) pair_steps(node.output(0), quantizer->output(0));
    }
  }

  void run() {
    for (const Node& node : b_.nodes()) {
      const Value* const output = node.output(0);
      if (output == nullptr || pairs_.find(output) != nullptr || constants_b_.contains(output)) continue;
      if (const Node* const twin = find_twin(node)) pair_outputs(node, *twin);
    }
  }

  /// Pairs the operands of paired results, from the outputs upstream: where names are gone and operands are computed in another way, as
  /// long as the same operators compute them.
  void pair_upstream() {
    for (auto node = b_.nodes().rbegin(); node != b_.nodes().rend(); ++node) {
      const Node* const other = paired_with(*node);
      if (other != nullptr && is_same_operator(*node, *other)) pair_operands(*node, *other);
    }
  }

 private:
  /// The node of a whose result is the partner of a node's; nullptr: none.
  const Node* paired_with(const Node& node) const {
    const Partner* const partner = node.output(0) == nullptr ? nullptr : pairs_.find(node.output(0));
    return partner == nullptr ? nullptr : partner->value->producer();
  }

  /// Pairs the only varying operands of both nodes, at whatever positions; else operands by position.
  void pair_operands(const Node& node, const Node& other) {
    const Value *const mine = sole_operand(node, constants_b_), *const theirs = sole_operand(other, constants_a_);
    if (mine != nullptr && theirs != nullptr) return pair_operand(node, mine, theirs);
    for (std::size_t i = 0; i < std::min(node.inputs().size(), other.inputs().size()); ++i) {
      pair_operand(node, node.input(i), other.input(i));
    }
  }

  void pair_operand(const Node& node, const Value* of_b, const Value* of_a) {
    const Node *const mine = maker_of(of_b, constants_b_), *const theirs = maker_of(of_a, constants_a_);
    if (mine == nullptr || theirs == nullptr || !is_same_operator(*mine, *theirs) || has_trait(*mine, Trait::jumps)) return;
    // Two operands that the same operator computes may be in either order.
    const auto is_alike = [&](const Value* input) {
      const Node* const maker = maker_of(input, constants_b_);
      return maker != nullptr && is_same_operator(*maker, *mine);
    };
    if (std::ranges::count_if(node.inputs(), is_alike) == 1) pair_steps(of_b, of_a);
  }

  /// The partner of a value of b, or of the value upstream of its Casts to other types.
  const Value* partner_of(const Value* value) const {
    while (value != nullptr) {
      if (const auto input = inputs_.find(value); input != inputs_.end()) return input->second;
      if (const Partner* const found = pairs_.find(value)) return found->value;
      const bool is_cast = value->producer() != nullptr && casts_reals(*value->producer());
      value = is_cast ? value->producer()->input(0) : nullptr;
    }
    return nullptr;
  }

  /// The node of a that applies the operator of `node` to the partners of its operands; of several the one with the greatest likeness.
  const Node* find_twin(const Node& node) const {
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* const partner = node.input(i) == nullptr ? nullptr : partner_of(node.input(i));
      if (partner == nullptr) continue;
      std::vector<Use> uses;
      add_uses(*before_casts(partner), uses);
      if (uses.size() > kMostReaders) return nullptr;
      const Node* best = nullptr;
      for (const Use& use : uses) {
        if (use.node->graph().outer() != nullptr || twins_.contains(use.node) || !is_twin(node, *use.node)) continue;
        if (best == nullptr || likeness(node, *use.node) > likeness(node, *best)) best = use.node;
      }
      return best;
    }
    return nullptr;
  }

  bool is_twin(const Node& node, const Node& other) const {
    if (!is_same_operator(node, other)) return false;
    // A folded bias is an additional operand.
    for (std::size_t i = 0; i < std::max(node.inputs().size(), other.inputs().size()); ++i) {
      const Value *const mine = node.input(i), *const theirs = other.input(i);
      const bool constant = mine == nullptr || is_constant(*mine, constants_b_);
      const bool other_constant = theirs == nullptr || is_constant(*theirs, constants_a_);
      if (constant != other_constant) return false;
      if (constant) continue;
      const Value* const partner = partner_of(mine);
      if (partner == nullptr || before_casts(partner) != before_casts(theirs)) return false;
    }
    return true;
  }

  void pair_steps(const Value* mine, const Value* theirs, bool before_jump = false) {
    if (mine == nullptr || theirs == nullptr || mine->producer() == nullptr || theirs->producer() == nullptr) return;
    if (is_constant(*mine, constants_b_) || is_constant(*theirs, constants_a_)) return;
    if (pairs_.find(mine) == nullptr) pairs_.add(mine, theirs, before_jump);
  }

  void pair_outputs(const Node& node, const Node& twin) {
    twins_.insert(&twin);
    for (std::size_t k = 0; k < node.outputs().size(); ++k) {
      if (node.output(k) == nullptr || twin.output(k) == nullptr) continue;
      const Value* const end = k == 0 ? end_of_chain(*node.output(k), twin.output(k)) : twin.output(k);
      if (end != nullptr) pairs_.add(node.output(k), end);
    }
  }

  const Graph& b_;
  PairedValues& pairs_;
  const ValueSet &constants_a_, &constants_b_;
  std::unordered_set<const Node*> twins_;  ///< nodes of a, each paired with one node of b
  std::unordered_map<const Value*, const Value*> inputs_;
};

/// A name that b gives to a widened value, because it computes in 16 bits and a does not, belongs to the narrow one: a's value is fed to
/// its readers, and is compared as the node in front of the Cast makes it.
void move_upstream_of_widening(const Graph& b, const ElementTypes& types, std::unordered_map<const Value*, Partner>& partners) {
  for (auto node = b.nodes().rbegin(); node != b.nodes().rend(); ++node) {
    const auto widened = node->output(0) == nullptr || !widens(*node, types) ? partners.end() : partners.find(node->output(0));
    if (widened == partners.end() || has_trait(*widened->second.value->producer(), Trait::casts)) continue;
    const Value* const narrow = node->input(0);
    if (narrow->producer() == nullptr || narrow->sole_use() != nullptr || partners.contains(narrow)) continue;
    partners.emplace(narrow, widened->second);
    partners.erase(node->output(0));
  }
}

/// The value of a that a name of b refers to. Where the processor has no f16, ONNX Runtime computes in f32 and adds this prefix to the
/// names of the values that it computes so. The names without it belong to the f16 values around them.
const Value* named_alike(const Graph& a, std::string_view name) {
  constexpr std::string_view kWidened = "InsertedPrecisionFreeCast_";
  const Value* const same = a.find(name);
  return same == nullptr && name.starts_with(kWidened) ? a.find(name.substr(kWidened.size())) : same;
}

}  // namespace

std::unordered_map<const Value*, Partner> pair_values(const Graph& a, const Graph& b) {
  std::unordered_map<const Value*, Partner> partners;
  OpSignatures signatures_a, signatures_b;
  const ElementTypes types_a(a, signatures_a), types_b(b, signatures_b);
  // An integer and a real number of one name are different values: a Cast was moved past the node between them.
  const auto is_cast_between = [&](const Value& of_a, const Value& of_b) {
    constexpr TypeSet kCounting{DataType::int32, DataType::int64};
    const DataType one = types_a.of(of_a), other = types_b.of(of_b);
    return (kCounting.has(one) && kRealTypes.has(other)) || (kRealTypes.has(one) && kCounting.has(other));
  };
  // The names of the Casts themselves are then at other places too.
  const auto has_moved = [&](const Value& of_a, const Value& of_b) {
    const Node &made = *of_a.producer(), &other = *of_b.producer();
    if (!has_trait(made, Trait::casts) || !has_trait(other, Trait::casts)) return false;
    const Value *const source = made.input(0), *const other_source = other.input(0);
    if (source == nullptr || other_source == nullptr) return false;
    const Value *const in_b = b.find(source->name()), *const in_a = a.find(other_source->name());
    return (in_b != nullptr && is_cast_between(*source, *in_b)) || (in_a != nullptr && is_cast_between(*in_a, *other_source));
  };
  const std::unordered_set<const Node*> needed_in_a = needed_nodes(a), needed_in_b = needed_nodes(b);
  const auto is_needed = [](const Value& value, const std::unordered_set<const Node*>& needed) {
    const bool is_read = !value.uses().empty() || value.is_output();
    return is_read && value.producer() != nullptr && needed.contains(value.producer());
  };
  for (const Node& node : b.nodes()) {
    for (const Value* const output : node.outputs()) {
      if (output == nullptr || !needed_in_b.contains(&node)) continue;
      const Value* const same = named_alike(a, output->name());
      if (same != nullptr && is_needed(*same, needed_in_a) && !is_cast_between(*same, *output) && !has_moved(*same, *output))
        partners.emplace(output, Partner{same, false, false, false});
    }
  }
  PairedValues pairs(std::move(partners));
  const ValueSet constants_a = constants_of(a, Known::always), constants_b = constants_of(b, Known::always);
  const ValueSet known_a = constants_of(a, Known::by_dims);
  FoldedNames folded_names(b, pairs, known_a, constants_b);
  folded_names.move();
  folded_names.drop_unfolded();
  StructuralPairing pairing(a, b, pairs, constants_a, constants_b);
  pairing.pair_dequantized();
  pairing.pair_named_nodes(a);
  pairing.run();
  pairing.pair_operands_of_jumps();
  pairing.pair_upstream();
  partners = pairs.take();
  move_upstream_of_widening(b, types_b, partners);
  // Values that no output depends on are no evidence for the results.
  std::erase_if(partners, [&](const auto& pair) {
    const Value &of_b = *pair.first, &of_a = *pair.second.value;
    return !is_needed(of_b, needed_in_b) || !is_needed(of_a, needed_in_a) || is_cast_between(of_a, of_b);
  });
  const auto last_in_a = channels_last_in(a, is_for_channels_last), last_in_b = channels_last_in(b, is_for_channels_last);
  const auto brought_last = channels_last_in(a, brings_channels_last);
  // A converter may have quantized already what only quantizers read, which they do not notice.
  const auto feeds_quantizers = [](const Value* value) { return quantizer_downstream(*value) != nullptr; };
  for (auto& [value, partner] : partners) {
    partner.channels_last = last_in_b.contains(value) && !last_in_a.contains(partner.value) && !brought_last.contains(partner.value);
    partner.before_jump = partner.before_jump || (feeds_quantizers(value) && feeds_quantizers(partner.value));
  }
  return partners;
}

bool widens(const Node& node, const ElementTypes& types) {
  if (!casts_reals(node) || node.input(0) == nullptr) return false;
  const DataType from = types.of(*node.input(0)), to = types.of(*node.output(0));
  return from != to && kHalfTypes.has(from) && !kHalfTypes.has(to);
}

bool is_out_of_reach(const Value& value) {
  return is_constant(value, constants_of(value.graph(), Known::always));
}

std::unordered_set<const Value*> values_out_of_reach(const Graph& graph) {
  return constants_of(graph, Known::always);
}

std::unordered_set<const Value*> values_known_by_dims(const Graph& graph) {
  return constants_of(graph, Known::by_dims);
}

}  // namespace relayout

// Finds differences that act only at sizes that no sample has: other decisions by sizes, and dims of one size in all samples.

#include <cmath>

#include "base/positions.h"
#include "base/text.h"
#include "layout/graph_shapes.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "proof/prover.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/inputs/port.h"
#include "verify/interface.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

/// Sizes of a model's inputs, and the difference from a sample's.
struct SizeChoice {
  ShapeOptions options;
  std::string text;  ///< "sequence = 1024"; empty for a sample's
};

/// Sizes at which Slices of two models may differ: their constant ends, and one more; the smallest first.
std::vector<int64_t> sizes_by_slices(const Pair& pair) {
  constexpr std::size_t kMost = 8;
  constexpr int64_t kLargest = 1 << 16;
  std::set<int64_t> found;
  Constants constants;
  for (const Side* const side : {&pair.a, &pair.b}) {
    for_each_node(*side->model, [&](const Node& node) {
      const Value* const ends = node.is("Slice") ? node.input(2) : nullptr;
      const auto known = ends == nullptr ? std::nullopt : constants.value(*ends);
      if (!known || !kIndexTypes.has(known->type())) return;
      for (const int64_t number : truncated_integers_of(*known)) {
        if (number > 0 && number < kLargest) found.insert({number, number + 1});
      }
    });
  }
  std::vector<int64_t> out(found.begin(), found.end());
  out.resize(std::min(out.size(), kMost));
  return out;
}

/// The places of dims that callers of both models may choose, input and axis, by Port::key().
std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> open_dims(const Pair& pair) {
  const VerifyOptions& options = *pair.options;
  const auto bound = bound_dims(pair.a.model->graph(), pair.b.model->graph(), options);
  std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> places;
  for (const Port& port : required_inputs(pair.a.model->graph())) {
    if (options.shapes.contains(port.name) || options.inputs.contains(port.name)) continue;
    for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
      const std::string key = port.key(axis);
      if (port.dims[axis] < 0 && !bound.contains(key) && !options.dims.contains(port.symbols[axis]))
        places[key].emplace_back(port.name, axis);
    }
  }
  return places;
}

/// Sizes of all inputs with one dim replaced.
SizeChoice with_size(const ShapeOptions& sizes, const std::string& key, const std::vector<std::pair<std::string, std::size_t>>& places,
                     int64_t size) {
  SizeChoice out{sizes, escape(key) + " = " + std::to_string(size)};
  for (const auto& [input, axis] : places) {
    const auto found = out.options.shapes.find(input);
    if (found != out.options.shapes.end() && axis < found->second.size()) found->second[axis] = size;
  }
  return out;
}

/// The sizes of the samples, then those with a different size of one dim that callers of both models may choose.
std::vector<SizeChoice> all_sizes(const Pair& pair, const Reference& reference) {
  std::vector<SizeChoice> out;
  for (const Sample& sample : reference.samples()) {
    const auto has_its = [&](const SizeChoice& sizes) { return sizes.options.shapes == sample.assignment.shapes; };
    if (std::ranges::none_of(out, has_its)) out.push_back({{{}, sample.assignment.shapes}, ""});
  }
  if (out.empty()) return out;
  std::vector<int64_t> others = sizes_by_slices(pair);
  others.insert(others.end(), std::begin(thresholds::kOtherSizes), std::end(thresholds::kOtherSizes));
  for (const auto& [key, places] : open_dims(pair)) {
    for (const int64_t size : others) out.push_back(with_size(out.front().options, key, places, size));
  }
  return out;
}

/// The sizes that the original accepts, according to its file.
std::vector<SizeChoice> sizes_that_fit(const Pair& pair, const Reference& reference) {
  std::vector<SizeChoice> out = all_sizes(pair, reference);
  std::erase_if(out, [&](const SizeChoice& sizes) {
    return !sizes.text.empty() && !layout::Shapes(pair.a.model->graph(), sizes.options).misfit().empty();
  });
  return out;
}

/// The decision of a node at given sizes: whether a Slice leaves something out, the condition of an If, which elements a limit changes, the
/// results of a comparison. nullopt: it is not known.
using SizeDecision = std::optional<std::vector<bool>>;

/// Whether a comparison only makes the conditions of Wheres and Ifs, which are asked themselves.
bool is_read_as_condition(const Value& condition) {
  return std::ranges::all_of(condition.uses(), [](const Use& use) {
    if (use.node->is("If") || use.node->is("Where")) return use.index == 0;
    return has_trait(*use.node, Trait::makes_boolean) && use.node->output(0) != nullptr && is_read_as_condition(*use.node->output(0));
  });
}

/// Whether only the dims of a node's results count, not their numbers.
bool gives_dims_only(const Node& node) {
  const auto asks_dims = [](const Use& use) { return traits_of(*use.node).reads(as_size(use.index)) != Reads::elements; };
  return std::ranges::all_of(node.outputs(), [&](const Value* value) {
    return value == nullptr || (!value->is_output() && std::ranges::all_of(value->uses(), asks_dims));
  });
}

/// Whether a node may pass sizes on or put others in their place: a limit, a choice by a condition, a remainder, a comparison.
bool may_limit(const Node& node) {
  return limits(node) || node.is("Where") || node.is("Mod") || (compares(predicate_of(node)) && node.output(0) != nullptr);
}

std::optional<std::vector<double>> contents_of(const Value* value, layout::Shapes& shapes) {
  const auto known = value == nullptr ? std::nullopt : shapes.known(*value);
  if (!known || !known->has_contents || !(kNumericTypes | kBooleanTypes).has(known->datum.tensor.type())) return std::nullopt;
  return reals_of(known->datum.tensor);
}

/// Which elements of a limit of known numbers, which follow from sizes, differ from its first operand that is not constant.
SizeDecision decision_of_limit(const Node& node, layout::Shapes& shapes, Constants& constants) {
  const auto after = contents_of(node.output(0), shapes);
  if (!after) return std::nullopt;
  std::vector<bool> out;
  if (compares(predicate_of(node))) {
    for (const double result : *after) out.push_back(result != 0);
    return out;
  }
  const auto varies = [&](const Value* value) { return value != nullptr && !constants.is_constant(*value); };
  const auto from = std::find_if(node.inputs().begin() + (node.is("Where") ? 1 : 0), node.inputs().end(), varies);
  const auto before = from == node.inputs().end() ? std::nullopt : contents_of(*from, shapes);
  if (!before) return std::nullopt;
  for (std::size_t i = 0; i < after->size(); ++i) out.push_back((*before)[before->size() == after->size() ? i : 0] != (*after)[i]);
  return out;
}

SizeDecision decision_of(const Node& node, layout::Shapes& shapes, Constants& constants) {
  // A limit may be why nodes downstream do not fit.
  if (may_limit(node)) return decision_of_limit(node, shapes, constants);
  if (!shapes.misfit().empty()) return std::nullopt;
  if (node.is("If")) {
    const auto condition = node.input(0) == nullptr ? std::nullopt : shapes.known(*node.input(0));
    const auto truth = condition ? condition->truth() : std::nullopt;
    return truth ? SizeDecision({*truth}) : std::nullopt;
  }
  const Dims *const from = shapes.dims_of(node.input(0)), *const to = shapes.dims_of(node.output(0));
  if (from == nullptr || to == nullptr) return std::nullopt;
  return SizeDecision({*from != *to});
}

/// Whether a node rounds real numbers to whole ones.
bool makes_whole(const Node& node) {
  const DataTypeTraits* const to = has_trait(node, Trait::casts) ? find_traits(Attributes(node).integer("to", 0)) : nullptr;
  return (to != nullptr && !to->is_float) || rounds(node) != Rounds::none;
}

/// Whether numbers differ by no more than the rounding of a few results in 16 bits, in which one of two nodes computes them.
bool are_near(const Value& one, layout::Shapes& its, const Value& other, layout::Shapes& others) {
  const auto mine = contents_of(&one, its), theirs = contents_of(&other, others);
  if (!mine || !theirs || mine->size() != theirs->size()) return false;
  const auto type_of = [](const Value& value, layout::Shapes& shapes) { return shapes.known(value)->datum.tensor.type(); };
  const DataType coarse = coarser(type_of(one, its), type_of(other, others));
  double largest = 0;
  for (const double number : *mine) largest = std::isfinite(number) ? std::max(largest, std::fabs(number)) : largest;
  const double most = kHalfTypes.has(coarse) ? thresholds::kGainInRoundings * unit_roundoff(coarse) * largest : 0;
  return std::ranges::equal(*mine, *theirs, [&](double x, double y) { return x == y || std::fabs(x - y) <= most; });
}

/// Whether two nodes are the same operator with the same attributes.
bool compute_alike(const Node& a, const Node& b) {
  const auto has_all_of = [](const Node& of, const Node& in) {
    return std::ranges::all_of(of.message().attribute(), [&](const onnx::AttributeProto& attribute) {
      const onnx::AttributeProto* const same = in.attribute(attribute.name());
      return same != nullptr && same->SerializeAsString() == attribute.SerializeAsString();
    });
  };
  return a.op_type() == b.op_type() && a.domain() == b.domain() && a.inputs().size() == b.inputs().size() && has_all_of(a, b) &&
         has_all_of(b, a);
}

/// A decision of a node that no sample takes: at other sizes, or by data.
struct UnsampledDecision {
  const Node* node = nullptr;
  std::optional<std::size_t> sizes;  ///< index; nullopt: data
};

/// Whether only Slices read a limit, as starts and ends, which Slices limit themselves.
bool is_read_by_slices(const Value& limit) {
  return !limit.is_output() && std::ranges::all_of(limit.uses(), [](const Use& use) {
    if (use.node->is("Slice")) return use.index > 0;
    const Traits traits = traits_of(*use.node);
    const bool chooses = traits.has(Trait::elementwise) && !traits.has(Trait::casts);
    const bool passes_on = !chooses && (traits.moves_input(as_size(use.index)) || traits.has(Trait::casts));
    return passes_on && use.node->output(0) != nullptr && is_read_by_slices(*use.node->output(0));
  });
}

/// One model and its unsampled decisions.
class Deciding {
 public:
  Deciding(const Side& side, Evidence& evidence, const std::vector<SizeChoice>& sizes)
      : side_(side), evidence_(evidence), graph_(side.model->graph()), sizes_(sizes) {}

  [[nodiscard]] std::vector<UnsampledDecision> find() {
    std::vector<UnsampledDecision> out;
    const auto needed = needed_nodes(graph_);
    for_each_node(*side_.model, [&](const Node& node) {
      if (!needed.contains(&outermost(node))) return;
      if (!node.is("If") && !node.is("Slice") && (!may_limit(node) || gives_dims_only(node))) return;
      const OtherSizes other = differs_at(node);
      const bool by_data = !other.by_sizes && node.is("If") && &outermost(node) == &node && evidence_.misses_one_of(side_, node);
      if (by_data || other.at) out.push_back({&node, other.at});
    });
    return out;
  }

  /// Whether the node that decides by data does the same for all data.
  [[nodiscard]] bool is_without_effect(const UnsampledDecision& decision) const {
    return !decision.sizes && proof::Prover(*side_.model, *side_.model).gives_one_result(*decision.node);
  }

  /// Known shapes at the sizes of this index.
  [[nodiscard]] layout::Shapes& at(std::size_t i) { return shapes_.try_emplace(i, graph_, sizes_[i].options).first->second; }
  [[nodiscard]] const Graph& graph() const noexcept { return graph_; }

 private:
  /// The same in a nested graph, the inputs of which are unknown.
  [[nodiscard]] layout::Shapes& at(std::size_t i, const Graph& graph) {
    if (graph.owner() == nullptr) return at(i);
    const auto found = nested_.find({i, &graph});
    if (found != nested_.end()) return found->second;
    layout::Shapes& outer = at(i, graph.owner()->graph());
    std::vector<layout::Shapes::Given> inputs;
    for (const Value* const input : graph.inputs()) inputs.push_back({input});
    return nested_.try_emplace({i, &graph}, graph, ShapeOptions{}, &outer, layout::Shapes::Inside{}, inputs).first->second;
  }

  /// Other sizes at which a node decides differently from all samples, if any; and whether its decision follows from sizes.
  struct OtherSizes {
    bool by_sizes = true;
    std::optional<std::size_t> at;
  };
  [[nodiscard]] OtherSizes differs_at(const Node& node) {
    std::vector<std::array<bool, 2>> sampled;  // by element: whether a sample decides no, and yes
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const bool is_sample = sizes_[i].text.empty();
      const SizeDecision decision = decision_of(node, at(i, node.graph()), constants_);
      if (is_sample && !decision) return {false, {}};
      // A Slice that cuts values of the samples shows in them.
      if (is_sample && node.is("Slice") && decision->front()) return {};
      if (is_sample) sampled.resize(std::max(sampled.size(), decision->size()));
      bool is_new = false;
      for (std::size_t k = 0; decision && decision->size() <= sampled.size() && k < decision->size(); ++k) {
        bool& is_sampled = sampled[k][(*decision)[k] ? 1 : 0];
        is_new = is_new || !is_sampled;
        is_sampled = is_sampled || is_sample;
      }
      if (!is_sample && is_new) return {true, i};
    }
    return {};
  }

  const Side& side_;
  Evidence& evidence_;
  const Graph& graph_;
  const std::vector<SizeChoice>& sizes_;
  std::map<std::size_t, layout::Shapes> shapes_;
  std::map<std::pair<std::size_t, const Graph*>, layout::Shapes> nested_;
  Constants constants_;
};

/// Compares the decisions of two models.
class Decisions {
 public:
  explicit Decisions(Evidence& evidence)
      : pair_(evidence.pair()),
        sizes_(sizes_that_fit(pair_, evidence.reference())),
        a_(pair_.a, evidence, sizes_),
        b_(pair_.b, evidence, sizes_) {}

  /// The first unsampled decision of each model that the other one does not take.
  [[nodiscard]] VerifyFindings find() {
    const std::vector<UnsampledDecision> of_a = a_.find(), of_b = b_.find();
    VerifyFindings out;
    const auto add = [&](const UnsampledDecision* found, const std::string& model) {
      if (found != nullptr) out.push_back({.text = describe(*found, model), .node = reported_name(*found->node)});
    };
    add(first_alone(a_, b_, of_a, of_b), pair_.a.name);
    add(first_alone(b_, a_, of_b, of_a), pair_.b.name);
    if (!out.empty()) return out;
    for (const Node& node : b_.graph().nodes()) {
      for (const Value* const value : node.outputs()) {
        const auto other = value == nullptr ? std::nullopt : differs_at(*value);
        if (!other) continue;
        return {{.text = "output " + quote(value->name()) + " of node " + node.label() + " has other numbers in B than in A where " +
                         sizes_[*other].text + ", and no sample has that size (--dim, --shape)",
                 .node = reported_name(node)}};
      }
    }
    return out;
  }

 private:
  /// Whether the numbers that follow from sizes are known in both models, and the same.
  [[nodiscard]] static std::optional<bool> are_equal(const Value& one, layout::Shapes& its, const Value& other, layout::Shapes& others) {
    const auto mine = contents_of(&one, its), theirs = contents_of(&other, others);
    return mine && theirs ? std::optional(*mine == *theirs) : std::nullopt;
  }

  /// The first sizes at which a value of B has other numbers than that of its name in A, though it has the same in all samples.
  [[nodiscard]] std::optional<std::size_t> differs_at(const Value& value) {
    const Value* const namesake = a_.graph().find(value.name());
    if (namesake == nullptr) return std::nullopt;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const bool is_sample = sizes_[i].text.empty();
      const auto equal = are_equal(value, b_.at(i), *namesake, a_.at(i));
      if (is_sample && !equal.value_or(false)) return std::nullopt;
      if (is_sample || equal.value_or(true)) continue;
      if (!is_rounded(value, *namesake, i) && !(differs_by_rounding(value, *namesake, i) && has_same_dims(i))) return i;
    }
    return std::nullopt;
  }

  /// Whether real numbers of B are those of A but for rounding: what follows from them is asked itself.
  [[nodiscard]] bool is_rounded(const Value& of_b, const Value& of_a, std::size_t sizes) {
    return are_near(of_b, b_.at(sizes), of_a, a_.at(sizes)) && has_same_dims(sizes);
  }

  /// Whether numbers of B and A differ only as rounding in 16 bits takes some of them past a whole number: both are computed from there on
  /// by the same nodes.
  [[nodiscard]] bool differs_by_rounding(const Value& of_b, const Value& of_a, std::size_t sizes, int depth = 0) {
    constexpr int kDeepest = 8;
    if (are_equal(of_b, b_.at(sizes), of_a, a_.at(sizes)).value_or(false)) return true;
    const Node *const b = of_b.producer(), *const a = of_a.producer();
    if (depth > kDeepest || a == nullptr || b == nullptr || !compute_alike(*a, *b)) return false;
    const auto is_explained = [&](const Value* mine, const Value* theirs) {
      if (mine == nullptr || theirs == nullptr) return mine == theirs;
      return makes_whole(*b) ? are_near(*mine, b_.at(sizes), *theirs, a_.at(sizes)) : differs_by_rounding(*mine, *theirs, sizes, depth + 1);
    };
    return std::ranges::equal(b->inputs(), a->inputs(), is_explained);
  }

  /// Whether every value that both models have has the same dims in both, where these are known.
  [[nodiscard]] bool has_same_dims(std::size_t sizes) {
    layout::Shapes &a = a_.at(sizes), &b = b_.at(sizes);
    const auto is_same = [&](const Value* value) {
      const Value* const namesake = value == nullptr ? nullptr : a_.graph().find(value->name());
      const Dims* const of_a = namesake == nullptr ? nullptr : a.dims_of(namesake);
      const Dims* const of_b = of_a == nullptr ? nullptr : b.dims_of(value);
      return of_b == nullptr || *of_a == *of_b;
    };
    const auto has_same = [&](const Node& node) { return std::ranges::all_of(node.outputs(), is_same); };
    return std::ranges::all_of(b_.graph().nodes(), has_same) && a.misfit().empty() == b.misfit().empty();
  }

  /// Whether all numbers computed from a value have the same name and contents in the other model, at sizes of this index.
  [[nodiscard]] bool is_made_up_for(const Value& value, Deciding& half, Deciding& other, std::size_t sizes, int depth = 0) {
    constexpr int kDeepest = 8;
    const Value* const namesake = other.graph().find(value.name());
    if (namesake != nullptr) return are_equal(value, half.at(sizes), *namesake, other.at(sizes)).value_or(false);
    if (value.is_output() || value.uses().empty() || depth > kDeepest) return false;
    return std::ranges::all_of(value.uses(), [&](const Use& use) {
      const Value* const made = use.node->output(0);
      return made != nullptr && is_made_up_for(*made, half, other, sizes, depth + 1);
    });
  }

  /// The first decision without a counterpart among the others: of the same operator, or both limits, at the same sizes.
  [[nodiscard]] const UnsampledDecision* first_alone(Deciding& half, Deciding& other, const std::vector<UnsampledDecision>& decisions,
                                                     std::vector<UnsampledDecision> others) {
    for (const UnsampledDecision& decision : decisions) {
      const auto is_it = [&](const UnsampledDecision& one) {
        const bool is_like = one.node->op_type() == decision.node->op_type() || (may_limit(*one.node) && may_limit(*decision.node));
        return is_like && one.sizes == decision.sizes;
      };
      const auto found = std::ranges::find_if(others, is_it);
      const bool is_condition = compares(predicate_of(*decision.node)) && is_read_as_condition(*decision.node->output(0));
      const bool is_made_up =
          decision.sizes && may_limit(*decision.node) && is_made_up_for(*decision.node->output(0), half, other, *decision.sizes);
      if (found == others.end() && !is_condition && !is_made_up && !is_done_by_slices(decision) && !half.is_without_effect(decision)) {
        return &decision;
      }
      // Several comparisons may make one limit.
      if (found != others.end() && !compares(predicate_of(*decision.node))) others.erase(found);
    }
    return nullptr;
  }

  /// Whether the Slices that read a limit have the same effect without it at its sizes: every value that both models have then has the same
  /// dims in both.
  [[nodiscard]] bool is_done_by_slices(const UnsampledDecision& decision) {
    return limits(*decision.node) && decision.sizes && is_read_by_slices(*decision.node->output(0)) && has_same_dims(*decision.sizes);
  }

  [[nodiscard]] std::string describe(const UnsampledDecision& decision, const std::string& model) const {
    return "node " + decision.node->label() + " is in " + escape(model) + " alone, " +
           (decision.sizes ? "and no size of the samples shows its effect, " + sizes_[*decision.sizes].text + " does (--dim, --shape)"
                           : std::string("and no sample enters one of its graphs") + kMoreSamples);
  }

  const Pair& pair_;
  std::vector<SizeChoice> sizes_;
  Deciding a_, b_;
};

/// Whether a node has to do with sizes, or one that reads an integer constant, perhaps joined with others.
bool is_about_sizes(const Graph& graph, const std::string& name) {
  const auto has_sizes = [](const Node& node) {
    const Traits traits = traits_of(node);
    return traits.reads_sizes() || (traits.has(Trait::keeps_order) && !traits.has(Trait::same_dims));
  };
  const Node* const node = find_node(graph, name);
  if (node != nullptr && !node->inputs().empty()) return has_sizes(*node);
  const Value* const value = graph.find(name);
  if (value == nullptr || !kIntegerTypes.has(Constants().type_of(*value))) return false;
  return std::ranges::any_of(value->uses(), [&](const Use& use) {
    const Traits traits = traits_of(*use.node);
    return has_sizes(*use.node) || traits.moves_input(as_size(use.index)) || traits.has(Trait::casts);
  });
}

/// Compares what sizes do to two models where all samples have the same size of a dim.
class OneSize {
 public:
  explicit OneSize(Evidence& evidence) : evidence_(evidence), pair_(evidence.pair()), reference_(evidence.reference()) {}

  /// A difference that another size might show.
  [[nodiscard]] VerifyFindings find() const {
    const Unexplained* const entry = find_entry();
    if (entry == nullptr || reference_.samples().empty()) return {};
    for (const auto& [key, places] : open_dims(pair_)) {
      const auto size_of = [&k = key](const Sample& sample) {
        const auto found = sample.assignment.dims.find(k);
        return found == sample.assignment.dims.end() ? int64_t{0} : found->second;
      };
      const int64_t size = size_of(reference_.samples().front());
      const auto has_it = [&](const Sample& sample) { return size_of(sample) == size; };
      if (size == 0 || !std::ranges::all_of(reference_.samples(), has_it) || !may_show(key, places, size)) continue;
      return {{.text = entry->text + ", and all samples have " + escape(key) + " = " + std::to_string(size) + " (--dim, --shape)",
               .node = entry->name}};
    }
    return {};
  }

 private:
  /// The first difference about sizes that nothing has explained.
  [[nodiscard]] const Unexplained* find_entry() const {
    const std::vector<Unexplained>& entries = evidence_.unexplained();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Unexplained& entry = entries[i];
      if (evidence_.is_acquitted(i) || is_kept(entry)) continue;
      if (is_about_sizes(pair_.a.model->graph(), entry.name) || is_about_sizes(pair_.b.model->graph(), entry.name)) return &entry;
    }
    return nullptr;
  }

  /// Whether both models have a node of this name, with the same operands: only its place in the proof differs.
  [[nodiscard]] bool is_kept(const Unexplained& entry) const {
    using Kind = Unexplained::Kind;
    if (entry.kind == Kind::attribute || entry.kind == Kind::operand || entry.values > 0) return false;
    const Node *const a = find_node(pair_.a.model->graph(), entry.name), *const b = find_node(pair_.b.model->graph(), entry.name);
    const auto is_alike = [](const Value* x, const Value* y) { return x == nullptr || y == nullptr ? x == y : x->name() == y->name(); };
    return a != nullptr && b != nullptr && a->op_type() == b->op_type() && std::ranges::equal(a->inputs(), b->inputs(), is_alike);
  }

  /// Whether the first other size that A accepts, according to its file, gives values of one name other dims, or dims that are not known.
  [[nodiscard]] bool may_show(const std::string& key, const std::vector<std::pair<std::string, std::size_t>>& places, int64_t size) const {
    const Graph &a = pair_.a.model->graph(), &b = pair_.b.model->graph();
    const ShapeOptions sizes{{}, reference_.samples().front().assignment.shapes};
    for (const int64_t other : {2 * size, 3 * size, size + 1, 4 * size, size + 2, size / 2, int64_t{1}}) {
      if (other == size || other == 0) continue;
      const SizeChoice choice = with_size(sizes, key, places, other);
      layout::Shapes of_a(a, choice.options), of_b(b, choice.options);
      if (!of_a.misfit().empty()) continue;
      const auto differs = [&](const Value* value) {
        const Value* const there = value == nullptr ? nullptr : b.find(value->name());
        if (there == nullptr) return false;
        const Dims *const dims = of_a.dims_of(value), *const dims_there = of_b.dims_of(there);
        return dims == nullptr || dims_there == nullptr || *dims != *dims_there;
      };
      return !of_b.misfit().empty() ||
             std::ranges::any_of(a.nodes(), [&](const Node& node) { return std::ranges::any_of(node.outputs(), differs); });
    }
    return false;
  }

  Evidence& evidence_;
  const Pair& pair_;
  const Reference& reference_;
};

}  // namespace

VerifyFindings find_dims_of_one_size(Evidence& evidence) {
  return OneSize(evidence).find();
}

VerifyFindings find_other_sizes(Evidence& evidence) {
  return Decisions(evidence).find();
}

}  // namespace relayout

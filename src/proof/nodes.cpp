// Compares two nodes with their operands and nested graphs, and finds where the models meet again after nodes that differ.

#include <cmath>

#include "base/positions.h"
#include "base/text.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "ops/op_history.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Whether a node produces random values: two such nodes must stay two.
bool is_random(const Node& node, bool is_call) {
  if (!node.domain().empty()) return !is_call;
  if (node.op_type() == "Dropout") return node.opset() >= 12;
  return has_trait(node, Trait::random) && node.attribute("seed") == nullptr;
}

void examine_bodies(Sides& sides, const Claim& claim, Look& look) {
  const Node& a = *claim.a.value->producer();
  const Node& b = *claim.b.value->producer();
  if (a.subgraphs().size() == b.subgraphs().size()) {
    // Graphs are in the order of the attributes, which may differ.
    const auto names_a = a.subgraph_attributes();
    auto names_b = b.subgraph_attributes();
    for (std::size_t i = 0; i < names_a.size(); ++i) {
      const auto found = std::ranges::find(names_b, names_a[i]);
      if (found == names_b.end()) continue;
      *found = {};
      pair_graphs(sides, *a.subgraphs()[i], claim.a.call, *b.subgraphs()[as_size(found - names_b.begin())], claim.b.call, look);
    }
  }
  const Graph* const function_a = sides.a.function_of(a);
  const Graph* const function_b = sides.b.function_of(b);
  if ((function_a != nullptr) != (function_b != nullptr)) {
    look.issues.push_back(issue_of_node(sides, Unexplained::Kind::graph, b, false, "calls a function that only one of the models has"));
  } else if (function_b != nullptr && sides.graph_of_first(*function_b) == nullptr) {
    pair_graphs(sides, *function_a, nullptr, *function_b, nullptr, look);
  }
}

}  // namespace

bool makes_same_outputs(const Node& a, const Node& b) {
  const auto is_made = [](const Value* output) { return output != nullptr; };
  const auto trimmed = [&](std::span<Value* const> outputs) {
    while (!outputs.empty() && !is_made(outputs.back())) outputs = outputs.first(outputs.size() - 1);
    return outputs;
  };
  return std::ranges::equal(trimmed(a.outputs()), trimmed(b.outputs()), {}, is_made, is_made);
}

Found step_down(Sides& sides, const Claim& claim) {
  Look look;
  Ref a = claim.a, b = claim.b;
  const Node *const node_a = a.value->producer(), *const node_b = b.value->producer();
  // The other operands are accounted for.
  const auto pass_on = [](Side& side, Ref& at, std::size_t index, std::vector<Ref>& constants) {
    for (std::size_t i = 0; i < at.value->producer()->inputs().size(); ++i) {
      if (const Ref other = i == index ? Ref() : side.operand(at, i)) constants.push_back(other);
    }
    at = side.operand(at, index);
  };
  if (const auto of_a = operand_passed_on(sides.a, sides.shapes_a, a)) {
    look.bypassed.push_back(node_a);
    pass_on(sides.a, a, *of_a, look.constants_a);
  } else if (const auto of_b = operand_passed_on(sides.b, sides.shapes_b, b)) {
    look.nodes_b.push_back(node_b);
    pass_on(sides.b, b, *of_b, look.constants_b);
  } else if (const Ref upstream_a = upstream_of_transposes(sides.a, a, look.bypassed)) {
    a = upstream_a;
  } else if (const Ref upstream_b = upstream_of_transposes(sides.b, b, look.nodes_b)) {
    b = upstream_b;
  } else if (const Ref squeezed_a = upstream_of_squeeze(sides.a, a, look.bypassed)) {
    a = squeezed_a;
  } else if (const Ref squeezed_b = upstream_of_squeeze(sides.b, b, look.nodes_b)) {
    b = squeezed_b;
  } else if (Undone undone_a = upstream_of_inverse(sides.a, sides.shapes_a, a); undone_a.value) {
    look.bypassed = std::move(undone_a.nodes);
    look.constants_a = std::move(undone_a.constants);
    a = undone_a.value;
  } else if (Undone undone_b = upstream_of_inverse(sides.b, sides.shapes_b, b); undone_b.value) {
    look.nodes_b = std::move(undone_b.nodes);
    look.constants_b = std::move(undone_b.constants);
    b = undone_b.value;
  } else if (const auto inside_a = sides.a.entered(a)) {
    look.nodes_a.push_back(node_a);
    if (sides.a.function_of(*node_a) == nullptr && node_b != nullptr) look.rewritten.push_back(node_b);
    a = *inside_a;
  } else if (const auto inside_b = sides.b.entered(b)) {
    look.nodes_b.push_back(node_b);
    if (sides.b.function_of(*node_b) == nullptr) look.rewritten.push_back(node_b);
    b = *inside_b;
  } else {
    return std::nullopt;
  }
  look.next = claim;
  look.next->a = a;
  look.next->b = b;
  return look;
}

// Reductions that keep their axes or not.
namespace {

/// A reduction, with the Squeeze that removes the axes that it keeps, if there is one.
struct Reduction {
  Ref result;
  std::vector<int64_t> axes;  ///< in order
  bool removes_axes = false;
  const Node* squeeze = nullptr;
  std::vector<Ref> constants;  ///< operands that say which axes
};

/// Axes counted from the first where the dims are known, in order; none: all.
std::vector<int64_t> in_order(std::vector<int64_t> axes, const std::optional<Dims>& dims) {
  for (int64_t& axis : axes) axis += axis < 0 && dims ? std::ssize(*dims) : 0;
  const bool are_all = axes.empty() && dims;
  for (int64_t axis = 0; are_all && axis < std::ssize(*dims); ++axis) axes.push_back(axis);
  std::ranges::sort(axes);
  return axes;
}

/// The axes that a node reduces, as written; none: all; nullopt: not known, or it is no reduction.
std::optional<std::vector<int64_t>> reduced_axes(Side& side, Ref output, const AttributeReader& attributes) {
  const Node& node = *output.value->producer();
  if (has_trait(node, Trait::searches) && has_trait(node, Trait::makes_int64)) return std::vector{attributes.integer("axis", 0)};
  if (reduces(node) == Reduces::none || attributes.integer("noop_with_empty_axes", 0) != 0) return std::nullopt;
  if (attributes.has("axes")) return attributes.integers("axes");
  const Ref given = side.operand(output, 1);
  return given ? integers_of(side, given) : std::vector<int64_t>{};
}

std::optional<Reduction> read_reduction(Side& side, Shapes& shapes, Ref output) {
  const Node* const node = output.value->producer();
  if (node == nullptr || !node->domain().empty() || !side.operand(output, 0)) return std::nullopt;
  const AttributeReader attributes(*node, output.call);
  const auto axes = reduced_axes(side, output, attributes);
  if (!axes || attributes.is_open()) return std::nullopt;
  Reduction out{output, in_order(*axes, shapes.of(side.operand(output, 0))), attributes.integer("keepdims", 1) == 0, nullptr, {}};
  if (const Ref given = side.operand(output, 1)) out.constants.push_back(given);
  return out;
}

std::optional<Reduction> read_squeezed_reduction(Side& side, Shapes& shapes, Ref output) {
  const Node* const node = output.value->producer();
  if (node == nullptr || !node->is("Squeeze") || !side.operand(output, 0)) return read_reduction(side, shapes, output);
  auto out = read_reduction(side, shapes, side.operand(output, 0));
  const auto removed = out && !out->removes_axes ? written_axes(side, output) : std::nullopt;
  if (!removed || in_order(*removed, shapes.of(side.operand(out->result, 0))) != out->axes) return std::nullopt;
  out->removes_axes = true;
  out->squeeze = node;
  if (const Ref given = side.operand(output, 1)) out->constants.push_back(given);
  return out;
}

}  // namespace

Found examine_reduction(Sides& sides, const Claim& claim) {
  const auto a = read_squeezed_reduction(sides.a, sides.shapes_a, claim.a), b = read_squeezed_reduction(sides.b, sides.shapes_b, claim.b);
  if (!a || !b || a->axes != b->axes || a->removes_axes != b->removes_axes || (a->squeeze == nullptr) == (b->squeeze == nullptr))
    return std::nullopt;
  const Claim reduced{a->result, b->result, {}, {}, {}, {}, claim.reader};
  const Node &of_a = *a->result.value->producer(), &of_b = *b->result.value->producer();
  const auto says_axes = [](const std::string& name) { return name == "keepdims" || name == "axes" || name == "axis"; };
  if (!same_operator(of_a, of_b) || !same_semantics(of_a, reduced.a.call, of_b, reduced.b.call) ||
      !std::ranges::all_of(different_attributes(sides.a, reduced.a, sides.b, reduced.b), says_axes))
    return std::nullopt;
  Look look;
  look.nodes_a.push_back(&of_a);
  look.nodes_b.push_back(&of_b);
  look.rewritten.push_back(&of_b);
  if (a->squeeze != nullptr) look.bypassed.push_back(a->squeeze);
  if (b->squeeze != nullptr) look.nodes_b.push_back(b->squeeze);
  look.constants_a = a->constants;
  look.constants_b = b->constants;
  look.claims.push_back({sides.a.operand(reduced.a, 0), sides.b.operand(reduced.b, 0), {}, {}, {}, {}, &of_b});
  return look;
}

// The place of the largest probability, which is that of the largest logarithm.
namespace {

/// Whether a node makes probabilities, or their logarithms, of numbers along the axis that an attribute gives.
bool makes_probabilities(const Node& node, int64_t axis) {
  return has_trait(node, Trait::softmax) && node.opset() >= kOneAxisOpset && softmax_axis(node) == axis;
}

}  // namespace

Found examine_likeliest(Sides& sides, const Claim& claim) {
  const Node &a = *claim.a.value->producer(), &b = *claim.b.value->producer();
  const Ref of_a = sides.a.operand(claim.a, 0), of_b = sides.b.operand(claim.b, 0);
  if (!a.is("ArgMax") || !of_a || !of_b || of_a.value->producer() == nullptr || of_b.value->producer() == nullptr) return std::nullopt;
  const Node &made_a = *of_a.value->producer(), &made_b = *of_b.value->producer();
  const int64_t axis_a = Attributes(a).integer("axis", 0), axis_b = Attributes(b).integer("axis", 0);
  const bool differ = made_a.op_type() != made_b.op_type();
  if (!differ || !makes_probabilities(made_a, axis_a) || !makes_probabilities(made_b, axis_b)) return std::nullopt;
  Look look;
  compare_heads(sides, claim, {}, look);
  look.bypassed.push_back(&made_a);
  look.nodes_b.push_back(&made_b);
  look.rewritten.push_back(&made_b);
  look.claims.push_back({sides.a.operand(of_a, 0), sides.b.operand(of_b, 0), {}, {}, {}, {}, &made_b});
  return look;
}

void compare_heads(Sides& sides, const Claim& claim, std::string_view ignored, Look& look) {
  const Node& a = *claim.a.value->producer();
  const Node& b = *claim.b.value->producer();
  const std::size_t issues = look.issues.size();
  if (!same_semantics(a, claim.a.call, b, claim.b.call)) {
    look.issues.push_back(issue_of_node(
        sides, Unexplained::Kind::node_changed, b, false,
        "is of opset " + std::to_string(b.opset()) + ", was of " + std::to_string(a.opset()) + ", where its operator is another version"));
  }
  if (!makes_same_outputs(a, b)) {
    look.issues.push_back(issue_of_node(sides, Unexplained::Kind::node_changed, b, false, "makes other outputs than before"));
  }
  if (claim.a.value->output_index() != claim.b.value->output_index()) {
    look.issues.push_back(issue_of_reader(sides, Unexplained::Kind::operand, claim,
                                          "reads output " + std::to_string(claim.b.value->output_index()) + " of " +
                                              sides.b.in_file(b).label() + " where output " +
                                              std::to_string(claim.a.value->output_index()) + " was read"));
  }
  const auto moved = moved_argument(a, b);
  for (const std::string& name : different_attributes(sides.a, claim.a, sides.b, claim.b, ignored)) {
    if (moved && moved->attribute == name && is_same_argument(sides.a, claim.a, sides.b, claim.b, *moved)) continue;
    look.issues.push_back(issue_of_node(sides, Unexplained::Kind::attribute, b, false, "has another attribute " + quote(name)));
    measure_number(a, b, name, look.issues.back().what);
    look.issues.back().what.repair = repair_of_attribute(claim, name);
  }
  look.nodes_a.push_back(&a);
  look.nodes_b.push_back(&b);
  if (look.issues.size() == issues) look.equal_nodes.emplace_back(&a, &b);
  for (std::size_t i = issues; i < look.issues.size(); ++i) look.issues[i].partner = &sides.a.in_file(a);
}

Look examine_nodes(Sides& sides, const Claim& claim) {
  const Node& node = *claim.b.value->producer();
  Look look;
  compare_heads(sides, claim, {}, look);
  look.is_exclusive = claim.a.call == nullptr && claim.b.call == nullptr && is_random(node, sides.b.function_of(node) != nullptr);
  examine_operands(sides, claim, 0, look);
  examine_bodies(sides, claim, look);
  return look;
}

namespace {

/// Whether two operands of a node that broadcasts are one number, in dims that are those of the result or fewer.
bool are_one_number(Sides& sides, const Claim& claim, Ref of_a, Ref of_b) {
  constexpr int kAsNumpy = 7;  // from this version on operands are broadcast so
  const Node &a = *claim.a.value->producer(), &b = *claim.b.value->producer();
  if (!has_trait(b, Trait::broadcasts) || std::min(a.opset(), b.opset()) < kAsNumpy) return false;
  const auto in_a = reals_of(sides.a, of_a, 1), in_b = in_a ? reals_of(sides.b, of_b, 1) : std::nullopt;
  if (!in_b || in_a->size() != 1 || in_b->size() != 1 || in_a->front() != in_b->front()) return false;
  if (sides.a.constant(of_a)->dims == sides.b.constant(of_b)->dims) return false;  // the constants themselves are compared then
  if (std::signbit(in_a->front()) != std::signbit(in_b->front()) || sides.a.type_of(of_a) != sides.b.type_of(of_b)) return false;
  const auto dims_a = sides.shapes_a.of(claim.a), dims_b = sides.shapes_b.of(claim.b);
  return dims_a && dims_b && dims_a->size() == dims_b->size();
}

}  // namespace

void examine_operands(Sides& sides, const Claim& claim, std::size_t first, Look& look) {
  const Node& a = *claim.a.value->producer();
  const Node& b = *claim.b.value->producer();
  const auto moved = moved_argument(a, b);
  for (std::size_t i = first; i < std::max(a.inputs().size(), b.inputs().size()); ++i) {
    const Ref of_a = sides.a.operand(claim.a, i);
    const Ref of_b = sides.b.operand(claim.b, i);
    if (!of_a && !of_b) continue;
    if ((moved && moved->input == i && is_same_argument(sides.a, claim.a, sides.b, claim.b, *moved)) ||
        (of_a && of_b && are_one_number(sides, claim, of_a, of_b))) {
      if (of_a) look.constants_a.push_back(of_a);
      if (of_b) look.constants_b.push_back(of_b);
      continue;
    }
    Claim operand{of_a, of_b, {}, {}, {}, {}, &b};
    if (!of_a || !of_b) {
      if (is_default_operand(sides, of_a ? claim.a : claim.b, i, static_cast<bool>(of_a), look)) continue;
      look.issues.push_back(issue_of_node(sides, Unexplained::Kind::operand, b, false,
                                          of_b ? "has " + quote(of_b.value->name()) + " as an operand that was absent"
                                               : "has lost its operand " + quote(of_a.value->name())));
    } else if (takes_numbers(sides, claim, i)) {
      operand.as_numbers = true;
      look.claims.push_back(std::move(operand));
    } else if (auto stored = examine_stored(sides, operand)) {
      // Stored constants are examined here, so that another reading of the whole node can be tried if they differ.
      look.add(std::move(*stored));
    } else {
      look.claims.push_back(std::move(operand));
    }
  }
}

void pair_graphs(Sides& sides, const Graph& a, const Call* call_a, const Graph& b, const Call* call_b, Look& look) {
  if (a.inputs().size() != b.inputs().size() || a.outputs().size() != b.outputs().size()) {
    const std::string where = b.is_function()        ? "function " + quote(b.function()->name())
                              : b.owner() != nullptr ? "a graph in " + b.owner()->label()
                                                     : "the graph";
    look.issues.push_back({{Unexplained::Kind::graph, "", where + " has another number of inputs or outputs", 0, 0, false},
                           b.owner() != nullptr ? sides.b.order_of(*b.owner()) : 0});
    return;
  }
  look.graphs.emplace_back(&a, &b);
  for (std::size_t i = 0; i < b.outputs().size(); ++i) {
    look.claims.push_back({{a.outputs()[i], call_a}, {b.outputs()[i], call_b}, {}, {}, {}, {}, b.owner()});
  }
}

Look resynchronize(Sides& sides, const Claim& claim) {
  Look look;
  const Node* const a = claim.a.value->producer();
  const Node* const b = claim.b.value->producer();
  const auto meets = [&](Ref of_a, Ref of_b, bool by_name) {
    if (!of_a || !of_b) return false;
    if (by_name) return of_a.value->name() == of_b.value->name();
    const Node* const made_a = of_a.value->producer();
    const Node* const made_b = of_b.value->producer();
    if (made_a == nullptr || made_b == nullptr) return sides.same_input(*of_a.value, *of_b.value);
    // An operator that computes a weight in one of the models is no meeting point.
    return same_operator(*made_a, *made_b) && sides.a.constant(of_a).has_value() == sides.b.constant(of_b).has_value();
  };
  // A Cast that only one model has replaces no node: its operand is the value of the other model.
  const bool is_cast_added = (a != nullptr && a->is("Cast")) != (b != nullptr && b->is("Cast"));
  const auto is_replaced = [&](bool by_name) {
    return !is_cast_added && a != nullptr && b != nullptr && meets(sides.a.operand(claim.a, 0), sides.b.operand(claim.b, 0), by_name);
  };
  for (const bool by_name : {true, false}) {
    if (!by_name && is_replaced(by_name)) break;
    for (std::size_t i = 0; b != nullptr && i < b->inputs().size(); ++i) {
      const Ref upstream = sides.b.operand(claim.b, i);
      if (!meets(claim.a, upstream, by_name)) continue;
      look.issues.push_back(issue_of_node(sides, Unexplained::Kind::node_added, *b, false, "was not there"));
      look.nodes_b.push_back(b);
      look.claims.push_back({claim.a, upstream, {}, {}, {}, {}, b});
      return look;
    }
    for (std::size_t i = 0; a != nullptr && i < a->inputs().size(); ++i) {
      const Ref upstream = sides.a.operand(claim.a, i);
      if (!meets(upstream, claim.b, by_name)) continue;
      Issue issue = issue_of_node(sides, Unexplained::Kind::node_removed, *a, true, "is gone; no fold explains it");
      issue.order = order_of(sides, claim);
      look.issues.push_back(std::move(issue));
      look.nodes_a.push_back(a);
      look.claims.push_back({upstream, claim.b, {}, {}, {}, {}, claim.reader});
      return look;
    }
    if (is_replaced(by_name)) break;
  }
  if (a == nullptr || b == nullptr) {
    look.issues.push_back(issue_of_other_value(sides, claim, *claim.a.value));
    return look;
  }
  const Node &node_a = sides.a.in_file(*a), &node_b = sides.b.in_file(*b);
  const bool is_namesake = !node_b.name().empty() && node_a.name() == node_b.name() && node_a.op_type() != node_b.op_type();
  const std::string was = is_namesake ? "had the operator " + escape(node_a.op_type()) : "stands where " + node_a.label() + " was";
  look.issues.push_back(issue_of_node(sides, Unexplained::Kind::node_changed, *b, false, was));
  look.issues.back().partner = &sides.a.in_file(*a);
  look.nodes_a.push_back(a);
  look.nodes_b.push_back(b);
  for (std::size_t i = 0; i < std::min(a->inputs().size(), b->inputs().size()); ++i) {
    const Ref of_a = sides.a.operand(claim.a, i);
    const Ref of_b = sides.b.operand(claim.b, i);
    if (of_a && of_b) look.claims.push_back({of_a, of_b, {}, {}, {}, {}, b});
  }
  return look;
}

}  // namespace relayout::proof

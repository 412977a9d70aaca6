// Compares values by their elements in row-major order, where only one model reshapes, or at other places.

#include "base/positions.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "proof/attributes.h"
#include "proof/chain.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

bool is_elementwise(const Node& node) {
  // Before opset 7 operands were broadcast by attributes.
  return node.opset() >= 7 && has_trait(node, Trait::elementwise);
}

bool is_single(Side& side, Ref ref) {
  const auto constant = side.constant(ref);
  return constant && element_count(constant->dims) == 1;
}

/// Whether an affine has the same effect on a value with different dims but the same last axis, which it does not enlarge.
bool is_flat_step(Shapes& shapes, const Step& step) {
  if (step.lanes.size() == 1) return step.constant_rank <= 1;
  const auto dims = step.constant_rank <= 1 && step.axis.from_back && step.axis.index == 0 ? shapes.of(step.input) : std::nullopt;
  return dims && !dims->empty() && dims->back() == std::ssize(step.lanes);
}

/// A dim or a count of elements: a number times dims that are not certain, each where it comes from.
struct Count {
  int64_t number = 1;
  std::vector<Shapes::Origin> free;

  [[nodiscard]] bool multiply(const std::optional<Count>& by) {
    const auto product = by ? checked_mul(number, by->number) : std::nullopt;
    if (!product) return false;
    number = *product;
    free.insert(free.end(), by->free.begin(), by->free.end());
    return true;
  }
};

template <class Same = std::equal_to<>>
bool are_equal(const std::optional<Count>& one, const std::optional<Count>& other, Same same = {}) {
  return one && other && one->number == other->number && std::ranges::is_permutation(one->free, other->free, same);
}

/// What a Reshape requests: dims, their product, and the place of the one that it leaves to the number of elements, in both counted as 1.
struct Request {
  std::vector<Count> dims;
  Count named;
  std::optional<int64_t> found;
};

/// Counts the elements of one model's values.
class Counts {
 public:
  Counts(Side& side, Shapes& shapes) : side_(side), shapes_(shapes) {}

  [[nodiscard]] std::optional<Count> dim(Ref ref, int64_t axis) {
    const auto dims = shapes_.of(ref);
    if (!dims || axis >= std::ssize(*dims)) return std::nullopt;
    if (const int64_t certain = element_at(*dims, axis); certain >= 0) return Count{certain, {}};
    const Shapes::Origin origin = shapes_.origin_of(ref, axis);
    const Node* const maker = origin.value ? origin.value.value->producer() : nullptr;
    if (maker != nullptr && is_reshaping(*maker) && left_-- > 0) {
      if (auto made = made_by_reshape(*maker, origin)) return made;
    }
    return Count{1, {origin}};
  }

  [[nodiscard]] std::optional<Count> elements(Ref ref) {
    while (ref && ref.value->producer() != nullptr && is_reshaping(*ref.value->producer())) ref = side_.operand(ref, 0);
    if (!ref) return std::nullopt;
    const auto dims = shapes_.of(ref);
    return dims ? product_of(ref, 0, std::ssize(*dims)) : std::nullopt;
  }

  /// Whether a node that keeps its elements in order runs wherever its operand is there.
  [[nodiscard]] bool is_certain_to_run(Ref output) {
    const Node& node = *output.value->producer();
    const Ref data = side_.operand(output, 0);
    const auto before = certain_dims(shapes_, data), after = before ? certain_dims(shapes_, output) : std::nullopt;
    if (before && after) return element_count(*before) == element_count(*after);
    if (node.is("Flatten") || node.is("Unsqueeze") || !is_reshaping(node)) return shapes_.of(output).has_value();
    if (!node.is("Reshape")) return false;
    const auto wanted = request(output);
    const auto given = wanted ? elements(data) : std::nullopt;
    if (!given) return false;
    // Where one dim is found, none of the others may be 0.
    if (wanted->found) return wanted->named.free.empty() && wanted->named.number > 0 && given->number % wanted->named.number == 0;
    return given->number == wanted->named.number && std::ranges::is_permutation(given->free, wanted->named.free);
  }

 private:
  [[nodiscard]] std::optional<Count> product_of(Ref ref, int64_t first, int64_t last) {
    Count out;
    for (int64_t axis = first; axis < last; ++axis) {
      if (!out.multiply(dim(ref, axis))) return std::nullopt;
    }
    return out;
  }

  /// The dim of a Reshape or Flatten that its request or its operand's elements tell.
  [[nodiscard]] std::optional<Count> made_by_reshape(const Node& node, const Shapes::Origin& made) {
    const Ref data = side_.operand(made.value, 0);
    if (node.is("Flatten")) {
      const auto dims = shapes_.of(data);
      const AttributeReader attributes(node, made.value.call);
      int64_t split = attributes.integer("axis", 1);
      split += dims && split < 0 ? std::ssize(*dims) : 0;
      if (!dims || attributes.is_open() || split < 0 || split > std::ssize(*dims)) return std::nullopt;
      return made.axis == 0 ? product_of(data, 0, split) : product_of(data, split, std::ssize(*dims));
    }
    const auto wanted = node.is("Reshape") ? request(made.value) : std::nullopt;
    if (!wanted || made.axis >= std::ssize(wanted->dims)) return std::nullopt;
    if (wanted->found != made.axis) return element_at(wanted->dims, made.axis);
    if (!wanted->named.free.empty() || wanted->named.number <= 0) return std::nullopt;
    auto out = elements(data);
    if (!out || out->number % wanted->named.number != 0) return std::nullopt;
    out->number /= wanted->named.number;
    return out;
  }

  /// What a Reshape requests. A number that is not certain must be the dim of a value. It counts as that dim where it is 0, too: then the
  /// value has no elements.
  [[nodiscard]] std::optional<Request> request(Ref reshaped) {
    const Ref data = side_.operand(reshaped, 0), list = side_.operand(reshaped, 1);
    const AttributeReader attributes(*reshaped.value->producer(), reshaped.call);
    const bool copies = attributes.integer("allowzero", 0) == 0;
    if (!list || attributes.is_open()) return std::nullopt;
    const auto constant = side_.constant(list);
    const auto contents = constant ? std::optional<PartialContents>(constant->load()) : side_.partial_contents(list);
    if (!contents || contents->values.type() != DataType::int64) return std::nullopt;
    Request out;
    for (int64_t place = 0; place < std::ssize(contents->certain); ++place) {
      const bool is_certain = contents->certain[as_size(place)];
      const int64_t number = is_certain ? element_at(contents->values.data<int64_t>(), place) : 0;
      if (is_certain && number == -1 && !out.found) {
        out.found = place;
        out.dims.emplace_back();
        continue;
      }
      const auto of_value = is_certain ? std::nullopt : shapes_.dim_in(list, place);
      std::optional<Count> named;
      if (of_value) named = dim(of_value->value, of_value->axis);
      if (is_certain && number > 0) named = Count{number, {}};
      if (is_certain && number == 0 && copies) named = dim(data, place);
      if (!out.named.multiply(named)) return std::nullopt;
      out.dims.push_back(std::move(*named));
    }
    return out;
  }

  Side& side_;
  Shapes& shapes_;
  int left_ = 256;  ///< Reshapes to be read: no graph takes the time of more
};

/// Whether two values of as many elements have the same dims: all dims but one are the same, and then that one is.
bool have_same_dims(Sides& sides, Ref of_a, Ref of_b) {
  const auto dims_a = sides.shapes_a.of(of_a), dims_b = sides.shapes_b.of(of_b);
  if (!dims_a || !dims_b || dims_a->size() != dims_b->size()) return false;
  Counts counts_a(sides.a, sides.shapes_a), counts_b(sides.b, sides.shapes_b);
  const auto is_same_input = [&](const Shapes::Origin& a, const Shapes::Origin& b) {
    return a.axis == b.axis && a.value.value->producer() == nullptr && b.value.value->producer() == nullptr &&
           sides.same_input(*a.value.value, *b.value.value);
  };
  std::size_t unknown = 0;
  bool are_filled = true;
  for (std::size_t axis = 0; axis < dims_a->size(); ++axis) {
    const auto a = counts_a.dim(of_a, static_cast<int64_t>(axis)), b = counts_b.dim(of_b, static_cast<int64_t>(axis));
    const bool is_equal = are_equal(a, b, is_same_input);
    if (!is_equal && (*dims_a)[axis] >= 0 && (*dims_b)[axis] >= 0) return false;
    are_filled = are_filled && (!is_equal || (a->free.empty() && a->number > 0));
    unknown += is_equal ? 0 : 1;
  }
  return unknown == 0 || (unknown == 1 && are_filled);
}

/// Moves upstream past nodes that keep all elements in order, while it is certain that they can run. They and their other operands are
/// accounted for.
void pass_reshapes(Sides& sides, Ref& at, bool is_first, Look& look) {
  Side& side = is_first ? sides.a : sides.b;
  Counts counts(side, is_first ? sides.shapes_a : sides.shapes_b);
  for (;;) {
    const Node* const node = at.value->producer();
    const bool passes = node != nullptr && at.value->output_index() == 0 && (is_reshaping(*node) || is_identity(side, at));
    const Ref upstream = passes ? side.operand(at, 0) : Ref();
    if (!upstream || !counts.is_certain_to_run(at)) return;
    (is_first ? look.bypassed : look.nodes_b).push_back(node);
    for (std::size_t i = 1; i < node->inputs().size(); ++i) {
      if (node->input(i) != nullptr) (is_first ? look.constants_a : look.constants_b).push_back(side.operand(at, i));
    }
    at = upstream;
  }
}

/// Whether two values of one model certainly have the same dims.
bool have_same_dims(Side& side, Shapes& shapes, Ref one, Ref other) {
  const auto dims = shapes.of(one), others = shapes.of(other);
  if (!dims || !others || dims->size() != others->size()) return false;
  Counts counts(side, shapes);
  for (int64_t axis = 0; axis < std::ssize(*dims); ++axis) {
    if (!are_equal(counts.dim(one, axis), counts.dim(other, axis))) return false;
  }
  return true;
}

/// Compares nodes of the same elementwise operator. On each side, operands must have the same dims or be single constants.
Found examine_flat_elements(Sides& sides, const Claim& claim) {
  const Node* const a = claim.a.value->producer();
  const Node* const b = claim.b.value->producer();
  if (a == nullptr || b == nullptr || !same_operator(*a, *b) || !is_elementwise(*a) || !is_elementwise(*b)) return std::nullopt;
  if (a->inputs().size() != b->inputs().size()) return std::nullopt;
  std::vector<Claim> claims;
  std::vector<RefPair> numbers;
  for (std::size_t i = 0; i < a->inputs().size(); ++i) {
    Claim operand{sides.a.operand(claim.a, i), sides.b.operand(claim.b, i), {}, {}, claim.origin_a, claim.origin_b, b};
    if (!operand.a || !operand.b) return std::nullopt;
    const bool are_single = is_single(sides.a, operand.a) && is_single(sides.b, operand.b);
    operand.is_flat = !are_single;
    const bool are_alike = claims.empty() || (have_same_dims(sides.a, sides.shapes_a, operand.a, claims.front().a) &&
                                              have_same_dims(sides.b, sides.shapes_b, operand.b, claims.front().b));
    if (!are_single && !are_alike) return std::nullopt;
    if (are_single) {
      const auto difference = sides.tensor_difference(operand.a, operand.b);
      if (!difference || difference->values != 0) return std::nullopt;
      numbers.emplace_back(operand.a, operand.b);
    } else {
      claims.push_back(std::move(operand));
    }
  }
  Look look;
  compare_heads(sides, claim, {}, look);
  for (const auto& [of_a, of_b] : numbers) {
    look.constants_a.push_back(of_a);
    look.constants_b.push_back(of_b);
  }
  for (Claim& operand : claims) look.claims.push_back(std::move(operand));
  return look;
}

}  // namespace

bool requests_own_dim(Side& side, Shapes& shapes, Ref reshaped, std::size_t place) {
  const Ref data = side.operand(reshaped, 0);
  const auto dims = shapes.of(data);
  const auto axis = static_cast<int64_t>(place);
  const auto wanted = dims && place < dims->size() ? shapes.dim_in(side.operand(reshaped, 1), axis) : std::nullopt;
  return wanted && *wanted == shapes.origin_of(data, axis);
}

/// Reshapes with different requests, of different operands, or on one side alone, that result in the same dims: the values upstream must
/// have the same elements. Equal requests for operands of the same dims are examined like any other nodes.
Found examine_reshaped(Sides& sides, const Claim& claim) {
  const Node* const a = claim.a.value->producer();
  const Node* const b = claim.b.value->producer();
  const bool any = (a != nullptr && is_reshaping(*a)) || (b != nullptr && is_reshaping(*b));
  if (!any) return std::nullopt;
  if (!have_same_dims(sides, claim.a, claim.b)) return std::nullopt;
  if (a != nullptr && b != nullptr && same_operator(*a, *b) && different_attributes(sides.a, claim.a, sides.b, claim.b).empty()) {
    const Ref request_a = sides.a.operand(claim.a, 1);
    const Ref request_b = sides.b.operand(claim.b, 1);
    const auto difference = request_a && request_b ? sides.tensor_difference(request_a, request_b) : std::nullopt;
    const bool same_request = request_a && request_b ? difference && difference->values == 0 : !request_a && !request_b;
    const bool same_operand = sides.shapes_a.of(sides.a.operand(claim.a, 0)) == sides.shapes_b.of(sides.b.operand(claim.b, 0));
    if (same_request && same_operand) return std::nullopt;
  }
  Claim flat = claim;
  flat.is_flat = true;
  flat.origin_a = claim.a;
  flat.origin_b = claim.b;
  Look found;
  pass_reshapes(sides, flat.a, true, found);
  pass_reshapes(sides, flat.b, false, found);
  if (flat.a == claim.a && flat.b == claim.b) return std::nullopt;
  found.add(examine_flat(sides, std::move(flat)));
  return found.issues.empty() ? std::optional(std::move(found)) : std::nullopt;
}

Found examine_two_reshapes(Sides& sides, const Claim& claim) {
  const Node *const a = claim.a.value->producer(), *const b = claim.b.value->producer();
  const bool both = a != nullptr && b != nullptr && is_reshaping(*a) && is_reshaping(*b);
  Found found = both ? examine_reshaped(sides, claim) : std::nullopt;
  if (found) found->starts_anew = true;
  return found;
}

Found examine_requests(Sides& sides, const Claim& claim) {
  if (!claim.b.value->producer()->is("Reshape")) return std::nullopt;
  const Ref of_a = sides.a.operand(claim.a, 1), of_b = sides.b.operand(claim.b, 1);
  const auto request = of_b ? integers_of(sides.b, of_b) : std::nullopt;
  if (!of_a || !request || sides.a.constant(of_a) || std::ranges::count(*request, -1) > 1) return std::nullopt;
  const auto wanted = sides.a.partial_contents(of_a);
  if (!wanted || wanted->values.type() != DataType::int64 || wanted->certain.size() != request->size()) return std::nullopt;
  // With one dim to be found and no other that may be 0, the number of elements decides. A 0 copies a dim of the operand, also beside a
  // dim that the first model finds too.
  const AttributeReader attributes(*claim.b.value->producer(), claim.b.call);
  const bool finds_one =
      !std::ranges::equal(*request, wanted->certain, [](int64_t dim, bool is_certain) { return dim != -1 || is_certain; });
  const bool copies = attributes.integer("allowzero", 0) == 0 && !attributes.is_open() && !finds_one;
  for (std::size_t i = 0; i < request->size(); ++i) {
    const int64_t dim = (*request)[i];
    const bool is_found = dim == -1 && !wanted->certain[i];
    const bool is_copied = dim == 0 && copies && !wanted->certain[i] && requests_own_dim(sides.a, sides.shapes_a, claim.a, i);
    const bool is_equal = (dim > 0 || (dim == -1 && !finds_one)) && wanted->certain[i] && wanted->values.data<int64_t>()[i] == dim;
    if (!is_found && !is_copied && !is_equal) return std::nullopt;
  }
  Look look;
  compare_heads(sides, claim, "allowzero", look);
  if (!look.issues.empty()) return std::nullopt;
  look.constants_b.push_back(of_b);
  if (const Node* const maker = of_a.value->producer()) look.bypassed.push_back(maker);
  look.claims.push_back({sides.a.operand(claim.a, 0), sides.b.operand(claim.b, 0), {}, {}, {}, {}, claim.b.value->producer()});
  return look;
}

Look examine_flat(Sides& sides, Claim claim) {
  Look look;
  for (;;) {
    claim.a = sides.a.resolve(claim.a);
    claim.b = sides.b.resolve(claim.b);
    if (!claim.a || !claim.b) break;
    pass_reshapes(sides, claim.a, true, look);
    pass_reshapes(sides, claim.b, false, look);
    // Values with the same elements are the same values if they have the same dims.
    if (have_same_dims(sides, claim.a, claim.b)) {
      claim.is_flat = false;
      if (claim.is_plain()) claim.origin_a = claim.origin_b = Ref();
      look.claims.push_back(std::move(claim));
      return look;
    }
    auto found = examine_product(sides, claim);
    if (!found && claim.downstream_a.empty() && claim.downstream_b.empty()) found = examine_flat_elements(sides, claim);
    if (found) {
      look.add(std::move(*found));
      return look;
    }
    bool collected = false;
    const auto collect = [&](Side& side, Ref& at, Steps& steps, bool rounded) {
      constexpr std::size_t kMostSteps = 16;
      auto step = steps.size() < kMostSteps ? read_step(side, at, rounded) : std::nullopt;
      if (!step || !is_flat_step(&side == &sides.a ? sides.shapes_a : sides.shapes_b, *step)) return;
      at = step->input;
      steps.push_back(std::move(*step));
      collected = true;
    };
    collect(sides.a, claim.a, claim.downstream_a, false);
    collect(sides.b, claim.b, claim.downstream_b, true);
    if (!collected) break;
  }
  look.issues.push_back(issue_of_other_value(sides, {claim.origin_a, claim.origin_b, {}, {}, {}, {}, claim.reader}, *claim.origin_a.value));
  return look;
}

}  // namespace relayout::proof

// Traces each size through the operators that pass it on to the values that decide it.
#include "ops/size_terms.h"

#include <limits>

#include "base/positions.h"
#include "model/node.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr int64_t kNumpyBroadcasting = 7;  ///< first opset in which operands broadcast from the last axis

SizeTerm number(int64_t value) {
  return {value, {}};
}

SizeTerm unknown(const Value& value, std::size_t index, bool is_dim) {
  return {1, {{&value, static_cast<int64_t>(index), is_dim}}};
}

std::optional<SizeTerm> product_of(std::span<const SizeTerm> terms) {
  SizeTerm out = number(1);
  for (const SizeTerm& term : terms) {
    auto next = times(out, term);
    if (!next) return std::nullopt;
    out = std::move(*next);
  }
  return out;
}

/// The first input of the graph that declares a dim of this name, and its axis.
std::optional<SizeTerm> named_dim(const Value& input, std::size_t axis) {
  const auto declared = input.declared();
  const std::string* const name = declared && axis < declared->symbols.size() ? &declared->symbols[axis] : nullptr;
  const bool is_name =
      name != nullptr && std::ranges::any_of(*name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
  if (!is_name || name->starts_with("unk") || !input.is_model_input()) return std::nullopt;
  for (const Value* const other : input.graph().inputs()) {
    const auto of_other = other->declared();
    for (std::size_t i = 0; of_other && i < of_other->symbols.size(); ++i) {
      if (of_other->symbols[i] == *name) return unknown(*other, i, true);
    }
  }
  return std::nullopt;
}

}  // namespace

bool SizeTerm::is_size() const {
  return factor >= 0 && std::ranges::all_of(unknowns, &Unknown::is_dim);
}

std::optional<SizeTerm> times(const SizeTerm& a, const SizeTerm& b) {
  SizeTerm out;
  if (__builtin_mul_overflow(a.factor, b.factor, &out.factor)) return std::nullopt;
  if (out.factor != 0) std::ranges::merge(a.unknowns, b.unknowns, std::back_inserter(out.unknowns));
  return out;
}

std::optional<SizeTerm> quotient(const SizeTerm& a, const SizeTerm& b) {
  const bool is_whole = b.factor > 0 && a.factor % b.factor == 0 && std::ranges::includes(a.unknowns, b.unknowns);
  if (!is_whole) return std::nullopt;
  SizeTerm out{a.factor / b.factor, {}};
  std::ranges::set_difference(a.unknowns, b.unknowns, std::back_inserter(out.unknowns));
  return out;
}

/// The rules for one node.
class SizeTerms::Rules {
 public:
  Rules(SizeTerms& terms, const Node& node) : terms_(terms), node_(node), attributes_(node) {}

  /// A dim of output 0; nothing where no rule applies. `rank` is that of the output.
  [[nodiscard]] std::optional<SizeTerm> dim(std::size_t axis, std::size_t rank) {
    if (has_trait(node_, Trait::same_dims)) return at(0, axis);
    if (has_trait(node_, Trait::broadcasts)) return node_.opset() < kNumpyBroadcasting ? at(0, axis) : broadcast(axis, rank, rank);
    if (node_.is("MatMul")) return matrix_product(axis, rank);
    if (node_.is("Gemm"))
      return axis == 0 ? at(0, attributes_.integer("transA", 0) == 0 ? 0 : 1) : at(1, attributes_.integer("transB", 0) == 0 ? 1 : 0);
    if (node_.is("Transpose")) return transposed(axis);
    if (node_.is("Reshape")) return reshaped(axis);
    if (node_.is("Unsqueeze") || node_.is("Squeeze")) return squeezed(axis, rank);
    if (node_.is("Gather")) return gathered(axis);
    if (node_.is("Concat") || node_.is("Split") || node_.is("Slice")) return beside_axes(axis);
    if (node_.is("Expand")) return expanded(axis, rank);
    if (traits_of(node_).convolution_weight() || has_trait(node_, Trait::pools)) return axis == 0 ? at(0, 0) : std::nullopt;
    if (node_.is("LSTM") || node_.is("GRU") || node_.is("RNN")) return recurrent(axis);
    if (node_.is("ConstantOfShape")) return element(0, axis);
    return std::nullopt;
  }

  /// The elements of output 0; an empty list where no rule applies.
  [[nodiscard]] std::vector<std::optional<SizeTerm>> contents() {
    if (node_.is("Shape")) return shape();
    if (node_.is("Size")) return {whole_product(dims(0))};
    if (node_.is("ReduceProd")) return {whole_product(elements(0))};
    const Traits traits = traits_of(node_);
    if (traits.has(Trait::keeps_order) || traits.has(Trait::identity) || traits.has(Trait::casts)) return all(elements(0));
    if (node_.is("Concat")) return joined();
    if (node_.is("Gather") || node_.is("Slice")) return selected();
    if (node_.is("Mul") || node_.is("Div") || node_.is("Equal")) return combined();
    if (node_.is("Where")) return chosen();
    return {};
  }

 private:
  [[nodiscard]] const std::optional<SizeTermList>& dims(std::size_t input) const {
    static const std::optional<SizeTermList> kNone;
    const Value* const value = node_.input(input);
    const auto found = value != nullptr ? terms_.answers_.find(value) : terms_.answers_.end();
    return found != terms_.answers_.end() ? found->second.dims : kNone;
  }
  [[nodiscard]] const std::optional<SizeTermList>& elements(std::size_t input) const {
    static const std::optional<SizeTermList> kNone;
    const Value* const value = node_.input(input);
    const auto found = value != nullptr ? terms_.answers_.find(value) : terms_.answers_.end();
    return found != terms_.answers_.end() ? found->second.contents : kNone;
  }
  /// Elements that are all numbers.
  [[nodiscard]] std::optional<std::vector<int64_t>> numbers(std::size_t input) const {
    const auto& found = elements(input);
    if (!found || !std::ranges::all_of(*found, &SizeTerm::is_number)) return std::nullopt;
    std::vector<int64_t> out;
    for (const SizeTerm& term : *found) out.push_back(term.factor);
    return out;
  }
  /// An argument that is an attribute in old versions and an operand in later ones.
  [[nodiscard]] std::optional<std::vector<int64_t>> argument(const char* attribute, std::size_t input) const {
    return attributes_.has(attribute) ? std::optional(attributes_.integers(attribute)) : numbers(input);
  }

  [[nodiscard]] std::optional<SizeTerm> at(std::size_t input, std::size_t axis) const {
    const auto& found = dims(input);
    return found && axis < found->size() ? std::optional((*found)[axis]) : std::nullopt;
  }
  /// An element that is a size.
  [[nodiscard]] std::optional<SizeTerm> element(std::size_t input, std::size_t index) const {
    const auto& found = elements(input);
    return found && index < found->size() && (*found)[index].is_size() ? std::optional((*found)[index]) : std::nullopt;
  }
  [[nodiscard]] static std::optional<SizeTerm> whole_product(const std::optional<SizeTermList>& terms) {
    return terms ? product_of(*terms) : std::nullopt;
  }
  [[nodiscard]] static std::vector<std::optional<SizeTerm>> all(const std::optional<SizeTermList>& terms) {
    return terms ? std::vector<std::optional<SizeTerm>>(terms->begin(), terms->end()) : std::vector<std::optional<SizeTerm>>();
  }

  /// The size that all others give way to: they are 1, or the same.
  [[nodiscard]] static bool join(std::optional<SizeTerm>& into, const SizeTerm& next) {
    if (next == number(1) || into == next) return true;
    if (into && *into != number(1)) return false;
    into = next;
    return true;
  }
  /// An axis of operands that broadcast over `shared` leading axes of a result with `rank` axes.
  [[nodiscard]] std::optional<SizeTerm> broadcast(std::size_t axis, std::size_t rank, std::size_t shared) const {
    std::optional<SizeTerm> out = number(1);
    const std::size_t kept = rank - shared;
    for (std::size_t i = 0; i < node_.inputs().size(); ++i) {
      const auto& found = dims(i);
      if (!found || found->size() < kept) return std::nullopt;
      const std::size_t missing = rank - std::min(found->size(), rank);
      if (axis >= missing && !join(out, (*found)[axis - missing])) return std::nullopt;
    }
    return out;
  }
  [[nodiscard]] std::optional<SizeTerm> matrix_product(std::size_t axis, std::size_t rank) const {
    const auto &a = dims(0), &b = dims(1);
    if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
    if (axis + 1 == rank) return b->back();
    return axis + 2 == rank ? std::optional((*a)[a->size() - 2]) : broadcast(axis, rank, rank - 2);
  }
  [[nodiscard]] std::optional<SizeTerm> transposed(std::size_t axis) const {
    const std::vector<int64_t> permutation = attributes_.integers("perm");
    const auto& found = dims(0);
    if (!found) return std::nullopt;
    if (permutation.empty()) return at(0, found->size() - 1 - axis);
    return axis < permutation.size() ? at(0, as_size(permutation[axis])) : std::nullopt;
  }
  [[nodiscard]] std::optional<SizeTerm> reshaped(std::size_t axis) {
    const auto& from = dims(0);
    const auto request = terms_.request(node_);
    if (!from || !request || axis >= request->size()) return std::nullopt;
    if ((*request)[axis] != number(-1)) return (*request)[axis];
    SizeTermList others = *request;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
    const auto whole = product_of(*from), rest = product_of(others);
    return whole && rest ? quotient(*whole, *rest) : std::nullopt;
  }
  [[nodiscard]] std::optional<SizeTerm> squeezed(std::size_t axis, std::size_t rank) const {
    const bool adds = node_.is("Unsqueeze");
    const auto& from = dims(0);
    const auto axes = argument("axes", 1);
    if (!from || !axes) return std::nullopt;
    std::vector<bool> named(adds ? rank : from->size());
    for (const int64_t one : *axes) {
      const auto place = checked_axis(one, named.size());
      if (!place) return std::nullopt;
      named[*place] = true;
    }
    std::size_t there = 0;
    for (std::size_t i = 0, here = 0; i < named.size(); ++i) {
      if (adds && i == axis) return named[i] ? std::optional(number(1)) : at(0, there);
      if (adds) there += named[i] ? 0 : 1;
      if (!adds && !named[i] && here++ == axis) return at(0, i);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<SizeTerm> gathered(std::size_t axis) const {
    const auto &from = dims(0), &indices = dims(1);
    const auto along = from ? checked_axis(attributes_.integer("axis", 0), from->size()) : std::nullopt;
    if (!along || !indices) return std::nullopt;
    if (axis < *along) return at(0, axis);
    return axis < *along + indices->size() ? at(1, axis - *along) : at(0, axis + 1 - indices->size());
  }
  /// Dims of axes along which nothing is joined, split or cut.
  [[nodiscard]] std::optional<SizeTerm> beside_axes(std::size_t axis) const {
    const auto& from = dims(0);
    if (!from) return std::nullopt;
    std::optional<std::vector<int64_t>> axes = std::vector<int64_t>{attributes_.integer("axis", 0)};
    if (node_.is("Slice")) axes = argument("axes", 3);
    if (!axes || (node_.is("Slice") && axes->empty())) return std::nullopt;
    for (const int64_t one : *axes) {
      const auto place = checked_axis(one, from->size());
      if (!place || *place == axis) return std::nullopt;
    }
    return at(0, axis);
  }
  [[nodiscard]] std::optional<SizeTerm> expanded(std::size_t axis, std::size_t rank) const {
    const auto &from = dims(0), &to = elements(1);
    if (!from || !to) return std::nullopt;
    std::optional<SizeTerm> out = number(1);
    for (const auto* const list : {&*from, &*to}) {
      const std::size_t missing = rank - std::min(list->size(), rank);
      if (axis < missing) continue;
      if (!(*list)[axis - missing].is_size() || !join(out, (*list)[axis - missing])) return std::nullopt;
    }
    return out;
  }
  [[nodiscard]] std::optional<SizeTerm> recurrent(std::size_t axis) const {
    if (attributes_.integer("layout", 0) != 0) return std::nullopt;
    return axis == 0 ? at(0, 0) : axis == 2 ? at(0, 1) : std::nullopt;
  }

  [[nodiscard]] std::vector<std::optional<SizeTerm>> shape() const {
    const auto& from = dims(0);
    if (!from) return {};
    const int64_t rank = std::ssize(*from);
    const auto placed = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const int64_t start = placed(attributes_.integer("start", 0)), end = placed(attributes_.integer("end", rank));
    return start < end ? std::vector<std::optional<SizeTerm>>(from->begin() + start, from->begin() + end)
                       : std::vector<std::optional<SizeTerm>>();
  }
  [[nodiscard]] std::vector<std::optional<SizeTerm>> joined() const {
    std::vector<std::optional<SizeTerm>> out;
    for (std::size_t i = 0; i < node_.inputs().size(); ++i) {
      const auto& part = elements(i);
      if (!part || !dims(i) || dims(i)->size() != 1) return {};
      out.insert(out.end(), part->begin(), part->end());
    }
    return out;
  }
  [[nodiscard]] std::vector<std::optional<SizeTerm>> selected() const {
    const auto& from = elements(0);
    if (!from || !dims(0) || dims(0)->size() != 1) return {};
    const int64_t size = std::ssize(*from);
    std::vector<std::optional<SizeTerm>> out;
    if (node_.is("Gather")) {
      for (const int64_t one : numbers(1).value_or(std::vector<int64_t>())) {
        const auto place = checked_axis(one, from->size());
        if (!place) return {};
        out.emplace_back((*from)[*place]);
      }
      return out;
    }
    const auto begins = argument("starts", 1), ends = argument("ends", 2);
    const auto steps = node_.input(4) != nullptr ? numbers(4) : std::optional(std::vector<int64_t>{1});
    if (!begins || !ends || begins->size() != 1 || ends->size() != 1 || steps != std::vector<int64_t>{1}) return {};
    const auto placed = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
    for (int64_t i = placed((*begins)[0]); i < placed((*ends)[0]); ++i) out.emplace_back((*from)[as_size(i)]);
    return out;
  }
  /// Two lists of equal length, or a list and one element.
  [[nodiscard]] std::vector<std::optional<SizeTerm>> combined() const {
    const auto &a = elements(0), &b = elements(1);
    if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1)) return {};
    std::vector<std::optional<SizeTerm>> out;
    for (std::size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
      const SizeTerm &one = (*a)[a->size() == 1 ? 0 : i], &other = (*b)[b->size() == 1 ? 0 : i];
      out.push_back(node_.is("Mul") ? times(one, other) : node_.is("Div") ? quotient(one, other) : equal(one, other));
    }
    return out;
  }
  [[nodiscard]] static std::optional<SizeTerm> equal(const SizeTerm& a, const SizeTerm& b) {
    if (a.is_number() && b.is_number()) return number(a.factor == b.factor ? 1 : 0);
    const auto differ = [](const SizeTerm& one, const SizeTerm& other) { return one.is_size() && other.is_number() && other.factor < 0; };
    return differ(a, b) || differ(b, a) ? std::optional(number(0)) : std::nullopt;
  }
  [[nodiscard]] std::vector<std::optional<SizeTerm>> chosen() const {
    const auto &condition = elements(0), &yes = elements(1), &no = elements(2);
    if (!condition || !yes || !no || condition->size() != yes->size() || yes->size() != no->size()) return {};
    std::vector<std::optional<SizeTerm>> out;
    for (std::size_t i = 0; i < condition->size(); ++i) {
      const SizeTerm& which = (*condition)[i];
      out.push_back(which.is_number() ? std::optional((which.factor != 0 ? *yes : *no)[i]) : std::nullopt);
    }
    return out;
  }

  SizeTerms& terms_;
  const Node& node_;
  Attributes attributes_;
};

const SizeTerms::Answer& SizeTerms::answer(const Value& value) {
  std::vector<const Value*> open = {&value};
  while (!open.empty()) {
    const Value& next = *open.back();
    const std::size_t before = open.size();
    if (!answers_.contains(&next) && next.producer() != nullptr) {
      for (const Value* const input : next.producer()->inputs()) {
        if (input != nullptr && !answers_.contains(input)) open.push_back(input);
      }
    }
    if (open.size() > before) continue;
    open.pop_back();
    if (!answers_.contains(&next)) answers_.emplace(&next, look_at(next));
  }
  return answers_.at(&value);
}

SizeTerms::Answer SizeTerms::look_at(const Value& value) {
  Answer out;
  const Node* const node = value.producer();
  const bool has_rules = node != nullptr && value.output_index() == 0 && node->opset() > 0 && !Attributes(*node).has_reference();
  const PartialDims dims = constants_.dims(value);
  if (!dims) return out;
  out.dims.emplace();
  for (std::size_t i = 0; i < dims->size(); ++i) {
    std::optional<SizeTerm> term;
    if ((*dims)[i] >= 0) term = number((*dims)[i]);
    if (!term && has_rules) term = Rules(*this, *node).dim(i, dims->size());
    if (!term && value.is_model_input()) term = named_dim(value, i);
    out.dims->push_back(term ? std::move(*term) : unknown(value, i, true));
  }
  const int64_t count = dims->size() <= 1 ? relayout::product_of(*dims) : -1;
  if (count < 0 || count > kMostContents) return out;
  const DataType type = constants_.type_of(value);
  if (type != DataType::int64 && type != DataType::int32 && type != DataType::boolean) return out;
  const auto certain = constants_.contents(value);
  std::vector<std::optional<SizeTerm>> found;
  if (has_rules && !(certain && certain->is_complete())) found = Rules(*this, *node).contents();
  found.resize(as_size(count));
  out.contents.emplace();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (certain && certain->certain[i]) {
      const Tensor& values = certain->values;
      found[i] = number(type == DataType::boolean ? static_cast<int64_t>(values.data<bool>()[i])
                        : type == DataType::int64 ? values.data<int64_t>()[i]
                                                  : values.data<int32_t>()[i]);
    }
    out.contents->push_back(found[i] ? std::move(*found[i]) : unknown(value, i, false));
  }
  return out;
}

std::optional<SizeTermList> SizeTerms::request(const Node& reshape) {
  const Value *const data = reshape.input(0), *const wanted = reshape.input(1);
  if (data == nullptr || wanted == nullptr) return std::nullopt;
  const std::optional<SizeTermList> from = dims(*data), terms = contents(*wanted);
  if (!terms || !std::ranges::all_of(*terms, [](const SizeTerm& term) { return term.is_size() || term == number(-1); }))
    return std::nullopt;
  const bool copies = Attributes(reshape).integer("allowzero", 0) == 0;
  SizeTermList out = *terms;
  for (std::size_t i = 0; copies && i < out.size(); ++i) {
    if (out[i] != number(0)) continue;
    if (!from || i >= from->size()) return std::nullopt;
    out[i] = (*from)[i];
  }
  return std::ranges::count(out, number(-1)) <= 1 ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace relayout

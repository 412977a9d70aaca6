// States what in the second model would have to be as in the first where an unexplained difference tells it exactly.
#include <onnx/defs/schema.h>

#include <numeric>

#include "base/half.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/operands.h"
#include "proof/account.h"
#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {

// Attributes.
namespace {

constexpr int kMostListed = 16;

template <class List, class Text>
std::string list_text(const List& list, const Text& text) {
  std::string out;
  for (int i = 0; i < list.size() && i < kMostListed; ++i) out += (i > 0 ? ", " : "") + text(list[i]);
  return "[" + out + (list.size() > kMostListed ? ", … " + format_count(list.size()) + " in all]" : "]");
}

std::string tensor_text(const onnx::TensorProto& tensor) {
  const DataTypeTraits* const type = find_traits(tensor.data_type());
  const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  return std::string(type != nullptr ? type->name : "untyped") + " " + to_string(dims);
}

std::string attribute_text(const onnx::AttributeProto& attribute) {
  using onnx::AttributeProto;
  if (!attribute.ref_attr_name().empty()) return "attribute " + quote(attribute.ref_attr_name()) + " of the caller";
  switch (attribute.type()) {
    case AttributeProto::FLOAT:
      return shortest(attribute.f());
    case AttributeProto::INT:
      return std::to_string(attribute.i());
    case AttributeProto::STRING:
      return quote(attribute.s());
    case AttributeProto::TENSOR:
      return tensor_text(attribute.t());
    case AttributeProto::FLOATS:
      return list_text(attribute.floats(), [](float value) { return shortest(value); });
    case AttributeProto::INTS:
      return list_text(attribute.ints(), [](int64_t value) { return std::to_string(value); });
    case AttributeProto::STRINGS:
      return list_text(attribute.strings(), [](const std::string& value) { return quote(value); });
    case AttributeProto::TENSORS:
      return list_text(attribute.tensors(), tensor_text);
    case AttributeProto::GRAPH:
      return "a graph";
    case AttributeProto::GRAPHS:
      return format_count(attribute.graphs_size()) + " graphs";
    case AttributeProto::SPARSE_TENSOR:
      return "a sparse tensor";
    default:
      return "of type " + std::to_string(attribute.type());
  }
}

std::string attribute_of(const Node& node, const Call* call, const std::string& name) {
  const AttributeReader attributes(node, call);
  if (const auto* const written = attributes.find(name); written != nullptr) return attribute_text(*written);
  const AttributeDefault known = attribute_default(node, name);
  return known.value != nullptr ? attribute_text(*known.value) + " (by default)" : "absent";
}

Repair repair_from(const std::string& field, const std::string& is, const std::string& was) {
  return {field, is, was, escape(field) + " is " + is + ", was " + was};
}

}  // namespace

Repair repair_of_attribute(const Claim& claim, const std::string& name) {
  const std::string is = attribute_of(*claim.b.value->producer(), claim.b.call, name);
  const std::string was = attribute_of(*claim.a.value->producer(), claim.a.call, name);
  if (is != was) return repair_from(name, is, was);
  return {name, is, was, escape(name) + " has other values, " + is};  // texts of tensors and long lists are abbreviated
}

// Constants.
namespace {

/// Both constants are held as doubles: larger ones, or many, would take the memory that the proof does without.
constexpr int64_t kMostElements = int64_t{1} << 20;
constexpr std::size_t kMostConstants = 8;
constexpr std::size_t kMostPermutedRank = 4, kMostNamed = 4;

/// Finds a simple relation between the elements of two constants.
class Relation {
 public:
  Relation(const Tensor& a, const Tensor& b)
      : type_(b.type()), dims_a_(a.dims()), dims_(b.dims()), a_(relayout::reals_of(contiguous(a))), b_(relayout::reals_of(contiguous(b))) {}

  /// "is 1.05 × what it was"; empty where none is found.
  [[nodiscard]] std::string text() const {
    if (a_.size() != b_.size()) return {};
    const bool is_equal = all_are([this](std::size_t i) { return a_[i]; });  // under other dims
    if (b_.size() <= kMostNamed) return is_equal ? "" : "is " + all_text(b_) + ", was " + all_text(a_);
    if (dims_a_ != dims_) return transposed();
    for (const auto look :
         {&Relation::negated, &Relation::zeroed, &Relation::moved_by_one_number, &Relation::flipped, &Relation::transposed,
          &Relation::reordered, &Relation::rounded, &Relation::few_elements, &Relation::one_slice}) {
      std::string found = (this->*look)();
      if (!found.empty()) return found;
    }
    return {};
  }

 private:
  static bool is_same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

  static std::string all_text(const std::vector<double>& values) {
    std::string out;
    for (const double value : values) out += (out.empty() ? "" : ", ") + exact_number(value);
    return values.size() == 1 ? out : "[" + out + "]";
  }

  template <class F>
  [[nodiscard]] bool all_are(const F& expected) const {
    for (std::size_t i = 0; i < b_.size(); ++i) {
      if (!is_same(b_[i], expected(i))) return false;
    }
    return true;
  }

  [[nodiscard]] std::string negated() const {
    return all_are([this](std::size_t i) { return -a_[i]; }) ? "is negated" : "";
  }
  [[nodiscard]] std::string zeroed() const {
    return std::ranges::all_of(b_, [](double x) { return x == 0; }) ? "is all zeros" : "";
  }

  /// One number that all elements are multiplied by, or that is added to all, up to the rounding of the type.
  [[nodiscard]] std::string moved_by_one_number() const {
    if (!is_real(type_)) return {};
    Range factor, offset;
    for (std::size_t i = 0; i < b_.size() && (factor.is_open() || offset.is_open()); ++i) {
      if (!std::isfinite(a_[i]) || !std::isfinite(b_[i])) return {};
      const double most = 2 * ulp(std::max(std::fabs(b_[i]), std::fabs(a_[i])), type_), slack = 2 * ulp(b_[i], type_);
      offset.narrow(b_[i] - a_[i] - most, b_[i] - a_[i] + most);
      if (a_[i] == 0) {
        if (b_[i] != 0) factor = Range::none();
        continue;
      }
      const double x = (b_[i] - slack) / a_[i], y = (b_[i] + slack) / a_[i];
      factor.narrow(std::min(x, y), std::max(x, y));
    }
    if (factor.is_open()) return "is " + factor.number() + " × what it was";
    if (!offset.is_open()) return {};
    const std::string by = offset.number();
    return "is what it was " + (by.starts_with('-') ? "− " + by.substr(1) : "+ " + by);
  }

  /// Numbers between two ends.
  struct Range {
    double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
    static Range none() { return {1, 0}; }
    [[nodiscard]] bool is_open() const { return least <= most; }
    void narrow(double from, double to) {
      least = std::max(least, from);
      most = std::min(most, to);
    }
    /// The shortest one.
    [[nodiscard]] std::string number() const {
      const double middle = least + (most - least) / 2;
      constexpr int kMostDigits = 9;
      for (int digits = 1; digits < kMostDigits; ++digits) {
        const double rounded = std::stod(scientific_text(middle, digits));
        if (rounded >= least && rounded <= most) return exact_number(rounded);
      }
      return significant(middle, kMostDigits);
    }
    static std::string scientific_text(double value, int digits) {
      const double unit = value == 0 ? 1 : std::pow(10.0, digits - 1 - std::floor(std::log10(std::fabs(value))));
      return exact_number(std::round(value * unit) / unit);
    }
  };

  /// Offset in a of each element of b, for strides of b's axes in a.
  template <class F>
  void for_each_place(const Dims& strides, int64_t begin, const F& visit) const {
    Dims index(dims_.size(), 0);
    int64_t offset = begin;
    for (std::size_t i = 0; i < b_.size(); ++i) {
      if (!visit(i, as_size(offset))) return;
      for (std::size_t axis = dims_.size(); axis-- > 0;) {
        offset += strides[axis];
        if (++index[axis] < dims_[axis]) break;
        offset -= strides[axis] * dims_[axis];
        index[axis] = 0;
      }
    }
  }
  [[nodiscard]] bool equals_moved(const Dims& strides, int64_t begin) const {
    bool is_equal = true;
    for_each_place(strides, begin, [&](std::size_t to, std::size_t from) { return is_equal = is_same(b_[to], a_[from]); });
    return is_equal;
  }

  [[nodiscard]] std::string flipped() const {
    for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
      if (dims_[axis] < 2) continue;
      Dims strides = contiguous_strides(dims_);
      const int64_t begin = strides[axis] * (dims_[axis] - 1);
      strides[axis] = -strides[axis];
      if (equals_moved(strides, begin)) return "is reversed along axis " + std::to_string(axis);
    }
    return {};
  }

  [[nodiscard]] std::string transposed() const {
    if (dims_.size() != dims_a_.size() || dims_.size() < 2 || dims_.size() > kMostPermutedRank) return {};
    std::vector<int64_t> permutation(dims_.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    const Dims strides = contiguous_strides(dims_a_);
    while (std::ranges::next_permutation(permutation).found) {
      Dims dims, moved;
      for (const int64_t axis : permutation) {
        dims.push_back(dims_a_[as_size(axis)]);
        moved.push_back(strides[as_size(axis)]);
      }
      if (dims == dims_ && equals_moved(moved, 0)) return "is transposed by " + to_string(permutation);
    }
    return {};
  }

  /// The slices of one axis in another order.
  [[nodiscard]] std::string reordered() const {
    for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
      const auto order = order_of_slices(axis);
      if (!order) continue;
      std::vector<int64_t> moved;
      for (std::size_t i = 0; i < order->size(); ++i) {
        if ((*order)[i] != static_cast<int64_t>(i)) moved.push_back(static_cast<int64_t>(i));
      }
      const std::string of = " of axis " + std::to_string(axis);
      if (moved.size() == 2) return "has slices " + std::to_string(moved[0]) + " and " + std::to_string(moved[1]) + of + " exchanged";
      const auto step = as_size((*order)[0]);
      const bool is_rolled = std::ranges::all_of(
          moved, [&](int64_t i) { return (*order)[as_size(i)] == (i + static_cast<int64_t>(step)) % std::ssize(*order); });
      return "has the slices" + of + (is_rolled ? " rolled, slice " + std::to_string(step) + " first" : " in another order");
    }
    return {};
  }

  /// For each slice of b along an axis the equal one of a; empty where some slice has none.
  [[nodiscard]] std::optional<std::vector<int64_t>> order_of_slices(std::size_t axis) const {
    constexpr int64_t kMostSlices = 4096;
    const int64_t count = dims_[axis];
    if (count < 2 || count > kMostSlices) return std::nullopt;
    const auto slices_of = [&](const std::vector<double>& values) {
      int64_t inner = 1;
      for (std::size_t i = axis + 1; i < dims_.size(); ++i) inner *= dims_[i];
      std::vector<std::vector<double>> out(as_size(count));
      for (std::size_t i = 0; i < values.size(); ++i) out[(i / as_size(inner)) % as_size(count)].push_back(values[i]);
      return out;
    };
    const auto of_a = slices_of(a_), of_b = slices_of(b_);
    std::vector<int64_t> out;
    std::vector<bool> is_taken(as_size(count), false);
    for (std::size_t i = 0; i < of_b.size(); ++i) {
      std::size_t found = of_a.size();
      for (std::size_t step = 0; step < of_a.size() && found == of_a.size(); ++step) {
        const std::size_t k = (i + step) % of_a.size();  // most often in its place
        if (!is_taken[k] && of_a[k] == of_b[i]) found = k;
      }
      if (found == of_a.size()) return std::nullopt;
      is_taken[found] = true;
      out.push_back(static_cast<int64_t>(found));
    }
    return out;
  }

  [[nodiscard]] std::string rounded() const {
    if (type_ != DataType::float32) return {};
    const auto to_brain = [](double x) { return static_cast<double>(bfloat16_to_float(double_to_bfloat16(x))); };
    const auto to_half = [](double x) { return static_cast<double>(half_to_float(double_to_half(x))); };
    if (all_are([&](std::size_t i) { return to_brain(a_[i]); })) return "is rounded to bf16";
    if (all_are([&](std::size_t i) { return to_half(a_[i]); })) return "is rounded to f16";
    return {};
  }

  [[nodiscard]] std::string few_elements() const {
    std::string out;
    std::size_t count = 0;
    for (std::size_t i = 0; i < b_.size(); ++i) {
      if (is_same(a_[i], b_[i])) continue;
      if (++count > kMostNamed) return {};
      Dims at;
      for (std::size_t axis = dims_.size(), rest = i; axis-- > 0; rest /= as_size(dims_[axis])) {
        at.insert(at.begin(), static_cast<int64_t>(rest % as_size(dims_[axis])));
      }
      out += (count > 1 ? "; " : "has ") + exact_number(b_[i]) + " at " + to_string(at) + ", was " + exact_number(a_[i]);
    }
    return out;
  }

  /// "differs in slice 3 of axis 0 alone, which is all zeros"
  [[nodiscard]] std::string one_slice() const {
    for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
      if (dims_[axis] < 2) continue;
      const auto inner = as_size(contiguous_strides(dims_)[axis]), length = as_size(dims_[axis]);
      std::unordered_set<std::size_t> differing;
      bool is_zero = true;
      for (std::size_t i = 0; i < b_.size() && differing.size() < 2; ++i) {
        if (is_same(a_[i], b_[i])) continue;
        differing.insert((i / inner) % length);
        is_zero = is_zero && b_[i] == 0;
      }
      if (differing.size() != 1) continue;
      return "differs in slice " + std::to_string(*differing.begin()) + " of axis " + std::to_string(axis) + " alone" +
             (is_zero ? ", which is all zeros" : "");
    }
    return {};
  }

  DataType type_;
  Dims dims_a_, dims_;
  std::vector<double> a_, b_;
};

bool is_comparable(const Constant& a, const Constant& b) {
  return a.type == b.type && a.type != DataType::string && !kComplexTypes.has(a.type) && element_count(a.dims) == element_count(b.dims);
}

}  // namespace

// Operands, and the whole.
namespace {

/// The name that the operator's schema gives to an operand: "scale"; else empty.
std::string formal_name(const Node& node, std::size_t input) {
  const auto* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(node.opset()), std::string(node.domain()));
  if (schema == nullptr || input >= schema->inputs().size()) return {};
  const onnx::OpSchema::FormalParameter& parameter = schema->inputs()[input];
  return parameter.GetOption() == onnx::OpSchema::Variadic ? "" : parameter.GetName();
}

std::string input_words(const Node& node, std::size_t input) {
  const std::string name = formal_name(node, input);
  return std::to_string(input) + (name.empty() ? "" : " (" + name + ")");
}

/// Two nodes of one operator that read other values.
class OperandPair {
 public:
  OperandPair(Sides& sides, const Account& account, const Node& a, const Node& b) : sides_(&sides), account_(&account), a_(&a), b_(&b) {}

  [[nodiscard]] Repair repair() const {
    const std::size_t count = b_->inputs().size();
    std::vector<std::size_t> wrong;
    for (std::size_t i = 0; i < std::max(count, a_->inputs().size()); ++i) {
      if (!is_same(a_->input(i), b_->input(i))) wrong.push_back(i);
    }
    if (wrong.size() == 1) return of_one(wrong.front());
    if (wrong.size() < 2 || count != a_->inputs().size()) return {};
    // Each of these reads what another of them did.
    std::vector<std::size_t> order(wrong.size());
    for (std::size_t k = 0; k < wrong.size(); ++k) {
      const auto found = std::ranges::find_if(wrong, [&](std::size_t i) { return is_same(a_->input(i), b_->input(wrong[k])); });
      if (found == wrong.end()) return {};
      order[k] = *found;
    }
    if (wrong.size() == 2 && order[0] == wrong[1] && order[1] == wrong[0]) {
      return {"inputs", "", "", "inputs " + input_words(*b_, wrong[0]) + " and " + input_words(*b_, wrong[1]) + " are exchanged"};
    }
    if (std::ranges::equal(order, wrong, {}, {}, {}) || std::unordered_set(order.begin(), order.end()).size() != order.size()) return {};
    return {"inputs", "", "", "inputs " + listed(wrong) + " are what inputs " + listed(order) + " were"};
  }

 private:
  static std::string listed(const std::vector<std::size_t>& places) {
    std::string out;
    for (const std::size_t place : places) out += (out.empty() ? "" : ", ") + std::to_string(place);
    return out;
  }

  /// The value of the first model with which one of the second certainly corresponds.
  [[nodiscard]] bool is_same(const Value* a, const Value* b) const {
    if (a == nullptr || b == nullptr) return a == b;
    if (a->producer() != nullptr && b->producer() != nullptr && account_->of_second(*b->producer()).partner == a->producer()) {
      return a->output_index() == b->output_index();
    }
    if (const auto found = sides_->tensor_difference({a}, {b})) return found->values == 0;
    return a->producer() == nullptr && b->producer() == nullptr && sides_->same_input(*a, *b);
  }

  [[nodiscard]] Repair of_one(std::size_t input) const {
    const Value *const a = a_->input(input), *const b = b_->input(input);
    if (a != nullptr && b != nullptr) {
      const Value* const meant = a->graph().find(b->name());
      if (meant == nullptr || meant == a || !is_same(meant, b)) return {};
    }
    const auto name = [](const Value* value) { return value == nullptr ? std::string("absent") : quote(value->name()); };
    return repair_from("input " + input_words(*b_, input), name(b), name(a));
  }

  Sides* sides_;
  const Account* account_;
  const Node *a_, *b_;
};

/// Whether two nodes are one another's counterpart by their names, too, as far as the first model has the second one's names.
bool are_namesakes(const Node& a, const Node& b) {
  for (const Value* const value : b.outputs()) {
    const Value* const found = value == nullptr ? nullptr : a.graph().find(value->name());
    if (found != nullptr && found->producer() != &a) return false;
  }
  return true;
}

/// Whether two nodes read values of the same names.
bool have_same_operands(const Node& a, const Node& b) {
  return std::ranges::equal(a.inputs(), b.inputs(),
                            [](const Value* x, const Value* y) { return x == nullptr || y == nullptr ? x == y : x->name() == y->name(); });
}

/// Constants that hold each other's values.
void repair_exchanged(Sides& sides, const std::vector<Issue*>& constants) {
  const auto holds = [&](const Issue& one, const Issue& other) {
    const auto found = sides.tensor_difference(other.a, one.b);
    return found && found->values == 0;
  };
  for (std::size_t i = 0; i < constants.size(); ++i) {
    for (std::size_t k = i + 1; k < constants.size(); ++k) {
      Issue &one = *constants[i], &other = *constants[k];
      if (one.what.name == other.what.name || !holds(one, other) || !holds(other, one)) continue;
      const std::string text = "the values of " + quote(one.what.name) + " and " + quote(other.what.name) + " are exchanged";
      one.what.repair = other.what.repair = {"values", "", "", text};
    }
  }
}

void repair_constants(Sides& sides, const std::vector<Issue*>& constants) {
  for (Issue* const issue : constants) {
    const auto a = sides.a.contents(issue->a), b = sides.b.contents(issue->b);
    if (element_count(a->dims) > kMostElements) continue;
    const std::string text = Relation(a->load(), b->load()).text();
    if (!text.empty()) issue->what.repair = {"values", "", "", quote(issue->what.name) + " " + text};
  }
  repair_exchanged(sides, constants);
}

}  // namespace

void Account::note_repairs(Sides& sides) {
  std::vector<Issue*> constants;
  std::unordered_set<const Node*> looked_at;
  std::unordered_map<const Node*, const Node*> partners;  // of nodes that differ in more than operands
  for (const Issue& issue : issues_) {
    if (issue.partner != nullptr && issue.node != nullptr) partners.emplace(issue.node, issue.partner);
  }
  for (Issue& issue : issues_) {
    const auto known = partners.find(issue.node);
    const Node* const partner = known != partners.end()                         ? known->second
                                : issue.node != nullptr && !issue.what.in_first ? of_second(*issue.node).partner
                                                                                : nullptr;
    if (partner != nullptr && !are_namesakes(*partner, *issue.node)) {
      issue.what.repair = {};  // the nodes may have changed places
      continue;
    }
    if (!issue.what.repair.text.empty()) continue;
    if (issue.a && issue.b) {
      const auto a = sides.a.contents(issue.a), b = sides.b.contents(issue.b);
      if (a && b && is_comparable(*a, *b)) constants.push_back(&issue);
    } else if (issue.what.kind == Unexplained::Kind::operand && partner != nullptr && looked_at.insert(issue.node).second) {
      issue.what.repair = OperandPair(sides, *this, *partner, *issue.node).repair();
    } else if (issue.what.kind == Unexplained::Kind::node_changed && issue.partner != nullptr && issue.node != nullptr &&
               !same_operator(*issue.partner, *issue.node) && have_same_operands(*issue.partner, *issue.node)) {
      issue.what.repair = repair_from("operator", escape(issue.node->op_type()), escape(issue.partner->op_type()));
    }
  }
  if (constants.size() <= kMostConstants) repair_constants(sides, constants);
}

}  // namespace relayout::proof

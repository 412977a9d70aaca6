// Tells whether an input is a mask, by what all its readers compute with it.
#include <cmath>

#include "base/positions.h"
#include "model/functions.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/roles.h"

namespace relayout {
namespace {

/// Magnitude from which on an addend excludes scores.
constexpr double kHides = 1000;
/// Largest addend that only keeps zeros out of a logarithm.
constexpr double kGuard = 1e-6;

/// Whether a node makes counts, or positions, of mask elements: neither for a mask nor against it, and what follows is no mask.
bool counts(const Node& node) {
  const Traits traits = traits_of(node);
  const Reduces reduced = traits.reduces();
  const bool sums = reduced == Reduces::sum || reduced == Reduces::mean || reduced == Reduces::l1 || node.is("CumSum");
  return sums || traits.has(Trait::makes_int64) || traits.has(Trait::searches);
}

/// Whether a node makes masks of masks: the largest, the smallest or the product of some, or what it does to 0 and to 1.
bool keeps_masks(const Node& node) {
  const Traits traits = traits_of(node);
  const Reduces reduced = traits.reduces();
  if (reduced == Reduces::maximum || reduced == Reduces::minimum || reduced == Reduces::product) return true;
  const bool is_exact = traits.has(Trait::elementwise) && traits.has(Trait::exact) && traits.arithmetic() == Arithmetic::none;
  return is_exact || traits.predicate() == Predicate::logical_not;
}

/// What a value is, if the input is a mask.
enum class Form : uint8_t {
  mask,    ///< 0 and 1
  below,   ///< −1 and 0
  scaled,  ///< 0 and a large number
};

class MaskUses {
 public:
  explicit MaskUses(const Value& input) : functions_(input.graph().model()) {
    const auto declared = input.declared();
    rank_ = declared ? declared->dims.size() : 0;
    visit(input, {});
  }

  MaskUse find() {
    while (!open_.empty() && use_ != MaskUse::refuted) {
      const auto [value, path] = open_.front();
      open_.pop_front();
      if (path.form == Form::scaled && path.hides && value->is_output()) note(MaskUse::certain);
      for (const Use& use : value->uses()) read(*use.node, as_size(use.index), path);
    }
    return use_;
  }

 private:
  /// The way to a value.
  struct Path {
    Form form = Form::mask;
    bool cast = false;
    bool compared = false;  ///< true and false of a comparison
    bool hides = false;     ///< scaled by a large negative number
  };

  void visit(const Value& value, Path path) {
    if (seen_.insert(&value).second) open_.emplace_back(&value, path);
  }

  void note(MaskUse use) { use_ = std::max(use_, use); }

  void go_on(const Node& node, Path path) {
    for (const Value* const output : node.outputs()) {
      if (output != nullptr) visit(*output, path);
    }
  }

  void read(const Node& node, std::size_t index, Path path) {
    if (const Value* const inner = receiver_of(node, index, functions_)) return visit(*inner, path);
    if (!node.domain().empty()) return note(MaskUse::possible);
    const Traits traits = traits_of(node);
    if (traits.reads(index) != Reads::elements) return;
    if (node.is("Where") && index == 0) return read_choice(node, path);
    if (traits.moves_input(index) || traits.has(Trait::identity)) return go_on(node, path);
    if (traits.has(Trait::quantizes) && index == 0) return go_on(node, path);
    if (traits.has(Trait::casts)) {
      path.cast = true;
      return go_on(node, path);
    }
    if (counts(node) || traits.has(Trait::multiplies)) return note(MaskUse::possible);
    if (keeps_masks(node)) return go_on(node, path);
    const Predicate predicate = traits.predicate();
    if (compares(predicate)) return read_comparison(node, index, path);
    if (predicate != Predicate::none) {
      if (!path.compared) note(MaskUse::certain);
      return go_on(node, path);
    }
    if (traits.arithmetic() != Arithmetic::none) return read_arithmetic(node, index, path);
    if (traits.has(Trait::softmax) && path.form == Form::scaled) return note(MaskUse::certain);
    if (traits.has(Trait::elementwise)) note(node.is("Log") && path.form == Form::mask ? MaskUse::possible : MaskUse::refuted);
  }

  /// A comparison of another kind of value may choose, too: that of a mask hides scores.
  void read_choice(const Node& node, const Path& path) {
    const auto hides = [&](std::size_t index) {
      const auto number = number_of(node.input(index));
      return number && *number <= -kHides;
    };
    if (!path.compared || hides(1) || hides(2)) note(MaskUse::certain);
  }

  void read_comparison(const Node& node, std::size_t index, Path path) {
    const auto number = number_of(node.input(1 - index));
    if (!number || *number < 0 || *number > 1 || path.form != Form::mask) return note(MaskUse::refuted);
    path.compared = true;
    go_on(node, path);
  }

  void read_arithmetic(const Node& node, std::size_t index, Path path) {
    const Value* const other = node.inputs().size() == 2 ? node.input(1 - index) : nullptr;
    if (other == node.input(index)) return note(MaskUse::refuted);
    const bool varies = other == nullptr || !is_constant(*other);
    switch (traits_of(node).arithmetic()) {
      case Arithmetic::subtract:
      case Arithmetic::add:
        return varies ? read_sum(node, index, path) : read_shift(node, index, number_of(other), path);
      case Arithmetic::multiply:
        return varies ? read_product(path) : read_scaling(node, number_of(other), path);
      case Arithmetic::divide:
        return note(varies && index == 0 ? MaskUse::possible : MaskUse::refuted);
      case Arithmetic::negate:
        path.hides = !path.hides;
        return go_on(node, path);
      case Arithmetic::maximum:
      case Arithmetic::minimum: {
        const auto number = number_of(other);
        if (!varies && path.form == Form::mask && (!number || *number < 0 || *number > 1)) return note(MaskUse::refuted);
        return go_on(node, path);
      }
      default:
        return;
    }
  }

  /// A product with a value that is no constant: of features with an element for each of a row's.
  void read_product(const Path& path) {
    const bool selects = path.form == Form::mask && path.cast && rank_ > 1;
    note(path.form == Form::below || path.hides ? MaskUse::certain : selects ? MaskUse::factor : MaskUse::possible);
  }

  /// A sum with a value that is no constant. One minus a mask is also written with ones of the mask's dims.
  void read_sum(const Node& node, std::size_t index, const Path& path) {
    const Value* const other = node.inputs().size() == 2 ? node.input(1 - index) : nullptr;
    const Node* const maker = other == nullptr ? nullptr : other->producer();
    const bool is_one = maker != nullptr && maker->is("ConstantOfShape") && fill_of(*maker) == 1.0;
    if (arithmetic_of(node) == Arithmetic::subtract && index == 1 && is_one) return read_shift(node, index, 1.0, path);
    note(path.hides ? MaskUse::certain : MaskUse::possible);
  }

  void read_shift(const Node& node, std::size_t index, std::optional<double> number, Path path) {
    const bool subtracts = arithmetic_of(node) == Arithmetic::subtract;
    if (path.form == Form::scaled) {
      if (number && (subtracts && index == 0 ? -*number : *number) <= -kHides) note(MaskUse::certain);
      return go_on(node, path);
    }
    if (subtracts && index == 1 && number == 1 && path.form == Form::mask) {
      note(MaskUse::certain);
      return go_on(node, path);
    }
    const bool lowers = number && ((subtracts && index == 0 && *number == 1) || (!subtracts && *number == -1));
    const bool is_guard = number && std::fabs(*number) <= kGuard;  // of a Log
    if (!is_guard && (!lowers || path.form != Form::mask)) return note(MaskUse::refuted);
    if (lowers) path.form = Form::below;
    go_on(node, path);
  }

  void read_scaling(const Node& node, std::optional<double> number, Path path) {
    const double size = number ? std::fabs(*number) : 0;
    if (size != 1 && (size < kHides || path.form == Form::scaled)) return note(MaskUse::refuted);
    if (size >= kHides) {
      path.hides = (*number < 0) != (path.form == Form::below);
      path.form = Form::scaled;
    }
    go_on(node, path);
  }

  /// The number of a constant whose elements are all equal.
  [[nodiscard]] std::optional<double> number_of(const Value* value) {
    const auto known = value == nullptr ? std::nullopt : constants_.value(*value);
    if (!known || known->element_count() == 0 || !kNumericTypes.has(known->type())) return std::nullopt;
    const std::vector<double> all = reals_of(*known);
    const auto [least, most] = std::ranges::minmax(all);
    return least == most ? std::optional(least) : std::nullopt;
  }

  [[nodiscard]] bool is_constant(const Value& value) { return constants_.is_constant(value) || value.is_overridable(); }

  Functions functions_;
  Constants constants_;
  std::size_t rank_ = 0;
  MaskUse use_ = MaskUse::none;
  std::unordered_set<const Value*> seen_;
  std::deque<std::pair<const Value*, Path>> open_;
};

}  // namespace

MaskUse mask_use_of(const Value& input) {
  return MaskUses(input).find();
}

}  // namespace relayout

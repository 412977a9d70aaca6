#include "passes/shapes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "model/attributes.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using Shape = std::optional<Dims>;

/// Results have the dims of the first input, whatever those are.
constexpr auto kKeepDims = std::to_array<std::string_view>({
    "BatchNormalization",
    "Cast",
    "CastLike",
    "Clip",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Gelu",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "InstanceNormalization",
    "LRN",
    "LayerNormalization",
    "LeakyRelu",
    "LogSoftmax",
    "LpNormalization",
    "Mish",
    "Neg",
    "PRelu",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tanh",
});
constexpr auto kBroadcast = std::to_array<std::string_view>({"Add", "Div", "Max", "Mean", "Min", "Mul", "Pow", "Sub", "Sum", "Where"});
/// What they do to the batch is nothing, so that the other dims follow without it.
constexpr auto kBatchwise =
    std::to_array<std::string_view>({"AveragePool", "Conv", "ConvTranspose", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "MaxPool"});
static_assert(std::ranges::is_sorted(kKeepDims) && std::ranges::is_sorted(kBroadcast) && std::ranges::is_sorted(kBatchwise));

template <std::size_t N>
bool is_any_of(const Node& node, const std::array<std::string_view, N>& sorted) {
  return std::ranges::binary_search(sorted, std::string_view(node.op_type()));
}

int64_t times(int64_t a, int64_t b) {
  return a < 0 || b < 0 ? -1 : checked_mul(a, b).value_or(-1);
}

int64_t size_at(const Shape& shape, std::size_t axis) {
  return shape && axis < shape->size() ? (*shape)[axis] : -1;
}

bool is_certain(const Shape& shape) {
  return shape && std::ranges::none_of(*shape, [](int64_t dim) { return dim < 0; });
}

/// One node's output, the inputs' dims being known as far as they can be.
class OutputShape {
 public:
  OutputShape(const Node& node, std::size_t output, std::vector<Shape> inputs, Constants& constants)
      : node_(node), output_(output), inputs_(std::move(inputs)), attributes_(node), constants_(constants) {}

  [[nodiscard]] Shape find() {
    if (!node_.domain().empty() || attributes_.has_reference()) return std::nullopt;
    if (auto dims = inferred(inputs_)) return dims;
    if (output_ != 0) return std::nullopt;
    if (is_any_of(node_, kKeepDims)) return inputs_[0];
    if (is_any_of(node_, kBroadcast)) return broadcast();
    if (is_any_of(node_, kBatchwise)) return batchwise();
    if (node_.is("Gemm")) return gemm();
    if (node_.is("MatMul")) return matmul();
    if (node_.is("Flatten")) return flatten();
    if (node_.is("Reshape")) return reshape();
    if (node_.is("Squeeze") || node_.is("Unsqueeze")) return squeeze();
    if (node_.is("Transpose")) return transpose();
    if (node_.is("Concat")) return concat();
    if (node_.is("Pad") || node_.is("Resize") || node_.is("Upsample")) return unknown_dims(inputs_[0]);
    return std::nullopt;
  }

 private:
  static Shape unknown_dims(const Shape& shape) { return shape ? Shape(Dims(shape->size(), -1)) : std::nullopt; }

  /// What the operator's own rule says; nothing when it needs more than is known.
  [[nodiscard]] Shape inferred(const std::vector<Shape>& inputs) {
    const Op* const op = find_kernel(node_);
    if (op == nullptr || node_.opset() <= 0) return std::nullopt;
    std::vector<DatumInfo> infos(inputs.size());
    std::vector<const DatumInfo*> pointers(inputs.size(), nullptr);
    std::vector<std::optional<Tensor>> values(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Value* const input = node_.input(i);
      if (input == nullptr) continue;
      if (!is_certain(inputs[i])) return std::nullopt;
      infos[i].type = constants_.type_of(*input);
      infos[i].dims = *inputs[i];
      // Dims are told by a few integers at most.
      constexpr int64_t kFew = 16;
      if (element_count(*inputs[i]) <= kFew) values[i] = constants_.value(*input);
      if (values[i]) infos[i].value = &*values[i];
      pointers[i] = &infos[i];
    }
    try {
      const auto found = op->infer(OpCall(node_, node_.opset()), pointers);
      if (!found || found->size() <= output_ || (*found)[output_].kind != Datum::Kind::tensor) return std::nullopt;
      return (*found)[output_].dims;
    } catch (const Error&) {
      return std::nullopt;  // not for this question to report
    }
  }

  [[nodiscard]] Shape batchwise() {
    const bool has_weight = node_.is("Conv") || node_.is("ConvTranspose");
    const Shape weight = has_weight && inputs_.size() > 1 ? inputs_[1] : std::nullopt;
    const Shape data = inputs_[0];
    Shape out = has_weight ? unknown_dims(weight) : unknown_dims(data);
    if (!out || out->size() < 2) return unknown_dims(data);
    const int64_t groups = attributes_.integer("group", 1);
    if (data && data->size() == out->size()) {
      std::vector<Shape> inputs = inputs_;
      (*inputs[0])[0] = 1;
      if (has_weight) (*inputs[0])[1] = node_.is("Conv") ? times(size_at(weight, 1), groups) : size_at(weight, 0);
      if (auto dims = inferred(inputs)) out = std::move(dims);
      (*out)[0] = (*data)[0];
    }
    if (!has_weight) {
      (*out)[1] = (*data)[1];
      if (node_.op_type().starts_with("Global")) std::fill(out->begin() + 2, out->end(), 1);
    } else {
      (*out)[1] = node_.is("Conv") ? size_at(weight, 0) : times(size_at(weight, 1), groups);
    }
    return out;
  }

  [[nodiscard]] Shape gemm() const {
    const bool turned_a = attributes_.integer("transA", 0) != 0;
    const bool turned_b = attributes_.integer("transB", 0) != 0;
    return Dims{size_at(inputs_[0], turned_a ? 1 : 0), inputs_.size() > 1 ? size_at(inputs_[1], turned_b ? 0 : 1) : -1};
  }

  [[nodiscard]] Shape matmul() const {
    if (inputs_.size() < 2 || !inputs_[0] || !inputs_[1]) return std::nullopt;
    const Dims& a = *inputs_[0];
    const Dims& b = *inputs_[1];
    if (a.size() < 2 || b.size() < 2) return std::nullopt;
    Dims out(std::max(a.size(), b.size()), -1);
    const std::size_t rank = out.size();
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      const int64_t of_a = i + a.size() >= rank ? a[i + a.size() - rank] : 1;
      const int64_t of_b = i + b.size() >= rank ? b[i + b.size() - rank] : 1;
      out[i] = joined(of_a, of_b);
    }
    out[rank - 2] = a[a.size() - 2];
    out[rank - 1] = b.back();
    return out;
  }

  /// A size that is not 1 decides; what is not known may be 1 or that size.
  static int64_t joined(int64_t a, int64_t b) {
    if (a == 1) return b;
    return b != 1 && a < 0 ? b : a;
  }

  [[nodiscard]] Shape broadcast() const {
    if (node_.opset() < 7) return inputs_[0];
    Dims out;
    for (const Shape& input : inputs_) {
      if (!input) return std::nullopt;
      if (input->size() > out.size()) out.insert(out.begin(), input->size() - out.size(), 1);
    }
    for (const Shape& input : inputs_) {
      for (std::size_t i = 0; i < input->size(); ++i) {
        int64_t& dim = out[out.size() - 1 - i];
        dim = joined(dim, (*input)[input->size() - 1 - i]);
      }
    }
    return out;
  }

  [[nodiscard]] Shape flatten() const {
    if (!inputs_[0]) return Dims{-1, -1};
    const auto rank = static_cast<int64_t>(inputs_[0]->size());
    int64_t axis = attributes_.integer("axis", 1);
    if (axis < 0) axis += rank;
    Dims out = {1, 1};
    for (int64_t i = 0; i < rank; ++i) {
      int64_t& part = out[i < axis ? 0 : 1];
      part = times(part, (*inputs_[0])[static_cast<std::size_t>(i)]);
    }
    return out;
  }

  [[nodiscard]] std::optional<std::vector<int64_t>> integers(std::size_t input) {
    const Value* const value = node_.input(input);
    const auto tensor = value != nullptr ? constants_.value(*value) : std::nullopt;
    if (!tensor || tensor->type() != DataType::int64 || tensor->rank() > 1) return std::nullopt;
    const Tensor dense = contiguous(*tensor);
    return std::vector<int64_t>(dense.data<int64_t>(), dense.data<int64_t>() + dense.element_count());
  }

  [[nodiscard]] Shape reshape() {
    const auto wanted = node_.opset() < 5 ? std::optional(attributes_.integers("shape")) : integers(1);
    if (!wanted) {
      // The rank is that of the request, whatever it says.
      const Shape request = inputs_.size() > 1 ? inputs_[1] : std::nullopt;
      constexpr int64_t kMostDims = 64;
      if (!request || request->size() != 1 || (*request)[0] < 0 || (*request)[0] > kMostDims) return std::nullopt;
      return Dims(static_cast<std::size_t>((*request)[0]), -1);
    }
    const bool zero_is_zero = attributes_.integer("allowzero", 0) != 0;
    Dims out;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      int64_t dim = (*wanted)[i];
      if (dim == 0 && !zero_is_zero) dim = size_at(inputs_[0], i);
      out.push_back(std::max<int64_t>(dim, -1));
    }
    return out;
  }

  [[nodiscard]] Shape squeeze() {
    const auto axes = node_.opset() < 13 ? std::optional(attributes_.integers("axes")) : integers(1);
    if (!inputs_[0] || !axes || axes->empty()) return std::nullopt;
    const bool adds = node_.is("Unsqueeze");
    const std::size_t longer = inputs_[0]->size() + (adds ? axes->size() : 0);
    std::vector<char> named(longer, 0);
    for (int64_t axis : *axes) {
      if (axis < 0) axis += static_cast<int64_t>(longer);
      if (axis < 0 || axis >= static_cast<int64_t>(longer)) return std::nullopt;
      named[static_cast<std::size_t>(axis)] = 1;
    }
    Dims out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < longer; ++i) {
      if (adds && named[i] == 0 && next == inputs_[0]->size()) return std::nullopt;
      if (adds) out.push_back(named[i] != 0 ? 1 : (*inputs_[0])[next++]);
      if (!adds && named[i] == 0) out.push_back((*inputs_[0])[i]);
    }
    return out;
  }

  [[nodiscard]] Shape transpose() const {
    const Dims permutation = attributes_.integers("perm");
    if (permutation.empty()) return inputs_[0] ? Shape(Dims(inputs_[0]->rbegin(), inputs_[0]->rend())) : std::nullopt;
    Dims out;
    for (const int64_t from : permutation) out.push_back(from >= 0 ? size_at(inputs_[0], static_cast<std::size_t>(from)) : -1);
    return out;
  }

  [[nodiscard]] Shape concat() const {
    const auto known = std::ranges::find_if(inputs_, [](const Shape& shape) { return shape.has_value(); });
    if (known == inputs_.end()) return std::nullopt;
    Dims out = **known;
    const auto rank = static_cast<int64_t>(out.size());
    int64_t axis = attributes_.integer("axis", 1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
    int64_t sum = 0;
    for (const Shape& input : inputs_) {
      const int64_t size = size_at(input, static_cast<std::size_t>(axis));
      sum = sum < 0 || size < 0 ? -1 : checked_add(sum, size).value_or(-1);
    }
    out[static_cast<std::size_t>(axis)] = sum;
    return out;
  }

  const Node& node_;
  std::size_t output_;
  std::vector<Shape> inputs_;
  Attributes attributes_;
  Constants& constants_;
};

Shape of_source(const Value& value) {
  if (const Initializer* const initializer = value.initializer(); initializer != nullptr && initializer->data && !value.is_overridable())
    return initializer->data->dims();
  const bool is_contract = value.is_input() && value.graph().outer() == nullptr && !value.graph().is_function();
  const auto declared = is_contract ? value.declared() : std::nullopt;
  return declared && declared->has_shape ? Shape(declared->dims) : std::nullopt;
}

}  // namespace

Shape CertainShapes::of(const Value& value, Constants& constants) {
  struct Open {
    const Value* value;
    std::size_t next = 0;
  };
  std::vector<Open> open = {{&value}};
  while (!open.empty()) {
    Open& top = open.back();
    const Value& at = *top.value;
    const Node* const node = at.producer();
    if (known_.contains(&at)) {
      open.pop_back();
    } else if (const auto constant = constants.find(at); const auto* const found = std::get_if<Constant>(&constant)) {
      known_.emplace(&at, found->dims);
    } else if (node == nullptr) {
      known_.emplace(&at, of_source(at));
    } else if (top.next < node->inputs().size()) {
      const Value* const input = node->input(top.next++);
      if (input != nullptr) open.push_back({input});
    } else {
      std::vector<Shape> inputs(std::max<std::size_t>(node->inputs().size(), 1));
      for (std::size_t i = 0; i < node->inputs().size(); ++i) {
        if (const Value* const input = node->input(i)) inputs[i] = known_.at(input);
      }
      known_.emplace(&at, OutputShape(*node, static_cast<std::size_t>(at.output_index()), std::move(inputs), constants).find());
    }
  }
  return known_.at(&value);
}

}  // namespace relayout

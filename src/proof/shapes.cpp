#include "proof/shapes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/op.h"
#include "proof/side.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Results have the dims of the first input.
constexpr auto kKeepDims = std::to_array<std::string_view>({
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BatchNormalization",
    "Cast",
    "CastLike",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "CumSum",
    "DequantizeLinear",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "InstanceNormalization",
    "LRN",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "Mish",
    "Neg",
    "Not",
    "PRelu",
    "QuantizeLinear",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
});
constexpr auto kBroadcast = std::to_array<std::string_view>({"Add", "Div", "Max", "Mean", "Min", "Mul", "Pow", "Sub", "Sum", "Where"});
constexpr auto kPools = std::to_array<std::string_view>(
    {"AveragePool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "LpPool", "MaxPool", "Resize", "Upsample"});
static_assert(std::ranges::is_sorted(kKeepDims) && std::ranges::is_sorted(kBroadcast) && std::ranges::is_sorted(kPools));

template <std::size_t N>
bool is_any_of(const Node& node, const std::array<std::string_view, N>& sorted) {
  return node.domain().empty() && std::ranges::binary_search(sorted, std::string_view(node.op_type()));
}

int64_t times(int64_t a, int64_t b) {
  int64_t out = 0;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &out) ? -1 : out;
}

/// Entry of an attribute that has one per dim; −1 where it is too short.
int64_t entry_of(const AttributeReader& attributes, std::string_view name, std::size_t at, int64_t otherwise) {
  const auto values = attributes.integers(name);
  return values.empty() ? otherwise : at < values.size() ? values[at] : -1;
}

bool is_sane(int64_t number) {
  return number >= 0 && number < int64_t{1} << 31;
}

/// Positions of a window along one dim of the data (ONNX Conv, AveragePool); −1 when they are not certain.
int64_t window_positions(const AttributeReader& attributes, std::size_t i, std::size_t spatial_rank, int64_t size, int64_t kernel) {
  const auto entry = [&](std::string_view name, std::size_t at, int64_t otherwise) { return entry_of(attributes, name, at, otherwise); };
  const int64_t stride = entry("strides", i, 1);
  const int64_t dilation = entry("dilations", i, 1);
  if (!is_sane(size) || !is_sane(kernel) || !is_sane(stride) || !is_sane(dilation) || kernel < 1 || stride < 1) return -1;
  const std::string padding = attributes.text("auto_pad", "NOTSET");
  if (padding.starts_with("SAME")) return (size + stride - 1) / stride;
  const bool is_padded = padding != "VALID";
  const int64_t begin = is_padded ? entry("pads", i, 0) : 0;
  const int64_t end = is_padded ? entry("pads", i + spatial_rank, 0) : 0;
  if (!is_sane(begin) || !is_sane(end)) return -1;
  const int64_t room = size + begin + end - (kernel - 1) * dilation - 1;
  return room < 0 ? -1 : room / stride + 1;
}

/// The same of a ConvTranspose, whose windows add up.
int64_t spread_positions(const AttributeReader& attributes, std::size_t i, std::size_t spatial_rank, int64_t size, int64_t kernel) {
  const auto entry = [&](std::string_view name, std::size_t at, int64_t otherwise) { return entry_of(attributes, name, at, otherwise); };
  const int64_t stride = entry("strides", i, 1);
  const int64_t dilation = entry("dilations", i, 1);
  const int64_t extra = entry("output_padding", i, 0);
  const int64_t begin = entry("pads", i, 0);
  const int64_t end = entry("pads", i + spatial_rank, 0);
  for (const int64_t number : {size, kernel, stride, dilation, extra, begin, end}) {
    if (!is_sane(number)) return -1;
  }
  const std::string padding = attributes.text("auto_pad", "NOTSET");
  if (attributes.has("output_shape") || padding.starts_with("SAME") || size < 1 || kernel < 1) return -1;
  const int64_t whole = stride * (size - 1) + extra + (kernel - 1) * dilation + 1;
  return std::max<int64_t>(padding == "VALID" ? whole : whole - begin - end, -1);
}

/// A size that is not 1 decides; what is not known may be 1 or that size.
int64_t broadcast_dim(int64_t a, int64_t b) {
  return b > 1 || (a == 1 && b != 1) ? b : a;
}

}  // namespace

std::optional<Dims> Shapes::of(Ref ref) {
  struct Open {
    Ref ref;
    std::size_t next = 0;
  };
  std::vector<Open> open = {{side_.resolve(ref)}};
  while (!open.empty()) {
    Open& top = open.back();
    const Ref at = top.ref;
    if (!at || shapes_.contains(at)) {
      open.pop_back();
    } else if (const Node* const node = at.value->producer(); node == nullptr) {
      shapes_.emplace(at, of_source(at));
    } else if (const auto inside = side_.entered(at)) {
      const auto found = shapes_.find(*inside);
      if (found != shapes_.end() || !*inside || top.next++ > 0) {
        shapes_.emplace(at, found != shapes_.end() ? found->second : std::nullopt);
      } else {
        open.push_back({*inside});
      }
    } else if (top.next < node->inputs().size()) {
      const Ref input = side_.operand(at, top.next++);
      if (input) open.push_back({input});
    } else {
      shapes_.emplace(at, of_node(at));
    }
  }
  const auto found = shapes_.find(side_.resolve(ref));
  return found == shapes_.end() ? std::nullopt : found->second;
}

Shapes::Shape Shapes::known(Ref output, std::size_t input) const {
  const auto found = shapes_.find(side_.operand(output, input));
  return found == shapes_.end() ? std::nullopt : found->second;
}

Shapes::Shape Shapes::of_source(Ref ref) {
  if (const auto constant = side_.constant(ref)) return constant->dims;
  const bool is_contract = ref.value->is_input() && ref.value->graph().outer() == nullptr && !ref.value->graph().is_function();
  const auto declared = is_contract ? ref.value->declared() : std::nullopt;
  if (!declared || !declared->has_shape) return std::nullopt;
  return declared->dims;
}

Shapes::Shape Shapes::of_node(Ref output) {
  const Node& node = *output.value->producer();
  if (const auto constant = side_.constant(output)) return constant->dims;
  if (!node.domain().empty()) return std::nullopt;
  if (output.value->output_index() != 0) return inferred(output);
  if (is_any_of(node, kKeepDims)) return known(output, 0);
  if (is_any_of(node, kBroadcast)) return broadcast(output);
  if (is_any_of(node, kPools)) return pool(output);
  if (node.is("Conv") || node.is("ConvTranspose")) return convolution(output);
  if (node.is("Pad")) return pad(output);
  if (node.is("Gemm")) return gemm(output);
  if (node.is("MatMul")) return matmul(output);
  if (node.is("Flatten")) return flatten(output);
  if (node.is("Reshape")) return reshape(output);
  if (node.is("Squeeze")) return squeeze(output);
  if (node.is("Unsqueeze")) return unsqueeze(output);
  if (node.is("Transpose")) return transpose(output);
  if (node.is("Concat")) return concat(output);
  return inferred(output);
}

/// What the operator's own rule says when the dims of all operands are certain.
Shapes::Shape Shapes::inferred(Ref output) {
  const Node& node = *output.value->producer();
  const Op* const op = find_op(node.op_type());
  if (op == nullptr || node.opset() <= 0 || !node.subgraphs().empty() || output.call != nullptr) return std::nullopt;
  std::vector<DatumInfo> infos(node.inputs().size());
  std::vector<const DatumInfo*> pointers(node.inputs().size(), nullptr);
  std::vector<std::optional<Tensor>> values(node.inputs().size());
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const Ref input = side_.operand(output, i);
    if (!input) continue;
    const auto dims = known(output, i);
    if (!dims || std::ranges::any_of(*dims, [](int64_t dim) { return dim < 0; })) return std::nullopt;
    infos[i].type = side_.type_of(input);
    infos[i].dims = *dims;
    constexpr int64_t kFew = 16;
    const auto constant = element_count(*dims) <= kFew ? side_.constant(input) : std::nullopt;
    if (constant) values[i] = constant->load();
    if (values[i]) infos[i].value = &*values[i];
    pointers[i] = &infos[i];
  }
  try {
    const auto found = op->infer(OpCall(node, node.opset()), pointers);
    const auto at = static_cast<std::size_t>(output.value->output_index());
    if (!found || found->size() <= at || (*found)[at].kind != Datum::Kind::tensor) return std::nullopt;
    return (*found)[at].dims;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Shapes::Shape Shapes::convolution(Ref output) {
  const auto weight = known(output, 1);
  const auto data = known(output, 0);
  if (!weight || weight->size() < 3) return data ? std::optional(Dims(data->size(), -1)) : std::nullopt;
  Dims dims(weight->size(), -1);
  if (data && data->size() == dims.size()) dims[0] = (*data)[0];
  const AttributeReader attributes(*output.value->producer(), output.call);
  const int64_t group = attributes.integer("group", 1);
  if (attributes.is_open()) return dims;
  const bool is_conv = output.value->producer()->is("Conv");
  dims[1] = is_conv ? (*weight)[0] : times((*weight)[1], group);
  for (std::size_t i = 2; data && data->size() == dims.size() && i < dims.size(); ++i) {
    dims[i] = (is_conv ? window_positions : spread_positions)(attributes, i - 2, dims.size() - 2, (*data)[i], (*weight)[i]);
  }
  return dims;
}

/// Operators that keep batch and channels.
Shapes::Shape Shapes::pool(Ref output) {
  const Node& node = *output.value->producer();
  auto dims = known(output, 0);
  if (!dims) return std::nullopt;
  const bool is_global = node.op_type().starts_with("Global");
  const bool keeps_leading = is_global || node.op_type().ends_with("Pool");
  const AttributeReader attributes(node, output.call);
  const auto kernel = attributes.integers("kernel_shape");
  const bool is_windowed = keeps_leading && kernel.size() + 2 == dims->size() && attributes.integer("ceil_mode", 0) == 0;
  for (std::size_t i = keeps_leading ? 2 : 0; i < dims->size(); ++i) {
    int64_t& dim = (*dims)[i];
    dim = is_global ? 1 : is_windowed ? window_positions(attributes, i - 2, kernel.size(), dim, kernel[i - 2]) : -1;
  }
  if (attributes.is_open()) std::fill(dims->begin() + (keeps_leading ? 2 : 0), dims->end(), -1);
  return dims;
}

Shapes::Shape Shapes::pad(Ref output) {
  auto dims = known(output, 0);
  if (!dims) return std::nullopt;
  const AttributeReader attributes(*output.value->producer(), output.call);
  const auto pads = paddings(side_, output, attributes, dims);
  const std::size_t rank = dims->size();
  for (std::size_t i = 0; i < rank; ++i) {
    int64_t& dim = (*dims)[i];
    int64_t sum = -1;
    const bool is_known = dim >= 0 && pads && !attributes.is_open() && pads->size() == 2 * rank &&
                          !__builtin_add_overflow(dim, (*pads)[i], &sum) && !__builtin_add_overflow(sum, (*pads)[i + rank], &sum);
    dim = is_known ? std::max<int64_t>(sum, -1) : -1;
  }
  return dims;
}

Shapes::Shape Shapes::flatten(Ref output) {
  const auto dims = known(output, 0);
  const AttributeReader attributes(*output.value->producer(), output.call);
  int64_t axis = attributes.integer("axis", 1);
  if (!dims || attributes.is_open()) return Dims{-1, -1};
  const auto rank = static_cast<int64_t>(dims->size());
  if (axis < 0) axis += rank;
  Dims out = {1, 1};
  for (int64_t i = 0; i < rank; ++i) {
    int64_t& part = out[i < axis ? 0 : 1];
    part = times(part, (*dims)[static_cast<std::size_t>(i)]);
  }
  return out;
}

Shapes::Shape Shapes::reshape(Ref output) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  const auto wanted = node.opset() < 5 ? std::optional(attributes.integers("shape")) : side_.integers(side_.operand(output, 1));
  if (attributes.is_open()) return std::nullopt;
  if (!wanted) {
    const auto request = known(output, 1);
    constexpr int64_t kMostDims = 64;
    if (!request || request->size() != 1 || (*request)[0] < 0 || (*request)[0] > kMostDims) return std::nullopt;
    return Dims(static_cast<std::size_t>((*request)[0]), -1);
  }
  const auto dims = known(output, 0);
  const bool zero_is_zero = attributes.integer("allowzero", 0) != 0;
  Dims out;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    int64_t dim = (*wanted)[i];
    if (dim == 0 && !zero_is_zero) dim = dims && i < dims->size() ? (*dims)[i] : -1;
    out.push_back(std::max<int64_t>(dim, -1));
  }
  // The one that is left to the rest.
  const auto rest = std::ranges::find(*wanted, -1);
  int64_t whole = 1, others = 1;
  for (std::size_t i = 0; dims && i < dims->size(); ++i) whole = times(whole, (*dims)[i]);
  for (std::size_t i = 0; i < out.size(); ++i)
    others = rest - wanted->begin() == static_cast<std::ptrdiff_t>(i) ? others : times(others, out[i]);
  if (dims && rest != wanted->end() && whole > 0 && others > 0 && whole % others == 0)
    out[static_cast<std::size_t>(rest - wanted->begin())] = whole / others;
  return out;
}

std::optional<std::vector<int64_t>> Shapes::axes(Ref output) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  if (node.opset() < 13) return attributes.is_open() ? std::nullopt : std::optional(attributes.integers("axes"));
  const Ref input = side_.operand(output, 1);
  return input ? side_.integers(input) : std::optional(std::vector<int64_t>());
}

Shapes::Shape Shapes::squeeze(Ref output) {
  const auto dims = known(output, 0);
  auto gone = axes(output);
  if (!dims || !gone) return std::nullopt;
  Dims out;
  if (gone->empty()) {
    if (std::ranges::any_of(*dims, [](int64_t dim) { return dim < 0; })) return std::nullopt;
    std::ranges::copy_if(*dims, std::back_inserter(out), [](int64_t dim) { return dim != 1; });
    return out;
  }
  for (std::size_t i = 0; i < dims->size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const bool stays =
        std::ranges::none_of(*gone, [&](int64_t axis) { return axis == at || axis + static_cast<int64_t>(dims->size()) == at; });
    if (stays) out.push_back((*dims)[i]);
  }
  return out;
}

Shapes::Shape Shapes::unsqueeze(Ref output) {
  const auto dims = known(output, 0);
  const auto added = axes(output);
  if (!dims || !added) return std::nullopt;
  const std::size_t rank = dims->size() + added->size();
  Dims out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto at = static_cast<int64_t>(i);
    const bool is_new = std::ranges::any_of(*added, [&](int64_t axis) { return axis == at || axis + static_cast<int64_t>(rank) == at; });
    if (!is_new && next == dims->size()) return std::nullopt;
    out.push_back(is_new ? 1 : (*dims)[next++]);
  }
  return out;
}

Shapes::Shape Shapes::transpose(Ref output) {
  const auto dims = known(output, 0);
  const AttributeReader attributes(*output.value->producer(), output.call);
  const auto permutation = attributes.integers("perm");
  if (attributes.is_open()) return std::nullopt;
  if (permutation.empty()) return dims ? std::optional(Dims(dims->rbegin(), dims->rend())) : std::nullopt;
  Dims out(permutation.size(), -1);
  for (std::size_t i = 0; dims && i < out.size(); ++i) {
    const auto from = static_cast<std::size_t>(permutation[i]);
    if (from < dims->size()) out[i] = (*dims)[from];
  }
  return out;
}

Shapes::Shape Shapes::concat(Ref output) {
  const Node& node = *output.value->producer();
  const AttributeReader attributes(node, output.call);
  Shape out;
  for (std::size_t i = 0; i < node.inputs().size() && !out; ++i) out = known(output, i);
  if (!out) return std::nullopt;
  const auto rank = static_cast<int64_t>(out->size());
  const int64_t given = attributes.integer("axis", 1);
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank || attributes.is_open()) return Dims(out->size(), -1);
  int64_t sum = 0;
  for (std::size_t i = 0; i < node.inputs().size() && sum >= 0; ++i) {
    const auto part = known(output, i);
    const int64_t size = part && static_cast<int64_t>(part->size()) == rank ? (*part)[static_cast<std::size_t>(axis)] : -1;
    if (size < 0 || __builtin_add_overflow(sum, size, &sum)) sum = -1;
  }
  (*out)[static_cast<std::size_t>(axis)] = sum;
  return out;
}

Shapes::Shape Shapes::gemm(Ref output) {
  const AttributeReader attributes(*output.value->producer(), output.call);
  const bool turned_a = attributes.integer("transA", 0) != 0;
  const bool turned_b = attributes.integer("transB", 0) != 0;
  const auto a = known(output, 0);
  const auto b = known(output, 1);
  Dims out = {-1, -1};
  if (attributes.is_open()) return out;
  if (a && a->size() == 2) out[0] = (*a)[turned_a ? 1 : 0];
  if (b && b->size() == 2) out[1] = (*b)[turned_b ? 0 : 1];
  return out;
}

Shapes::Shape Shapes::matmul(Ref output) {
  const auto a = known(output, 0);
  const auto b = known(output, 1);
  if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
  Dims out(std::max(a->size(), b->size()), 1);
  for (const Dims* dims : {&*a, &*b}) {
    const std::size_t missing = out.size() - dims->size();
    for (std::size_t i = 0; i + 2 < dims->size(); ++i) out[missing + i] = broadcast_dim(out[missing + i], (*dims)[i]);
  }
  out[out.size() - 2] = (*a)[a->size() - 2];
  out[out.size() - 1] = b->back();
  return out;
}

Shapes::Shape Shapes::broadcast(Ref output) {
  const Node& node = *output.value->producer();
  std::vector<Dims> operands;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    auto dims = known(output, i);
    if (!dims) return std::nullopt;
    operands.push_back(std::move(*dims));
  }
  if (operands.empty()) return std::nullopt;
  if (node.opset() < 7) return operands.front();
  Dims out(std::ranges::max(operands, {}, &Dims::size).size(), 1);
  for (const Dims& dims : operands) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      int64_t& dim = out[out.size() - 1 - i];
      dim = broadcast_dim(dim, dims[dims.size() - 1 - i]);
    }
  }
  return out;
}

std::optional<std::vector<int64_t>> paddings(Side& side, Ref output, const AttributeReader& attributes, const std::optional<Dims>& dims) {
  const Node& node = *output.value->producer();
  if (node.opset() < 2) return attributes.integers("paddings");
  if (node.opset() < 11) return attributes.integers("pads");
  auto pads = side.integers(side.operand(output, 1));
  if (!pads || !side.operand(output, 3)) return pads;
  const auto axes = side.integers(side.operand(output, 3));
  if (!axes || !dims || pads->size() != 2 * axes->size()) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->size());
  std::vector<int64_t> out(2 * dims->size(), 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    if (axis < 0 || axis >= rank) return std::nullopt;
    out[static_cast<std::size_t>(axis)] = (*pads)[i];
    out[static_cast<std::size_t>(axis + rank)] = (*pads)[i + axes->size()];
  }
  return out;
}

}  // namespace relayout::proof

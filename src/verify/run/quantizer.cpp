// Rounds numbers to the grid of a quantizer, and tells which nodes quantize, and to how many bits.
#include "verify/run/quantizer.h"

#include <cmath>

#include "base/numbers.h"
#include "base/positions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/bodies/bodies.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/quantized_form.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

// Elements that share a scale.
namespace {

ScaleSharing::Places in_rows(const Dims& dims, int64_t count) {
  const int64_t elements = element_count(dims);
  if (elements < count || elements % count != 0) return nullptr;
  return [in_row = elements / count](int64_t i) { return as_size(i / in_row); };
}

}  // namespace

ScaleSharing ScaleSharing::of(const Node& node) {
  const Attributes attributes(node);
  const int64_t block = attributes.integer("block_size", 0);
  return {.how = block > 0 ? How::blocks : How::axis, .axis = attributes.integer("axis", 1), .block = block};
}

ScaleSharing::Places ScaleSharing::along_axis(const Dims& dims, int64_t count) const {
  if (count == 1 && how == How::axis) return [](int64_t) { return std::size_t{0}; };
  const auto at = checked_axis(axis, dims.size());
  if (!at) return nullptr;
  const int64_t size = dims[*at], inner = element_count(std::span(dims).subspan(*at + 1));
  if (how == How::axis) {
    if (size != count) return nullptr;
    return [inner, size](int64_t i) { return as_size(i / inner % size); };
  }
  const int64_t blocks = (size + block - 1) / block;
  if (element_count(std::span(dims).first(*at)) * blocks * inner != count) return nullptr;
  return [=, each = block](int64_t i) { return as_size((i / (inner * size) * blocks + i / inner % size / each) * inner + i % inner); };
}

ScaleSharing::Places ScaleSharing::in_matrix(const Dims& dims, int64_t count) const {
  if (dims.size() != 2) return nullptr;
  const int64_t rows = dims[0], columns = dims[1], blocks = (rows + block - 1) / block;
  if (how == How::rows) {
    if (columns * blocks != count) return nullptr;
    return [=, each = block](int64_t i) { return as_size(i % columns * blocks + i / columns / each); };
  }
  if ((rows * columns + block - 1) / block != count) return nullptr;
  return [=, each = block](int64_t i) { return as_size((i % columns * rows + i / columns) / each); };
}

ScaleSharing::Places ScaleSharing::places(const Dims& dims, int64_t count) const {
  if (how == How::leading) return in_rows(dims, count);
  if (is_transposed && dims.size() != 2) return nullptr;
  const Dims read = is_transposed ? Dims{dims[1], dims[0]} : dims;
  const bool is_matrix = how == How::rows || how == How::column_major;
  Places found = is_matrix ? in_matrix(read, count) : along_axis(read, count);
  if (!is_transposed || found == nullptr) return found;
  return [found, rows = read[0], columns = read[1]](int64_t i) { return found(i % rows * columns + i / rows); };
}

namespace {

/// Types of quantized integers.
constexpr TypeSet kStepTypes{DataType::uint8, DataType::uint16, DataType::uint4, DataType::uint2, DataType::int8,
                             DataType::int16, DataType::int4,   DataType::int2,  DataType::int32};

/// Type of the integers: that of the zero point, of a DequantizeLinear's operand, or `output_dtype`.
DataType integers_of(const Node& node, const std::optional<Tensor>& zero, Constants& constants) {
  if (zero) return zero->type();
  if (node.is("DequantizeLinear")) return constants.type_of(*node.input(0));
  const int64_t named = Attributes(node).integer("output_dtype", 0);
  return named == 0 ? DataType::uint8 : static_cast<DataType>(named);
}

/// Constant scale of an operand of a node that computes sums of products, if the sums are cast and then multiplied by the product of both
/// operands' scales. If both scales are constant, they are in the order of the operands. nullptr without such nodes, or if the operand's
/// scale varies.
const Value* scale_downstream(const Node& node, std::size_t operand) {
  const auto is_product = [](const Node& reader) { return arithmetic_of(reader) == Arithmetic::multiply; };
  const auto sole_reader = [](const Value* value, const auto& is_wanted) -> const Node* {
    const Use* const use = value == nullptr ? nullptr : value->sole_use();
    return use != nullptr && is_wanted(*use->node) ? use->node : nullptr;
  };
  const Node* const cast = sole_reader(node.output(0), [](const Node& reader) { return has_trait(reader, Trait::casts); });
  const Node* const product = cast == nullptr ? nullptr : sole_reader(cast->output(0), is_product);
  if (product == nullptr) return nullptr;
  const Value* const factor = product->input(product->input(0) == cast->output(0) ? 1 : 0);
  const Node* const scales = factor == nullptr ? nullptr : factor->producer();
  if (scales == nullptr || !is_product(*scales)) return nullptr;
  std::vector<const Value*> constant;
  for (const Value* const input : scales->inputs()) {
    if (input != nullptr && input->is_stored_constant()) constant.push_back(input);
  }
  if (constant.size() == 2) return constant[operand];
  return constant.size() == 1 && operand == 1 ? constant.front() : nullptr;
}

/// Scale and zero point of an operand; nullptr: none.
std::pair<const Value*, const Value*> parameters_of(const Node& node, const QuantizedForm& form, std::size_t operand) {
  const std::vector<QuantizedForm::Operand> operands = form.operands(node);
  const auto found = std::ranges::find(operands, operand, &QuantizedForm::Operand::numbers);
  if (found == operands.end()) return {};
  return {found->scale == QuantizedForm::kNoInput ? scale_downstream(node, operand) : node.input(found->scale), node.input(found->zero)};
}

/// Unpacks numbers of `bits` bits from bytes, low bits first; each row of `columns` begins with a new byte.
std::vector<double> unpacked(const std::vector<double>& bytes, int64_t bits, int64_t columns) {
  const int64_t in_byte = 8 / bits, row = (columns + in_byte - 1) / in_byte;
  std::vector<double> out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int64_t first = static_cast<int64_t>(i) % row * in_byte;
    for (int64_t k = 0; k < in_byte && first + k < columns; ++k) {
      out.push_back(static_cast<double>(static_cast<unsigned>(bytes[i]) >> (k * bits) & ((1U << bits) - 1U)));
    }
  }
  return out;
}

double nearest(const std::vector<double>& sorted, double value) {
  const auto above = std::ranges::lower_bound(sorted, value);
  if (above == sorted.begin()) return sorted.front();
  if (above == sorted.end()) return sorted.back();
  return *above - value < value - *(above - 1) ? *above : *(above - 1);
}

}  // namespace

const QuantizedForm* weight_reader(const Node& node) {
  const QuantizedForm* const form = quantized_form(node);
  return form != nullptr && form->result == QuantizedForm::kNoInput && !form->real.empty() ? form : nullptr;
}

bool is_rounded_dynamically(const Node& reader, std::size_t index) {
  const QuantizedForm* const form = quantized_form(reader);
  return index == 0 && (reader.is("DynamicQuantizeLinear") || (form != nullptr && form->is_dynamic));
}

bool Quantizer::is_sound() const {
  const bool suits = zeros_.size() == 1 || zeros_.size() == scales_.size();
  return !scales_.empty() && suits && std::ranges::all_of(scales_, [](double s) { return std::isfinite(s); });
}

void Quantizer::set_ends(bool is_signed, int bits) {
  lowest_ = is_signed ? -std::ldexp(1.0, bits - 1) : 0;
  highest_ = std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1;
}

std::optional<Quantizer> Quantizer::of_integers(const Node& node, Constants& constants, DataType type, const Value* scale,
                                                const Value* zero) {
  const auto scales = scale == nullptr ? std::nullopt : constants.value(*scale);
  const auto zeros = zero == nullptr ? std::nullopt : constants.value(*zero);
  if (!scales || (zero != nullptr && !zeros) || !kRealTypes.has(scales->type())) return std::nullopt;
  if (type == DataType::undefined) type = integers_of(node, zeros, constants);
  if (!kStepTypes.has(type)) return std::nullopt;
  Quantizer out;
  out.scales_ = reals_of(*scales);
  out.zeros_ = zeros ? reals_of(*zeros) : std::vector<double>{0};
  out.set_ends(traits(type).is_signed, traits(type).bits);
  const int64_t named = node.is("QuantizeLinear") ? Attributes(node).integer("precision", 0) : 0;
  out.division_ = named == 0 ? scales->type() : static_cast<DataType>(named);
  return out.is_sound() ? std::optional<Quantizer>(std::move(out)) : std::nullopt;
}

std::optional<Quantizer> Quantizer::of(const Node& node, Constants& constants) {
  if (node.input(0) == nullptr || node.input(1) == nullptr) return std::nullopt;
  auto out = of_integers(node, constants, DataType::undefined, node.input(1), node.input(2));
  if (out) out->sharing_ = ScaleSharing::of(node);
  return out;
}

std::optional<Quantizer> Quantizer::of_weight(const Node& node, std::size_t weight, Constants& constants, bool transposed) {
  const QuantizedForm* const form = weight_reader(node);
  if (form == nullptr || node.input(weight) == nullptr) return std::nullopt;
  std::optional<Quantizer> out;
  if (form->packing == QuantizedForm::Packing::blocks) {
    out = of_blocks(node, constants);
  } else if (form->packing == QuantizedForm::Packing::codes) {
    out = of_codes(node, constants);
  } else {
    const auto [scale, zero] = parameters_of(node, *form, weight);
    out = of_integers(node, constants, constants.type_of(*node.input(weight)), scale, zero);
    if (out && form->real == "LSTM") out->sharing_.how = ScaleSharing::How::leading;
    if (out) out->sharing_.axis = form->channel_axis(node);
  }
  if (out) out->sharing_.is_transposed = transposed;
  return out;
}

std::optional<Quantizer> Quantizer::of_moved(const Value& integers, Constants& constants) {
  std::optional<Quantizer> out;
  for (const Use& use : integers.uses()) {
    const Node& reader = *use.node;
    const QuantizedForm* const form = weight_reader(reader);
    if (use.index != 0 || integers.is_output()) return std::nullopt;
    std::optional<Quantizer> grid;
    if (reader.is("DequantizeLinear")) {
      grid = of(reader, constants);
    } else if (form != nullptr && form->first_weight == 1) {
      const auto [scale, zero] = parameters_of(reader, *form, 0);
      grid = of_integers(reader, constants, DataType::undefined, scale, zero);
    }
    if (!grid || !grid->is_one_for_all() || (out && (out->scales_ != grid->scales_ || out->zeros_ != grid->zeros_))) return std::nullopt;
    out = std::move(grid);
  }
  return out;
}

Quantizer Quantizer::transposed() const {
  Quantizer out = *this;
  out.sharing_.is_transposed = !sharing_.is_transposed;
  return out;
}

std::optional<Quantizer> Quantizer::of_blocks(const Node& node, Constants& constants) {
  const Attributes attributes(node);
  const bool gathers = weight_reader(node)->all[0].numbers == 0;  // rows of a table, not columns of a matrix
  const DataType type = constants.type_of(*node.input(gathers ? 0 : 1));
  if (gathers && type != DataType::uint8) {
    auto out = of_integers(node, constants, type, node.input(2), node.input(3));
    if (!out) return out;
    out->sharing_.how = ScaleSharing::How::blocks;
    out->sharing_.axis = attributes.integer("quantize_axis", 1);
    out->sharing_.block = attributes.integer("block_size", 128);
    return out;
  }
  const auto scales = node.input(2) == nullptr ? std::nullopt : constants.value(*node.input(2));
  const auto zeros = node.input(3) == nullptr ? std::nullopt : constants.value(*node.input(3));
  const int64_t bits = attributes.integer("bits", 4), block = attributes.integer("block_size", gathers ? 128 : 0);
  if (!scales || !kRealTypes.has(scales->type()) || (node.input(3) != nullptr && !zeros) || block <= 0) return std::nullopt;
  if (bits != 2 && bits != 4 && bits != 8) return std::nullopt;
  Quantizer out;
  out.scales_ = reals_of(*scales);
  const auto count = static_cast<int64_t>(out.scales_.size());
  const int64_t columns = gathers ? (scales->dims().empty() ? 0 : scales->dims().back()) : (attributes.integer("K", 0) + block - 1) / block;
  if (columns <= 0 || count % columns != 0) return std::nullopt;
  out.zeros_ = {std::ldexp(1.0, static_cast<int>(bits) - 1)};
  if (zeros) out.zeros_ = zeros->type() == DataType::uint8 ? unpacked(reals_of(*zeros), bits, columns) : reals_of(*zeros);
  out.sharing_.how = gathers ? ScaleSharing::How::blocks : ScaleSharing::How::rows;
  out.sharing_.axis = attributes.integer("quantize_axis", 1);
  out.sharing_.block = block;
  out.set_ends(false, static_cast<int>(bits));
  return out.is_sound() ? std::optional<Quantizer>(std::move(out)) : std::nullopt;
}

std::optional<Quantizer> Quantizer::of_codes(const Node& node, Constants& constants) {
  const auto scales = node.input(2) == nullptr ? std::nullopt : constants.value(*node.input(2));
  const Attributes attributes(node);
  Quantizer out;
  out.sharing_.block = attributes.integer("block_size", 0);
  if (!scales || !kRealTypes.has(scales->type()) || out.sharing_.block <= 0 || attributes.integer("transB", 1) == 0) return std::nullopt;
  out.scales_ = reals_of(*scales);
  out.zeros_ = {0};
  out.sharing_.how = ScaleSharing::How::column_major;
  for (const float code : bnb4_codes(attributes.integer("quant_type", 0))) out.codes_.push_back(static_cast<double>(code));
  std::ranges::sort(out.codes_);
  return !out.codes_.empty() && out.is_sound() ? std::optional<Quantizer>(std::move(out)) : std::nullopt;
}

Quantizer Quantizer::dynamic() {
  Quantizer out;
  out.is_dynamic_ = true;
  return out;
}

/// As ONNX defines DynamicQuantizeLinear: 0 is on the grid.
Quantizer Quantizer::spanning(const std::vector<double>& values) {
  double least = 0, largest = 0;
  for (const double value : values) {
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
  Quantizer out;
  out.set_ends(false, 8);
  const double scale = quotient(out.division_, largest - least, out.highest_);
  out.scales_ = {scale > 0 && std::isfinite(scale) ? scale : 1};
  out.zeros_ = {std::clamp(out.step(-least, out.scales_[0], 0), out.lowest_, out.highest_)};
  return out;
}

template <class Visit>
bool Quantizer::for_each(const Tensor& tensor, const Visit& visit) const {
  if (!kRealTypes.has(tensor.type())) return false;
  const ScaleSharing::Places places = sharing_.places(tensor.dims(), static_cast<int64_t>(scales_.size()));
  if (places == nullptr) return false;
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const std::size_t place = places(i);
    visit(i, scales_[place], zeros_[zeros_.size() > 1 ? place : 0]);
  }
  return true;
}

double Quantizer::step(double value, double scale, double zero) const {
  return std::nearbyint(quotient(division_, value, scale)) + zero;
}

bool Quantizer::round(const Tensor& tensor, Ends ends) const {
  if (is_dynamic_) return kRealTypes.has(tensor.type()) && spanning(reals_of(tensor)).round(tensor, Ends::saturate);
  std::vector<double> values = reals_of(tensor);
  const bool suits = for_each(tensor, [&](int64_t i, double scale, double zero) {
    double& value = values[as_size(i)];
    if (scale == 0) {
      value = 0;
      return;
    }
    if (!codes_.empty()) {
      value = nearest(codes_, value / scale) * scale;
      return;
    }
    const double place = step(value, scale, zero);
    value = ((ends == Ends::saturate ? std::clamp(place, lowest_, highest_) : place) - zero) * scale;
  });
  if (suits) store(tensor.type(), tensor.bytes(), 1, tensor.element_count(), values.data());
  return suits;
}

Bounds Quantizer::range() const {
  Bounds out;
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    const double zero = zeros_[zeros_.size() > 1 ? i : 0];
    const auto [least, largest] = std::minmax({(lowest_ - zero) * scales_[i], (highest_ - zero) * scales_[i]});
    out = meet(out, {least, largest});
  }
  return out;
}

int64_t Quantizer::count_beyond(const Tensor& tensor) const {
  const std::vector<double> values = reals_of(tensor);
  int64_t beyond = 0;
  for_each(tensor, [&](int64_t i, double scale, double zero) {
    const double place = step(values[as_size(i)], scale, zero);
    beyond += place < lowest_ || place > highest_ ? 1 : 0;
  });
  return beyond;
}

const Node* quantizer_downstream(const Value& value) {
  const auto quantizes = [](const Use& use) { return use.node->is("QuantizeLinear") && use.index == 0; };
  const bool by_all = !value.is_output() && !value.uses().empty() && std::ranges::all_of(value.uses(), quantizes);
  return by_all ? value.uses().front().node : nullptr;
}

std::map<std::string, Bounds> ranges_of_inputs(const Graph& graph) {
  Constants constants;
  std::map<std::string, Bounds> out;
  for (const Value* const input : graph.inputs()) {
    std::vector<const Value*> open{input};
    while (!open.empty()) {
      const Value& value = *open.back();
      open.pop_back();
      for (const Use& use : value.uses()) {
        const bool quantizes = use.node->is("QuantizeLinear") && use.index == 0;
        const auto quantizer = quantizes ? Quantizer::of(*use.node, constants) : std::nullopt;
        if (quantizer) {
          const Bounds range = quantizer->range();
          Bounds& all = out.emplace(input->name(), range).first->second;
          all = meet(all, range);
        } else if (traits_of(*use.node).moves_input(as_size(use.index)) && use.node->output(0) != nullptr) {
          open.push_back(use.node->output(0));
        }
      }
    }
  }
  return out;
}

// How much of a model is quantized.
namespace {

/// Integers of more bits represent sums, as in the bias of a quantized convolution.
constexpr int kMostBits = 16;

/// Inputs that hold quantized numbers; the other integers are zero points.
std::vector<std::size_t> quantized_inputs(const Node& node) {
  if (node.op_type() == "DequantizeLinear" && has_trait(node, Trait::quantizes)) return {0};
  std::vector<std::size_t> out;
  if (const QuantizedForm* const form = quantized_form(node)) {
    for (const auto& operand : form->operands(node)) out.push_back(operand.numbers);
  }
  return out;
}

/// Bits of numbers that are packed into bytes, so that the tensor's type does not give them.
std::optional<int> packed_bits(const Node& node) {
  const QuantizedForm* const form = quantized_form(node);
  if (form == nullptr || form->packing == QuantizedForm::Packing::none) return std::nullopt;
  constexpr int64_t kBits = 4;
  return static_cast<int>(form->packing == QuantizedForm::Packing::codes ? kBits : Attributes(node).integer("bits", kBits));
}

class Count {
 public:
  explicit Count(const Graph& graph) : types_(graph, signatures_) {
    for_each_node(graph.model(), [this](const Node& node) {
      count_weights(node);
      count_results(node);
    });
  }
  [[nodiscard]] const QuantizedWork& work() const noexcept { return work_; }

 private:
  /// Bits of a value's type if it may represent real numbers by a scale, otherwise 0.
  [[nodiscard]] int bits_of(const Value& value) const {
    const DataType type = types_.of(value);
    if (type == DataType::undefined || type == DataType::boolean || type == DataType::string) return 0;
    const int bits = traits(type).bits;
    return traits(type).is_float ? (bits <= 8 ? bits : 0) : bits <= kMostBits ? bits : 0;
  }

  void count_weights(const Node& node) {
    for (const std::size_t i : quantized_inputs(node)) {
      const Value* const value = node.input(i);
      if (value == nullptr || !value->is_stored_constant() || !seen_.insert(value).second) continue;
      const int bits = bits_of(*value);
      note(bits > 0 ? packed_bits(node).value_or(bits) : 0, work_.constants);
    }
  }

  void count_results(const Node& node) {
    if (!quantizes(node)) return;
    bool rounds = false;
    for (const Value* const output : node.outputs()) {
      const int bits = output == nullptr ? 0 : bits_of(*output);
      // The first result of DynamicQuantizeLinear is the tensor, the last its zero point.
      if (rounds || bits == 0) continue;
      rounds = true;
      note(bits, work_.activations);
    }
    // Operators that round their operand internally and return real numbers.
    constexpr int kDynamic = 8;
    const QuantizedForm* const form = quantized_form(node);
    if (!rounds && form != nullptr && form->is_dynamic) note(kDynamic, work_.activations);
  }

  void note(int bits, int64_t& count) {
    if (bits == 0) return;
    work_.bits = work_.bits == 0 ? bits : std::min(work_.bits, bits);
    ++count;
  }

  OpSignatures signatures_;
  ElementTypes types_;
  QuantizedWork work_;
  std::unordered_set<const Value*> seen_;
};

}  // namespace

bool quantizes(const Node& node) {
  const bool converts_to = has_trait(node, Trait::quantizes) && has_trait(node, Trait::jumps);  // back to real numbers nothing jumps
  return converts_to || has_trait(node, Trait::quantized);
}

bool holds_steps(const Value& value) {
  const Node* node = value.producer();
  while (node != nullptr && !quantizes(*node)) {
    const Value* const moved = traits_of(*node).moves_input(0) ? node->input(0) : nullptr;
    node = moved == nullptr ? nullptr : moved->producer();
  }
  return node != nullptr;
}

QuantizedWork quantized_work(const Graph& graph) {
  return Count(graph).work();
}

bool is_coarser(const QuantizedWork& b, const QuantizedWork& a) noexcept {
  return b.bits > 0 && (a.bits == 0 || b.bits < a.bits);
}

std::string describe(const QuantizedWork& b) {
  std::string parts;
  if (b.constants > 0) parts = counted(b.constants, "weight");
  if (b.activations > 0) parts += (parts.empty() ? "" : ", ") + counted(b.activations, "activation");
  return "B quantizes " + counted(b.tensors(), "tensor") + " to int" + std::to_string(b.bits) + " (" + parts + ")";
}

}  // namespace relayout

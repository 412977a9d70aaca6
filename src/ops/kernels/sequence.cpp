// Builds and reads sequences and optionals.

#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// A tensor with storage of its own: elements of a sequence must outlive the arena.
Datum owned_copy(const OpCall& call, const Tensor& tensor) {
  Tensor copy(tensor.type(), tensor.dims());
  copy_elements(call.threads, copy, tensor);
  return {std::move(copy)};
}

DatumInfo sequence_of(DataType type, std::vector<DatumInfo> elements) {
  DatumInfo info;
  info.kind = Datum::Kind::sequence;
  info.type = type;
  info.elements = std::move(elements);
  return info;
}

/// Sizes of the parts of SplitToSequence, or nothing when `split` is not known.
std::optional<std::vector<int64_t>> part_sizes(const OpCall& call, InputInfos inputs, int64_t dim) {
  const DatumInfo* info = optional_tensor_info(call, inputs, 1, kIndexTypes);
  if (info == nullptr) return std::vector<int64_t>(as_size(dim), 1);
  auto values = known_integers(call, *info);
  if (!values) return std::nullopt;
  if (!info->dims.empty()) {
    int64_t total = 0;
    for (const int64_t size : *values) {
      if (size < 0) reject(call, "a part has negative size");
      total = checked_sum(call, total, size);
    }
    if (total != dim) reject(call, "parts " + to_string(*values) + " do not make up a dim of " + std::to_string(dim));
    return values;
  }
  const int64_t each = values->front();
  if (each <= 0) reject(call, "parts of size " + std::to_string(each));
  std::vector<int64_t> sizes;
  for (int64_t begin = 0; begin < dim; begin += std::min(each, dim - begin)) sizes.push_back(std::min(each, dim - begin));
  return sizes;
}

/// Whether parts lose the axis: only without `split` and with keepdims = 0.
bool drops_axis(const OpCall& call, bool has_split) {
  return !has_split && call.attributes.integer("keepdims", 1) == 0;
}

/// A position in a sequence of `size` elements, counted from its end when negative; the end itself only if `may_be_end`.
std::size_t position_in(const OpCall& call, int64_t position, std::size_t size, bool may_be_end = false) {
  const auto count = static_cast<int64_t>(size);
  if (position < -count || position >= count + (may_be_end ? 1 : 0)) {
    reject(call, "position " + std::to_string(position) + " is out of range for a sequence of " + std::to_string(count));
  }
  return as_size(from_front(position, count));
}

}  // namespace

Inferred infer_split_to_sequence(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 2);
  const DatumInfo& input = tensor_info(call, inputs, 0);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), input.dims.size());
  const auto sizes = part_sizes(call, inputs, input.dims[axis]);
  if (!sizes) return std::nullopt;
  const bool drops = drops_axis(call, optional_info(inputs, 1) != nullptr);
  std::vector<DatumInfo> elements;
  for (const int64_t size : *sizes) {
    Dims dims = input.dims;
    if (drops)
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    else
      dims[axis] = size;
    elements.push_back(tensor_of(input.type, std::move(dims)));
  }
  return results(call, sequence_of(input.type, std::move(elements)));
}

void split_to_sequence(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& input = tensor_at(inputs, 0);
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), input.dims().size());
  const auto sizes = part_sizes(call, KnownInfos(inputs).get(), input.dims()[axis]);
  const bool drops = drops_axis(call, present(inputs, 1));
  Datum& out = *outputs[0];
  out = {};
  out.kind = Datum::Kind::sequence;
  int64_t begin = 0;
  for (const int64_t size : *sizes) {
    const Tensor part = part_of(input, axis, begin, size);
    Dims dims = part.dims(), strides = part.strides();
    if (drops) {
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
      strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
    }
    out.elements.push_back(owned_copy(call, part.view(std::move(dims), std::move(strides))));
    begin += size;
  }
}

Inferred infer_sequence_at(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 2);
  const DatumInfo& sequence = sequence_info(call, inputs, 0);
  const DatumInfo& position = tensor_info(call, inputs, 1, kIndexTypes);
  if (position.value == nullptr) return std::nullopt;
  DatumInfo element = sequence.elements[position_in(call, integer_of(call, *position.value), sequence.elements.size())];
  element.value = nullptr;
  return results(call, std::move(element));
}

void sequence_at(const OpCall& call, InputData inputs, OutputData outputs) {
  const std::vector<Datum>& elements = inputs[0]->elements;
  const Datum& element = elements[position_in(call, integer_of(call, tensor_at(inputs, 1)), elements.size())];
  copy_elements(call.threads, outputs[0]->tensor, element.tensor);
}

Inferred infer_sequence_construct(const OpCall& call, InputInfos inputs) {
  if (inputs.empty()) reject(call, "no inputs");
  std::vector<DatumInfo> elements;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const DatumInfo& element = tensor_info(call, inputs, i);
    require_same_type(call, tensor_info(call, inputs, 0), element);
    elements.push_back(tensor_of(element.type, element.dims));
  }
  const DataType type = elements.front().type;
  return results(call, sequence_of(type, std::move(elements)));
}

void sequence_construct(const OpCall& call, InputData inputs, OutputData outputs) {
  Datum result;
  result.kind = Datum::Kind::sequence;
  for (std::size_t i = 0; i < inputs.size(); ++i) result.elements.push_back(owned_copy(call, tensor_at(inputs, i)));
  *outputs[0] = std::move(result);
}

Inferred infer_concat_from_sequence(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& sequence = sequence_info(call, inputs, 0);
  if (sequence.elements.empty()) reject(call, "the sequence is empty");
  const DatumInfo& first = sequence.elements.front();
  const bool stacks = call.attributes.integer("new_axis", 0) != 0;
  const auto axis_attribute = call.attributes.integer("axis");
  if (!axis_attribute) reject(call, "attribute 'axis' is missing");
  const std::size_t axis = normal_axis(call, *axis_attribute, first.dims.size() + (stacks ? 1 : 0));
  int64_t total = 0;
  for (const DatumInfo& element : sequence.elements) {
    require_same_type(call, first, element);
    Dims rest = element.dims;
    if (!stacks && rest.size() == first.dims.size()) {
      total = checked_sum(call, total, rest[axis]);
      rest[axis] = first.dims[axis];
    }
    if (rest != first.dims) reject(call, "elements of dims " + to_string(first.dims) + " and " + to_string(element.dims) + " do not join");
  }
  Dims dims = first.dims;
  if (stacks)
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<int64_t>(sequence.elements.size()));
  else
    dims[axis] = total;
  return one(call, first.type, std::move(dims));
}

void concat_from_sequence(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  const bool stacks = call.attributes.integer("new_axis", 0) != 0;
  const std::size_t axis = normal_axis(call, call.attributes.integer("axis", 0), out.dims().size());
  int64_t begin = 0;
  for (const Datum& element : inputs[0]->elements) {
    const Tensor& from = element.tensor;
    const int64_t count = stacks ? 1 : from.dims()[axis];
    const Tensor place = part_of(out, axis, begin, count);
    Dims from_strides = from.strides();
    if (stacks) from_strides.insert(from_strides.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    copy_elements(call.threads, place, from.view(place.dims(), std::move(from_strides)));
    begin += count;
  }
}

Inferred infer_sequence_empty(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 0, 0);
  return results(call, sequence_of(type_attribute(call, "dtype", DataType::float32), {}));
}

void sequence_empty(const OpCall&, InputData, OutputData outputs) {
  *outputs[0] = {};
  outputs[0]->kind = Datum::Kind::sequence;
}

Inferred infer_sequence_length(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  (void)sequence_info(call, inputs, 0);
  return results(call, tensor_of(DataType::int64, {}));
}

void sequence_length(const OpCall&, InputData inputs, OutputData outputs) {
  *outputs[0]->tensor.data<int64_t>() = static_cast<int64_t>(inputs[0]->elements.size());
}

namespace {

/// The position of the element that SequenceErase removes; by default the last.
std::optional<std::size_t> position_operand(const OpCall& call, InputInfos inputs, std::size_t index, std::size_t choices) {
  const DatumInfo* position = optional_tensor_info(call, inputs, index, kIndexTypes);
  if (position == nullptr) return position_in(call, -1, choices);
  if (position->value == nullptr) return std::nullopt;
  return position_in(call, integer_of(call, *position->value), choices);
}

/// The position of an insertion, by default the end. −1 means before the last element, as in Python's insert.
std::optional<std::size_t> insert_position(const OpCall& call, InputInfos inputs, std::size_t size) {
  const DatumInfo* position = optional_tensor_info(call, inputs, 2, kIndexTypes);
  if (position == nullptr) return size;
  if (position->value == nullptr) return std::nullopt;
  return position_in(call, integer_of(call, *position->value), size, true);
}

}  // namespace

Inferred infer_sequence_insert(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 3);
  const DatumInfo& sequence = sequence_info(call, inputs, 0);
  const DatumInfo& element = tensor_info(call, inputs, 1);
  if (!sequence.elements.empty()) require_same_type(call, sequence.elements.front(), element);
  const auto position = insert_position(call, inputs, sequence.elements.size());
  if (!position) return std::nullopt;
  std::vector<DatumInfo> elements = sequence.elements;
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(*position), tensor_of(element.type, element.dims));
  return results(call, sequence_of(element.type, std::move(elements)));
}

void sequence_insert(const OpCall& call, InputData inputs, OutputData outputs) {
  Datum result = *inputs[0];
  const std::size_t position = *insert_position(call, KnownInfos(inputs).get(), result.elements.size());
  result.elements.insert(result.elements.begin() + static_cast<std::ptrdiff_t>(position), owned_copy(call, tensor_at(inputs, 1)));
  *outputs[0] = std::move(result);
}

Inferred infer_sequence_erase(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 2);
  const DatumInfo& sequence = sequence_info(call, inputs, 0);
  const auto position = position_operand(call, inputs, 1, sequence.elements.size());
  if (!position) return std::nullopt;
  std::vector<DatumInfo> elements = sequence.elements;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(*position));
  return results(call, sequence_of(sequence.type, std::move(elements)));
}

void sequence_erase(const OpCall& call, InputData inputs, OutputData outputs) {
  Datum result = *inputs[0];
  const std::size_t position = *position_operand(call, KnownInfos(inputs).get(), 1, result.elements.size());
  result.elements.erase(result.elements.begin() + static_cast<std::ptrdiff_t>(position));
  *outputs[0] = std::move(result);
}

/// Without an input the result is empty, with the element type of attribute `type`.
Inferred infer_optional(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 0, 1);
  DatumInfo result;
  result.kind = Datum::Kind::optional;
  if (const DatumInfo* element = optional_info(inputs, 0)) {
    result.type = element->type;
    result.elements = {*element};
    result.elements.front().value = nullptr;
  } else if (call.node.attribute("type") == nullptr) {
    reject(call, "neither an input nor attribute 'type'");
  }
  return results(call, std::move(result));
}

void optional(const OpCall& call, InputData inputs, OutputData outputs) {
  Datum result;
  result.kind = Datum::Kind::optional;
  if (present(inputs, 0)) {
    const bool is_tensor = inputs[0]->kind == Datum::Kind::tensor;
    result.elements.push_back(is_tensor ? owned_copy(call, inputs[0]->tensor) : *inputs[0]);
  }
  *outputs[0] = std::move(result);
}

Inferred infer_optional_has_element(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 0, 1);
  return results(call, tensor_of(DataType::boolean, {}));
}

/// A tensor or sequence counts as an optional that holds it; an absent input as an empty optional.
void optional_has_element(const OpCall&, InputData inputs, OutputData outputs) {
  const bool has = present(inputs, 0) && (inputs[0]->kind != Datum::Kind::optional || !inputs[0]->elements.empty());
  *outputs[0]->tensor.data<uint8_t>() = has ? 1 : 0;
}

Inferred infer_optional_get_element(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo* input = optional_info(inputs, 0);
  if (input == nullptr) reject(call, "input 0 is missing");
  if (input->kind == Datum::Kind::optional && input->elements.empty()) reject(call, "the optional is empty");
  DatumInfo element = input->kind == Datum::Kind::optional ? input->elements.front() : *input;
  element.value = nullptr;
  return results(call, std::move(element));
}

void optional_get_element(const OpCall& call, InputData inputs, OutputData outputs) {
  const Datum& element = inputs[0]->kind == Datum::Kind::optional ? inputs[0]->elements.front() : *inputs[0];
  if (element.kind == Datum::Kind::tensor)
    copy_elements(call.threads, outputs[0]->tensor, element.tensor);
  else
    *outputs[0] = element;
}

}  // namespace relayout::kernels

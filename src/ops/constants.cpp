// Evaluates constants: decides which values no caller can change, and computes them by the operators' own kernels.
// It reads weights only where it must.
#include "ops/constants.h"

#include <numeric>

#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "model/origin.h"
#include "model/tensor_data.h"
#include "ops/call.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Whether the result of a node follows without its operands' contents.
bool is_seen_through(const Node& node) {
  return node.is("Constant") || node.is("Identity") || node.is("Transpose");
}

Constant constant_of(const Tensor& tensor) {
  Constant out{tensor.type(), tensor.dims(), {}, {}, nullptr};
  if (tensor.type() == DataType::string) {
    out.strings = tensor;
    return out;
  }
  const Tensor dense = contiguous(tensor);
  const auto size = as_size(dense.element_count()) * memory_size(dense.type());
  out.data = TensorData(dense.type(), dense.dims(), Bytes::owned(std::vector<std::byte>(dense.bytes(), dense.bytes() + size)));
  return out;
}

Constant constant_of(TensorData data) {
  Constant out{data.type(), data.dims(), {}, {}, nullptr};
  out.data = std::move(data);
  return out;
}

template <class T>
Constant constant_of(DataType type, Dims dims, const T* values, std::size_t count) {
  Tensor tensor(type, std::move(dims));
  std::copy_n(values, count, tensor.data<T>());
  return constant_of(tensor);
}

/// The position of element `index` of a sparse tensor (ONNX: SparseTensorProto): indices [NNZ] are linear, [NNZ, rank] are per dim.
int64_t position_of(const Tensor& indices, int64_t index, const Dims& dims) {
  const int64_t* const at = indices.data<int64_t>();
  if (indices.rank() == 1) return at[index];
  int64_t position = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const int64_t i = at[index * static_cast<int64_t>(dims.size()) + static_cast<int64_t>(d)];
    if (i < 0 || i >= dims[d]) return -1;
    position = position * dims[d] + i;
  }
  return position;
}

Tensor dense_of(const Model& model, const onnx::SparseTensorProto& sparse) {
  const std::string where = "sparse tensor " + quote(sparse.values().name()) + ": ";
  const Dims dims(sparse.dims().begin(), sparse.dims().end());
  const int64_t count = element_count(dims);
  const Tensor values = contiguous(load_tensor(model, sparse.values()));
  const Tensor indices = contiguous(load_tensor(model, sparse.indices()));
  const int64_t given = values.element_count();
  const auto rank = static_cast<int64_t>(dims.size());
  const bool linear = indices.rank() == 1 && indices.dims()[0] == given;
  const bool per_dim = indices.rank() == 2 && indices.dims()[0] == given && indices.dims()[1] == rank;
  if (values.rank() != 1 || indices.type() != DataType::int64 || !(linear || per_dim) || values.type() == DataType::string) {
    fail(ErrorKind::invalid, where + "values and indices do not fit each other");
  }
  Tensor out(values.type(), dims);
  const std::size_t size = memory_size(values.type());
  std::fill_n(out.bytes(), as_size(count) * size, std::byte{0});
  int64_t previous = -1;
  for (int64_t i = 0; i < given; ++i) {
    const int64_t position = position_of(indices, i, dims);
    if (position <= previous || position >= count) fail(ErrorKind::invalid, where + "indices are out of range or not in ascending order");
    std::copy_n(values.bytes() + as_size(i) * size, size, out.bytes() + as_size(position) * size);
    previous = position;
  }
  return out;
}

/// Element type of an input or initializer.
DataType source_type(const Value& value) {
  if (const Initializer* const initializer = value.initializer()) {
    if (initializer->data) return initializer->data->type();
    const int32_t number = initializer->sparse != nullptr ? initializer->sparse->values().data_type() : initializer->message->data_type();
    const DataTypeTraits* const type = find_traits(number);
    return type != nullptr ? type->type : DataType::undefined;
  }
  const auto declared = value.declared();
  return declared ? declared->type : DataType::undefined;
}

/// Folding quantizers would undo an intended quantization. Sources of randomness stay, even those with a seed. Costly operators are not run
/// merely to find constants.
std::optional<Reason> why_never_evaluated(const Node& node, const Op* kernel) {
  if (kernel == nullptr || node.opset() <= 0 || Attributes(node).has_reference()) return Reason::not_constant;
  if (kernel->traits.has(Trait::quantizes)) return Reason::quantized;
  const bool draws = kernel->traits.has(Trait::random) || node.is("Dropout");
  return draws || kernel->traits.has(Trait::costly) ? std::optional(Reason::not_constant) : std::nullopt;
}

/// Sources are most of the values of a model. An answer from the file costs no more than a look-up. An input of a graph within a node may
/// have contents that are assumed.
bool is_cheap_source(const Value& value) {
  if (value.producer() != nullptr) return false;
  if (value.initializer() == nullptr) return !value.is_input() || value.graph().owner() == nullptr;
  return value.initializer()->data != nullptr;
}

/// The variant of Constants::find().
using Answer = std::variant<Constant, Reason>;

/// The constant of a sparse tensor, unless its elements exceed the budget.
Answer constant_of(const Model& model, const onnx::SparseTensorProto& sparse, int64_t budget) {
  const DataTypeTraits* const type = find_traits(sparse.values().data_type());
  const auto bytes = type != nullptr ? bytes_in_memory(type->type, Dims(sparse.dims().begin(), sparse.dims().end())) : std::nullopt;
  if (!bytes || *bytes > budget) return Reason::too_large;
  return constant_of(dense_of(model, sparse));
}

/// The reason why no initializer determines a value without a producer in every run; nothing if one does.
std::optional<Reason> why_no_source(const Value& value, TrainedNames& trained) {
  if (value.initializer() == nullptr) return Reason::not_constant;
  if (value.is_overridable()) return Reason::overridable;
  return trained.contains(value) ? std::optional(Reason::training_info) : std::nullopt;
}

/// The constant of an input or initializer.
Answer source_of(const Value& value, TrainedNames& trained, int64_t budget) {
  if (const auto reason = why_no_source(value, trained)) return *reason;
  const Initializer* const initializer = value.initializer();
  const Model& model = value.graph().model();
  if (initializer->sparse != nullptr) return constant_of(model, *initializer->sparse, budget);
  if (!initializer->data) return constant_of(load_tensor(model, *initializer->message));
  Constant out = constant_of(*initializer->data);
  out.initializer = value.initializer();
  return out;
}

/// The value of a Constant.
Answer constant_node(const Node& node, int64_t budget) {
  if (Attributes(node).has_reference()) return Reason::not_constant;
  if (node.constant_data() != nullptr) return constant_of(*node.constant_data());
  for (const onnx::AttributeProto& attribute : node.message().attribute()) {
    if (auto constant = given_constant(node.graph().model(), attribute.name(), attribute, budget)) return std::move(*constant);
  }
  return Reason::not_constant;
}

/// The remembered form of an answer. Most values are no constants: their entries are small.
std::variant<std::shared_ptr<const Constant>, NotConstant> known(Answer answer) {
  if (const auto* const reason = std::get_if<Reason>(&answer)) return NotConstant(*reason, true);
  return std::make_shared<const Constant>(std::get<Constant>(std::move(answer)));
}

}  // namespace

std::optional<Constant> given_constant(const Model& model, std::string_view name, const onnx::AttributeProto& attribute, int64_t budget) {
  using Type = onnx::AttributeProto;
  constexpr auto kTypes = std::to_array<std::pair<std::string_view, int>>({{"value", Type::TENSOR},
                                                                           {"sparse_value", Type::SPARSE_TENSOR},
                                                                           {"value_float", Type::FLOAT},
                                                                           {"value_int", Type::INT},
                                                                           {"value_string", Type::STRING},
                                                                           {"value_floats", Type::FLOATS},
                                                                           {"value_ints", Type::INTS},
                                                                           {"value_strings", Type::STRINGS}});
  const auto* const known = std::ranges::find(kTypes, name, &std::pair<std::string_view, int>::first);
  if (known == kTypes.end() || !has_type(attribute, known->second)) return std::nullopt;
  if (name == "value") {
    if (attribute.t().data_type() == onnx::TensorProto::STRING) return constant_of(load_tensor(model, attribute.t()));
    return constant_of(tensor_data(model, attribute.t()));
  }
  if (name == "sparse_value") {
    Answer answer = constant_of(model, attribute.sparse_tensor(), budget);
    return std::holds_alternative<Constant>(answer) ? std::optional(std::get<Constant>(std::move(answer))) : std::nullopt;
  }
  if (name == "value_float") return constant_of(DataType::float32, {}, std::array{attribute.f()}.data(), 1);
  if (name == "value_int") return constant_of(DataType::int64, {}, std::array{attribute.i()}.data(), 1);
  if (name == "value_string") return constant_of(DataType::string, {}, &attribute.s(), 1);
  if (name == "value_floats")
    return constant_of(DataType::float32, {attribute.floats_size()}, attribute.floats().data(), as_size(attribute.floats_size()));
  if (name == "value_ints")
    return constant_of(DataType::int64, {attribute.ints_size()}, attribute.ints().data(), as_size(attribute.ints_size()));
  const std::vector<std::string> strings(attribute.strings().begin(), attribute.strings().end());
  return constant_of(DataType::string, {attribute.strings_size()}, strings.data(), strings.size());
}

std::optional<Reason> why_never_evaluated(const Node& node) {
  return why_never_evaluated(node, find_kernel(node));
}

void Constants::assume(const Value& input, const Tensor& contents) {
  known_.insert_or_assign(&input, known(constant_of(contents)));
}

void Constants::forget(const Value& value) {
  known_.erase(&value);
  certain_.forget(value);
}

void Constants::clear() {
  known_.clear();
  types_.clear();
  certain_.clear();
  trained_ = {};
}

std::optional<Tensor> Constants::value(const Value& value) {
  const Answer answer = find(value);
  const auto* const constant = std::get_if<Constant>(&answer);
  if (constant == nullptr) return std::nullopt;
  const auto bytes = bytes_in_memory(constant->type, constant->dims);
  if (!bytes || *bytes > options_.budget) return std::nullopt;
  return constant->load();
}

std::optional<double> fill_of(const Node& node) {
  const onnx::TensorProto* const value = Attributes(node).tensor("value");
  if (value == nullptr) return 0;
  const Tensor one = load_tensor(node.graph().model(), *value);
  if (one.element_count() != 1 || !kRealTypes.has(one.type())) return std::nullopt;
  return load_one<double>(one.type(), one.bytes());
}

std::variant<Constant, Reason> Constants::find(const Value& value) {
  if (is_cheap_source(value)) return source_of(value, trained_, options_.budget);
  const Known& answer = look_up(value);
  if (const auto* const none = std::get_if<NotConstant>(&answer)) return none->reason;
  return *std::get<0>(answer);
}

bool Constants::is_constant(const Value& value) {
  return is_cheap_source(value) ? !why_no_source(value, trained_) : std::holds_alternative<std::shared_ptr<const Constant>>(look_up(value));
}

const Constants::Known& Constants::look_up(const Value& value) {
  if (const auto found = known_.find(&value); found != known_.end()) return found->second;
  struct Open {
    const Value* value;
    std::size_t next = 0;  // operand to examine
  };
  std::vector<Open> open = {{&value}};
  while (!open.empty()) {
    Open& top = open.back();
    if (known_.contains(top.value)) {
      open.pop_back();
    } else if (const Node* const producer = top.value->producer()) {
      if (const Value* const operand = answer(*producer, top.next)) open.push_back({operand});
    } else {
      Known source = known(source_of(*top.value, trained_, options_.budget));
      // A stored value is a constant; nothing about an input of the graph is certain.
      if (auto* const none = std::get_if<NotConstant>(&source)) none->may_be_certain = false;
      known_.emplace(top.value, std::move(source));
    }
  }
  return known_.at(&value);
}

void Constants::answer_all(const Node& node, const Known& answer) {
  for (const Value* output : node.outputs()) {
    if (output != nullptr) known_.insert_or_assign(output, answer);
  }
}

void Constants::answer_all(const Node& node, Answer answer) {
  answer_all(node, known(std::move(answer)));
}

const Value* Constants::answer(const Node& node, std::size_t& next) {
  const bool seen_through = is_seen_through(node);
  const Op* const kernel = find_kernel(node);
  if (const auto reason = seen_through ? std::nullopt : why_never_evaluated(node, kernel)) {
    answer_all(node, *reason);
    return nullptr;
  }
  const Traits traits = kernel != nullptr ? kernel->traits : Traits::none();
  for (; next < node.inputs().size(); ++next) {
    const Value* const input = node.input(next);
    if (input == nullptr || traits.reads(next) == Reads::type) continue;
    const auto found = known_.find(input);
    if (found == known_.end()) return input;
    const auto* const none = std::get_if<NotConstant>(&found->second);
    if (none == nullptr) continue;
    // Nothing is certain about results computed from such elements (ops/partial_dims.h).
    if (!none->may_be_certain && traits.reads(next) == Reads::elements) {
      answer_all(node, *none);
    } else {
      answer_by_certain(node, none->reason);
    }
    return nullptr;
  }
  answer_all(node, Reason::not_constant);
  try {
    if (seen_through) {
      answer_all(node, this->seen_through(node));
    } else {
      evaluate(node);
    }
  } catch (const Error& error) {
    // Operands that do not fit each other: the node would fail at run time, and other code reports that.
    if (error.kind() != ErrorKind::invalid && error.kind() != ErrorKind::unsupported) throw;
  }
  return nullptr;
}

void Constants::answer_by_certain(const Node& node, Reason otherwise) {
  for (const Value* const output : node.outputs()) {
    if (output == nullptr) continue;
    const auto found = certain_.contents(*output, *this);
    const bool is_constant = found && found->is_complete();
    known_.insert_or_assign(output, is_constant ? known(constant_of(found->values)) : NotConstant(otherwise, found.has_value()));
  }
}

PartialDims Constants::dims(const Value& value) {
  const Answer answer = find(value);
  const auto* const constant = std::get_if<Constant>(&answer);
  return constant != nullptr ? PartialDims(constant->dims) : certain_.of(value, *this);
}

bool TrainedNames::contains(const Value& value) {
  if (!names_) {
    names_.emplace();
    for (const onnx::TrainingInfoProto& training : value.graph().model().message().training_info()) {
      for (const auto& binding : training.update_binding()) names_->insert(binding.key());
      for (const auto& binding : training.initialization_binding()) names_->insert(binding.key());
    }
  }
  return !names_->empty() && value.graph().outer() == nullptr && names_->contains(value.name());
}

Constants::Answer Constants::seen_through(const Node& node) {
  if (node.is("Constant")) return constant_node(node, options_.budget);
  if (node.input(0) == nullptr) return Reason::not_constant;
  Constant operand = constant(*node.input(0));
  operand.initializer = nullptr;
  if (node.is("Identity")) return operand;
  if (operand.strings || Attributes(node).has_reference()) return Reason::not_constant;
  const auto rank = static_cast<int64_t>(operand.dims.size());
  Dims permutation = Attributes(node).integers("perm");
  if (permutation.empty()) {
    for (int64_t d = rank; d-- > 0;) permutation.push_back(d);
  }
  Dims sorted = permutation;
  std::ranges::sort(sorted);
  for (int64_t d = 0; d < rank; ++d) {
    if (static_cast<int64_t>(sorted.size()) != rank || element_at(sorted, d) != d) return Reason::not_constant;
  }
  return constant_of(operand.data.permuted(permutation));
}

std::optional<Tensor> Constants::operand(const Value& value, Reads reads) {
  if (reads == Reads::type) {
    const DataType type = type_of(value);
    return type == DataType::undefined ? std::nullopt : std::optional(without_elements(type, {0}));
  }
  const Constant& known = constant(value);
  return reads == Reads::elements ? known.load() : without_elements(known.type, known.dims);
}

void Constants::evaluate(const Node& node) {
  const Op& op = *find_kernel(node);
  const OpCall call(node, node.opset());
  int64_t bytes = 0;
  const auto exceeds_budget = [&](DataType type, const Dims& dims) {
    bytes += bytes_in_memory(type, dims).value_or(options_.budget + 1);
    return bytes > options_.budget;
  };
  std::vector<Datum> operands(node.inputs().size());
  std::vector<const Datum*> pointers(operands.size(), nullptr);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Value* const input = node.input(i);
    if (input == nullptr) continue;
    const Reads reads = op.traits.reads(i);
    if (reads == Reads::elements) {
      const Constant& known = constant(*input);
      if (exceeds_budget(known.type, known.dims)) return answer_all(node, Reason::too_large);
    }
    auto tensor = operand(*input, reads);
    if (!tensor) return;
    operands[i] = Datum(std::move(*tensor));
    pointers[i] = &operands[i];
  }
  const auto inferred = op.infer(call, KnownInfos(pointers).get());
  if (!inferred) return;
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i) == nullptr) continue;
    const DatumInfo& info = inferred->at(i);
    if (info.kind != Datum::Kind::tensor || traits(info.type).bits % 8 != 0) return;
    if (exceeds_budget(info.type, info.dims)) return answer_all(node, Reason::too_large);
  }
  const std::vector<Datum> results = compute(op, call, pointers, *inferred, [&](std::size_t i) { return node.output(i) != nullptr; });
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i) != nullptr) known_.insert_or_assign(node.output(i), known(constant_of(results[i].tensor)));
  }
}

DataType Constants::type_of(const Value& value) {
  std::vector<const Value*> path;
  DataType type = DataType::undefined;
  for (const Value* at = &value; at != nullptr;) {
    const auto known = types_.find(at);
    if (known != types_.end()) {
      type = known->second;
      break;
    }
    path.push_back(at);
    const Node* const producer = at->producer();
    if (producer == nullptr) {
      type = source_type(*at);
      break;
    }
    const auto rule = type_rule(*producer, at->output_index());
    if (const auto* const own = std::get_if<DataType>(&rule)) type = *own;
    const auto* const like = std::get_if<const Value*>(&rule);
    at = like != nullptr ? *like : nullptr;
  }
  for (const Value* passed : path) types_.emplace(passed, type);
  return type;
}

// Limits of size.

std::optional<int64_t> bytes_in_memory(DataType type, const Dims& dims) {
  const auto size = static_cast<int64_t>(type == DataType::string ? sizeof(std::string) : memory_size(type));
  return checked_mul(element_count(dims), std::max<int64_t>(size, 1));
}

}  // namespace relayout

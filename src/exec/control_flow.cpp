// Runs branches and loops by running the graphs inside them.

#include "base/interrupt.h"
#include "base/positions.h"
#include "exec/routine.h"
#include "ops/call.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

const Graph& body_of(const OpCall& call, std::string_view name) {
  if (const Graph* const body = call.node.subgraph(name)) return *body;
  reject(call, "attribute " + std::string(name) + " is no graph");
}

const Tensor& one_element(const OpCall& call, const Datum& datum, DataType type, const char* what) {
  const bool fits = datum.kind == Datum::Kind::tensor && datum.tensor.type() == type && datum.tensor.element_count() == 1;
  if (!fits) reject(call, std::string(what) + " is not one " + std::string(name_of(type)));
  return datum.tensor;
}

bool truth(const OpCall& call, const Datum& datum, const char* what) {
  return *one_element(call, datum, DataType::boolean, what).data<uint8_t>() != 0;
}

Tensor scalar(int64_t value) {
  Tensor out(DataType::int64, {});
  *out.data<int64_t>() = value;
  return out;
}

Tensor scalar(bool value) {
  Tensor out(DataType::boolean, {});
  *out.data<uint8_t>() = value ? 1 : 0;
  return out;
}

/// Slice number `index` along an axis; the axis is removed.
Tensor part_of(const Tensor& tensor, std::size_t axis, int64_t index) {
  Dims dims = tensor.dims(), strides = tensor.strides();
  const int64_t offset = index * strides[axis];
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
  return contiguous(tensor.view(dims, strides, offset));
}

/// Stands in for a slice of a tensor that has none: zeros, or nothing beyond kMost elements.
std::optional<Tensor> zeros_like_part(const Tensor& tensor, std::size_t axis) {
  constexpr int64_t kMost = int64_t{1} << 24;
  Dims dims = tensor.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim > 0 && count > kMost / dim) return std::nullopt;
    count *= dim;
  }
  Tensor part(tensor.type(), dims);
  if (part.type() != DataType::string) std::memset(part.bytes(), 0, as_size(count) * memory_size(part.type()));
  return part;
}

bool is_declared(const Value& output) {
  const auto shape = output.declared();
  return shape && shape->type != DataType::undefined;
}

/// An empty stack, for a scan output without iterations: typed as the body's output declares, or as in `sample`, one run of the body.
Tensor stack_of_none(const OpCall& call, int64_t axis, const Value& output, const Datum* sample) {
  if (!is_declared(output) && sample == nullptr) reject(call, "no iteration determines scan output '" + output.name() + "' is");
  const auto shape = output.declared();
  Dims dims = is_declared(output) ? shape->dims : sample->tensor.dims();
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 0);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(normal_axis(call, axis, dims.size() + 1)), 0);
  return {is_declared(output) ? shape->type : sample->tensor.type(), dims};
}

/// Outputs of the body on the inputs of a first iteration, for a Loop without iterations in which some scan output declares no type.
std::vector<Datum> sample_of(const Graph& body, std::size_t states, const RunGraph& run, std::vector<Datum> given) {
  const auto& outputs = body.outputs();
  const auto scans = std::span(outputs).subspan(states);
  if (std::ranges::all_of(scans, [](const Value* output) { return is_declared(*output); })) return {};
  try {
    return run(body, std::move(given));
  } catch (const Error&) {
    return {};  // the iteration does not happen, so it need not be computable
  }
}

/// Tensors of the same dims along a new axis.
Tensor stack(const OpCall& call, const std::vector<Tensor>& parts, int64_t axis, bool reversed, const Value& output,
             const Datum* sample = nullptr) {
  if (parts.empty()) return stack_of_none(call, axis, output, sample);
  Dims dims = parts.front().dims();
  const std::size_t at = normal_axis(call, axis, dims.size() + 1);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), static_cast<int64_t>(parts.size()));
  Tensor out(parts.front().type(), dims);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Tensor& part = parts[reversed ? parts.size() - 1 - i : i];
    if (part.dims() != parts.front().dims() || part.type() != out.type()) reject(call, "scan outputs of different dims or types");
    Dims strides = out.strides();
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(at));
    copy_elements(1, out.view(part.dims(), strides, static_cast<int64_t>(i) * out.strides()[at]), part);
  }
  return out;
}

std::vector<Datum> run_if(const OpCall& call, const std::vector<const Datum*>& inputs, const RunGraph& run) {
  if (inputs.size() != 1 || inputs[0] == nullptr) reject(call, "its condition is missing");
  return run(body_of(call, truth(call, *inputs[0], "the condition") ? "then_branch" : "else_branch"), {});
}

std::vector<Datum> run_loop(const OpCall& call, const std::vector<const Datum*>& inputs, const RunGraph& run) {
  const Graph& body = body_of(call, "body");
  if (inputs.size() < 2) reject(call, "fewer than two inputs");
  const std::size_t carried = inputs.size() - 2;
  if (body.inputs().size() != carried + 2 || body.outputs().size() < carried + 1) reject(call, "its body has other inputs or outputs");
  int64_t trips = INT64_MAX;
  if (inputs[0] != nullptr) trips = *one_element(call, *inputs[0], DataType::int64, "the trip count").data<int64_t>();
  bool continues = inputs[1] == nullptr || truth(call, *inputs[1], "the condition");
  std::vector<Datum> state;
  for (std::size_t i = 0; i < carried; ++i) {
    if (inputs[i + 2] == nullptr) reject(call, "a carried input is missing");
    state.push_back(*inputs[i + 2]);
  }
  const std::size_t scans = body.outputs().size() - 1 - carried;
  std::vector<std::vector<Tensor>> stacked(scans);
  for (int64_t trip = 0; trip < trips && continues; ++trip) {
    check_interrupt();
    std::vector<Datum> given{scalar(trip), scalar(continues)};
    std::ranges::move(state, std::back_inserter(given));
    std::vector<Datum> made = run(body, std::move(given));
    continues = truth(call, made[0], "the body's condition");
    state.assign(std::make_move_iterator(made.begin() + 1),
                 std::make_move_iterator(made.begin() + 1 + static_cast<std::ptrdiff_t>(carried)));
    for (std::size_t k = 0; k < scans; ++k) stacked[k].push_back(made[1 + carried + k].tensor);
  }
  std::vector<Datum> sample;
  if (scans > 0 && stacked[0].empty()) {
    std::vector<Datum> given{scalar(int64_t{0}), scalar(true)};
    given.insert(given.end(), state.begin(), state.end());
    sample = sample_of(body, 1 + carried, run, std::move(given));
  }
  for (std::size_t k = 0; k < scans; ++k) {
    const std::size_t at = 1 + carried + k;
    state.emplace_back(stack(call, stacked[k], 0, false, *body.outputs()[at], sample.empty() ? nullptr : &sample[at]));
  }
  return state;
}

/// How Scan walks its operands; one entry per scan input or output.
struct ScanPlan {
  std::vector<std::size_t> input_axes;
  std::vector<int64_t> output_axes;
  std::vector<int64_t> input_directions, output_directions;
};

std::vector<Datum> scan(const OpCall& call, const Graph& body, std::vector<Datum> state, const std::vector<Tensor>& sequences,
                        const ScanPlan& plan, const RunGraph& run) {
  const std::size_t states = state.size();
  const std::size_t scans = body.outputs().size() - states;
  int64_t length = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const int64_t here = sequences[i].dims()[plan.input_axes[i]];
    if (i > 0 && here != length) reject(call, "scan inputs of different lengths");
    length = here;
  }
  std::vector<std::vector<Tensor>> stacked(scans);
  for (int64_t step = 0; step < length; ++step) {
    check_interrupt();
    std::vector<Datum> given = std::move(state);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      given.emplace_back(part_of(sequences[i], plan.input_axes[i], plan.input_directions[i] != 0 ? length - 1 - step : step));
    }
    std::vector<Datum> made = run(body, std::move(given));
    state.assign(std::make_move_iterator(made.begin()), std::make_move_iterator(made.begin() + static_cast<std::ptrdiff_t>(states)));
    for (std::size_t k = 0; k < scans; ++k) stacked[k].push_back(made[states + k].tensor);
  }
  std::vector<Datum> sample;
  if (length == 0 && scans > 0) {
    std::vector<Datum> given = state;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      if (auto part = zeros_like_part(sequences[i], plan.input_axes[i])) given.emplace_back(std::move(*part));
    }
    if (given.size() == body.inputs().size()) sample = sample_of(body, states, run, std::move(given));
  }
  for (std::size_t k = 0; k < scans; ++k) {
    const Datum* const like = sample.empty() ? nullptr : &sample[states + k];
    state.emplace_back(stack(call, stacked[k], plan.output_axes[k], plan.output_directions[k] != 0, *body.outputs()[states + k], like));
  }
  return state;
}

std::vector<int64_t> list_or_zeros(const OpCall& call, std::string_view name, std::size_t count) {
  std::vector<int64_t> out = call.attributes.integers(name);
  if (out.empty()) out.assign(count, 0);
  if (out.size() != count) reject(call, std::string(name) + " has " + std::to_string(out.size()) + " entries for " + std::to_string(count));
  return out;
}

/// Number of steps of each row of the batch (sequence_lens of Scan 8); all steps where it is absent.
std::vector<int64_t> row_lengths(const OpCall& call, const Datum* lengths, int64_t batch, int64_t longest) {
  if (lengths == nullptr) return std::vector<int64_t>(as_size(batch), longest);
  const bool fits =
      lengths->kind == Datum::Kind::tensor && lengths->tensor.type() == DataType::int64 && lengths->tensor.dims() == Dims{batch};
  if (!fits) reject(call, "sequence_lens is not one int64 per row of the batch");
  const std::vector<int64_t> out = truncated_integers_of(lengths->tensor);
  const auto is_length = [&](int64_t length) { return length >= 0 && length <= longest; };
  if (!std::ranges::all_of(out, is_length)) reject(call, "a sequence is longer than the scan input");
  return out;
}

/// The first `length` elements along the first axis.
Tensor beginning_of(const Tensor& tensor, int64_t length) {
  Dims dims = tensor.dims();
  dims[0] = length;
  return tensor.view(dims, tensor.strides(), 0);
}

/// Padded with zeros along the first axis.
Tensor filled_up(const Tensor& tensor, int64_t length) {
  if (tensor.dims()[0] == length || tensor.type() == DataType::string) return tensor;
  Dims dims = tensor.dims();
  dims[0] = length;
  Tensor out(tensor.type(), dims);
  std::memset(out.bytes(), 0, as_size(out.element_count()) * memory_size(out.type()));
  copy_elements(1, beginning_of(out, tensor.dims()[0]), tensor);
  return out;
}

/// Scan 8: each row of the batch by itself.
std::vector<Datum> scan_batch(const OpCall& call, const Graph& body, const std::vector<Datum>& state, const std::vector<Tensor>& sequences,
                              const ScanPlan& plan, const Datum* lengths, const RunGraph& run) {
  const Dims& first = sequences.front().dims();
  if (first.size() < 2) reject(call, "a scan input without batch and sequence");
  const std::vector<int64_t> steps = row_lengths(call, lengths, first[0], first[1]);
  for (const Tensor& tensor : sequences) {
    if (tensor.dims().size() < 2 || tensor.dims()[0] != first[0] || tensor.dims()[1] != first[1]) {
      reject(call, "scan inputs of different batches or lengths");
    }
  }
  for (const Datum& datum : state) {
    if (datum.tensor.dims().empty() || datum.tensor.dims()[0] != first[0]) reject(call, "a state of another batch");
  }
  std::vector<std::vector<Tensor>> results(body.outputs().size());
  for (int64_t b = 0; b < first[0]; ++b) {
    const int64_t length = element_at(steps, b);
    std::vector<Datum> one_state;
    std::vector<Tensor> one;
    for (const Datum& datum : state) one_state.emplace_back(part_of(datum.tensor, 0, b));
    for (const Tensor& tensor : sequences) one.push_back(beginning_of(part_of(tensor, 0, b), length));
    const std::vector<Datum> made = scan(call, body, std::move(one_state), one, plan, run);
    for (std::size_t k = 0; k < made.size(); ++k) {
      results[k].push_back(k < state.size() ? made[k].tensor : filled_up(made[k].tensor, first[1]));
    }
  }
  std::vector<Datum> out;
  for (std::size_t k = 0; k < results.size(); ++k) out.emplace_back(stack(call, results[k], 0, false, *body.outputs()[k]));
  return out;
}

std::vector<Datum> run_scan(const OpCall& call, std::vector<const Datum*> inputs, const RunGraph& run) {
  constexpr int64_t kNoBatchOpset = 9;
  const Graph& body = body_of(call, "body");
  const bool batched = call.opset < kNoBatchOpset;
  const Datum* lengths = nullptr;
  if (batched && !inputs.empty()) {
    lengths = inputs.front();
    inputs.erase(inputs.begin());
  }
  const int64_t scanned = call.attributes.integer("num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<int64_t>(inputs.size()) || std::ranges::find(inputs, nullptr) != inputs.end()) {
    reject(call, "num_scan_inputs does not fit its inputs");
  }
  const std::size_t states = inputs.size() - as_size(scanned);
  if (body.inputs().size() != inputs.size() || body.outputs().size() < states) reject(call, "its body has other inputs or outputs");
  const std::size_t scans = body.outputs().size() - states;
  std::vector<Datum> state;
  std::vector<Tensor> sequences;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i < states) {
      state.push_back(*inputs[i]);
    } else {
      sequences.push_back(inputs[i]->tensor);
    }
  }
  ScanPlan plan;
  plan.input_directions = list_or_zeros(call, batched ? "directions" : "scan_input_directions", sequences.size());
  plan.output_directions = batched ? std::vector<int64_t>(scans, 0) : list_or_zeros(call, "scan_output_directions", scans);
  plan.output_axes = batched ? std::vector<int64_t>(scans, 0) : list_or_zeros(call, "scan_output_axes", scans);
  const std::vector<int64_t> axes =
      batched ? std::vector<int64_t>(sequences.size(), 0) : list_or_zeros(call, "scan_input_axes", sequences.size());
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    plan.input_axes.push_back(normal_axis(call, axes[i], sequences[i].dims().size() - (batched ? 1 : 0)));
  }
  if (!batched) return scan(call, body, std::move(state), sequences, plan, run);

  return scan_batch(call, body, state, sequences, plan, lengths, run);
}

std::vector<Datum> run_sequence_map(const OpCall& call, const std::vector<const Datum*>& inputs, const RunGraph& run) {
  const Graph& body = body_of(call, "body");
  if (inputs.empty() || std::ranges::find(inputs, nullptr) != inputs.end() || inputs[0]->kind != Datum::Kind::sequence) {
    reject(call, "its first input is no sequence");
  }
  if (body.inputs().size() != inputs.size()) reject(call, "its body has other inputs");
  std::vector<Datum> out(body.outputs().size());
  for (Datum& datum : out) datum.kind = Datum::Kind::sequence;
  for (std::size_t i = 0; i < inputs[0]->elements.size(); ++i) {
    std::vector<Datum> given;
    for (const Datum* input : inputs) {
      if (input->kind != Datum::Kind::sequence) {
        given.push_back(*input);
      } else if (i < input->elements.size()) {
        given.push_back(input->elements[i]);
      } else {
        reject(call, "sequences of different lengths");
      }
    }
    std::vector<Datum> made = run(body, std::move(given));
    for (std::size_t k = 0; k < out.size(); ++k) out[k].elements.push_back(std::move(made[k]));
  }
  return out;
}

}  // namespace

std::vector<Datum> run_control_flow(const OpCall& call, const std::vector<const Datum*>& inputs, const RunGraph& run) {
  const Node& node = call.node;
  if (node.is("If")) return run_if(call, inputs, run);
  if (node.is("Loop")) return run_loop(call, inputs, run);
  if (node.is("Scan")) return run_scan(call, inputs, run);
  return run_sequence_map(call, inputs, run);
}

}  // namespace relayout::exec

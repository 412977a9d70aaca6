// Computes where the windows of convolutions and pools begin and end.

#include "ops/kernels/window.h"

#include "ops/call.h"
#include "ops/operands.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;

int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}
int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

/// Pads of SAME_UPPER and SAME_LOWER: the output has ⌈input / stride⌉ elements; an odd element of padding goes to the end or the begin.
void set_same_pads(Window& window, const Dims& input, bool upper) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    const int64_t outputs = ceil_div(input[i], window.strides[i]);
    const int64_t total = std::max<int64_t>((outputs - 1) * window.strides[i] + window.extent(i) - input[i], 0);
    const int64_t small = total / 2;
    window.before[i] = upper ? small : total - small;
    window.after[i] = total - window.before[i];
  }
}

}  // namespace

int64_t Window::taps() const {
  return element_count(kernel);
}

Dims spatial_dims(const OpCall& call, const Dims& dims) {
  if (dims.size() < 3) reject(call, "dims " + to_string(dims) + " have no spatial dim");
  return tail(dims);
}

Dims tail(const Dims& dims) {
  return {dims.begin() + 2, dims.end()};
}

Dims window_attribute(const OpCall& call, std::string_view name, std::size_t rank, int64_t otherwise, int64_t low) {
  Dims values = call.attributes.integers(name);
  if (values.empty()) values.assign(rank, otherwise);
  if (values.size() != rank) {
    reject(call, std::string(name) + " has " + std::to_string(values.size()) + " entries for " + std::to_string(rank));
  }
  for (const int64_t value : values) {
    if (value < low || value >= kLimit) reject(call, std::string(name) + " has entry " + std::to_string(value));
  }
  return values;
}

Window window_of(const OpCall& call, const Dims& input, const Dims& kernel) {
  const std::size_t rank = input.size();
  for (const int64_t dim : input) {
    if (dim >= kLimit) reject(call, "dim " + std::to_string(dim) + " is too large");
  }
  Window window;
  window.kernel = call.attributes.has("kernel_shape") || kernel.empty() ? window_attribute(call, "kernel_shape", rank, 0, 1) : kernel;
  if (!kernel.empty() && window.kernel != kernel) {
    reject(call, "kernel_shape " + to_string(window.kernel) + " is not that of the weights, " + to_string(kernel));
  }
  window.strides = window_attribute(call, "strides", rank, 1, 1);
  window.dilations = window_attribute(call, "dilations", rank, 1, 1);
  window.before.assign(rank, 0);
  window.after.assign(rank, 0);
  const std::string automatic = call.attributes.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    set_same_pads(window, input, automatic == "SAME_UPPER");
  } else if (automatic == "NOTSET" || automatic.empty()) {
    const Dims pads = window_attribute(call, "pads", 2 * rank, 0, -kLimit);
    std::copy_n(pads.begin(), rank, window.before.begin());
    std::copy_n(pads.begin() + static_cast<std::ptrdiff_t>(rank), rank, window.after.begin());
  } else if (automatic != "VALID") {
    reject(call, "auto_pad is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID");
  }
  return window;
}

Dims window_outputs(const OpCall& call, const Window& window, const Dims& input, bool ceil_mode) {
  Dims outputs;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const int64_t free = input[i] + window.before[i] + window.after[i] - window.extent(i);
    const int64_t stride = window.strides[i];
    int64_t count = (ceil_mode ? ceil_div(free, stride) : floor_div(free, stride)) + 1;
    if (ceil_mode && (count - 1) * stride >= input[i] + window.before[i]) --count;
    if (free < 0 && count < 1 && input[i] != 0) {
      reject(call, "the window spans " + std::to_string(window.extent(i)) + " elements, more than the padded input's " +
                       std::to_string(input[i] + window.before[i] + window.after[i]) + " in spatial dim " + std::to_string(i));
    }
    outputs.push_back(std::max<int64_t>(count, 0));
  }
  return outputs;
}

Dims set_transposed_pads(const OpCall& call, Window& window, const Dims& input) {
  const std::size_t rank = input.size();
  const std::string automatic = call.attributes.text("auto_pad", "NOTSET");
  const bool is_given = call.attributes.has("output_shape"), is_same = automatic.starts_with("SAME");
  const Dims given = is_given ? window_attribute(call, "output_shape", rank, 0, 0) : Dims();
  const Dims extra = window_attribute(call, "output_padding", rank, 0, 0);
  Dims outputs;
  for (std::size_t i = 0; i < rank; ++i) {
    const int64_t whole = window.strides[i] * (input[i] - 1) + window.extent(i), full = input[i] == 0 ? 0 : whole + extra[i];
    if (is_given || is_same) {
      const int64_t total = std::max<int64_t>(full - (is_given ? given[i] : window.strides[i] * input[i]), 0);
      window.before[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      outputs.push_back(is_given ? given[i] : full - total);
    } else {
      outputs.push_back(full - window.before[i] - window.after[i]);
      if (input[i] == 0) outputs.back() = std::max<int64_t>(outputs.back(), 0);
    }
    window.after[i] = whole - window.before[i] - outputs.back();
  }
  return outputs;
}

Span steps_within(int64_t first, int64_t step, int64_t limit, int64_t count) {
  const int64_t begin = std::clamp<int64_t>(ceil_div(-first, step), 0, count);
  return {begin, std::clamp<int64_t>(ceil_div(limit - first, step), begin, count)};
}

}  // namespace relayout

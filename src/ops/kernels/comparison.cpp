// Compares two operands, or combines truths, with broadcasting.

#include "ops/call.h"
#include "ops/kernels/binary.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// Applies a test to two operands, exchanged if `swapped`: a test and its mirror image share compiled code.
template <class F>
void map_test(const OpCall& call, InputData inputs, OutputData outputs, const F& f, bool swapped) {
  const Tensor& a = tensor_at(inputs, 0);
  const Tensor b = aligned(call, a, tensor_at(inputs, 1));
  with_native_type(a.type(), [&]<class T>(T) {
    const auto test = [f](T x, T y) { return static_cast<uint8_t>(f(x, y)); };
    map_elements<uint8_t, T>(call.threads, as_bytes(outputs[0]->tensor), test, swapped ? b : a, swapped ? a : b);
  });
}

void map_equal(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& a = tensor_at(inputs, 0);
  const Tensor b = aligned(call, a, tensor_at(inputs, 1));
  with_unsigned_or_real(a.type(), [&]<class T>(T) {
    const auto test = [](T x, T y) { return static_cast<uint8_t>(x == y); };
    map_elements<uint8_t, T>(call.threads, as_bytes(outputs[0]->tensor), test, unsigned_view(a), unsigned_view(b));
  });
}

template <class F>
void map_booleans(const OpCall& call, InputData inputs, OutputData outputs, const F& f) {
  const Tensor& a = tensor_at(inputs, 0);
  const Tensor b = aligned(call, a, tensor_at(inputs, 1));
  const auto test = [f](uint8_t x, uint8_t y) { return static_cast<uint8_t>(f(static_cast<int>(x != 0), static_cast<int>(y != 0))); };
  map_elements<uint8_t, uint8_t>(call.threads, as_bytes(outputs[0]->tensor), test, as_bytes(a), as_bytes(b));
}

}  // namespace

Inferred infer_equal(const OpCall& call, InputInfos inputs) {
  return infer_binary(call, inputs, kNumericTypes | kBooleanTypes | kStringTypes, true);
}
Inferred infer_order(const OpCall& call, InputInfos inputs) {
  return infer_binary(call, inputs, kNumericTypes, true);
}
Inferred infer_logical(const OpCall& call, InputInfos inputs) {
  return infer_binary(call, inputs, kBooleanTypes, true);
}

void equal(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& a = tensor_at(inputs, 0);
  if (a.type() == DataType::boolean) return map_booleans(call, inputs, outputs, std::equal_to<>{});
  if (a.type() != DataType::string) return map_equal(call, inputs, outputs);
  const Tensor& out = outputs[0]->tensor;
  const StridedLoop loop(out.dims(), {operand(out), broadcast_operand(a, out.dims()), broadcast_operand(tensor_at(inputs, 1), out.dims())});
  loop.run([](std::byte* const* data, const int64_t* strides, int64_t count) {
    const auto* x = reinterpret_cast<const std::string*>(data[1]);
    const auto* y = reinterpret_cast<const std::string*>(data[2]);
    auto* to = reinterpret_cast<uint8_t*>(data[0]);
    for (int64_t i = 0; i < count; ++i) to[i * strides[0]] = x[i * strides[1]] == y[i * strides[2]] ? 1 : 0;
  });
}

void greater(const OpCall& c, InputData in, OutputData out) {
  map_test(c, in, out, std::less<>{}, true);
}
void greater_or_equal(const OpCall& c, InputData in, OutputData out) {
  map_test(c, in, out, std::less_equal<>{}, true);
}
void less(const OpCall& c, InputData in, OutputData out) {
  map_test(c, in, out, std::less<>{}, false);
}
void less_or_equal(const OpCall& c, InputData in, OutputData out) {
  map_test(c, in, out, std::less_equal<>{}, false);
}
void logical_and(const OpCall& c, InputData in, OutputData out) {
  map_booleans(c, in, out, std::logical_and<>{});
}
void logical_or(const OpCall& c, InputData in, OutputData out) {
  map_booleans(c, in, out, std::logical_or<>{});
}
void logical_xor(const OpCall& c, InputData in, OutputData out) {
  map_booleans(c, in, out, std::not_equal_to<>{});
}

}  // namespace relayout::kernels

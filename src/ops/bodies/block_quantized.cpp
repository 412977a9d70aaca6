// Writes bodies of products and gathers over weights of few bits that are quantized in blocks.

#include "base/positions.h"
#include "ops/bodies/bodies.h"
#include "ops/body.h"
#include "relayout/types.h"

namespace relayout::bodies {
namespace {

constexpr int64_t kByte = 8;
constexpr int64_t kLargestCount = int64_t{1} << 31;  ///< of an attribute that counts elements; products of two fit 64 bits

int64_t block_size(Body& body, int64_t otherwise) {
  const int64_t size = body.attributes().integer("block_size", otherwise);
  if (size < 16 || size > kLargestCount || (size & (size - 1)) != 0) body.reject("block_size is " + std::to_string(size));
  return size;
}

int64_t bits_of(Body& body) {
  const int64_t bits = body.attributes().integer("bits", 4);
  if (bits != 2 && bits != 4 && bits != kByte) body.refuse("weights of " + std::to_string(bits) + " bits");
  return bits;
}

int64_t divided_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

Body::Name reshaped(Body& body, const Body::Name& value, const std::vector<int64_t>& dims) {
  return body.make("Reshape", {value, body.integers(dims)});
}

/// The first `count` elements along an axis.
Body::Name first(Body& body, const Body::Name& value, int64_t axis, int64_t count) {
  return body.make("Slice", {value, body.integers({0}), body.integers({count}), body.integers({axis})});
}

/// The numbers of `bits` bits in each byte, along a new last axis, from the low bits of a byte up (or from the high bits down).
Body::Name parts_of_bytes(Body& body, const Body::Name& bytes, int64_t bits, bool low_first = true) {
  Body::Names parts;
  for (int64_t shift = 0; shift < kByte; shift += bits) {
    const int64_t amount = low_first ? shift : kByte - bits - shift;
    const Body::Name moved = amount == 0 ? bytes
                                         : body.make("BitShift", {bytes, body.cast(body.integer(amount), DataType::uint8)},
                                                     {{"direction", std::string("RIGHT")}});
    const Body::Name mask = body.cast(body.integer((int64_t{1} << bits) - 1), DataType::uint8);
    parts.push_back(body.make("Unsqueeze", {body.make("BitwiseAnd", {moved, mask}), body.integers({-1})}));
  }
  return body.make("Concat", parts, {{"axis", int64_t{-1}}});
}

/// Rows of packed numbers as rows of numbers.
Body::Name unpacked_rows(Body& body, const Body::Name& bytes, int64_t bits, int64_t rows) {
  return reshaped(body, bits == kByte ? bytes : parts_of_bytes(body, bytes, bits), {rows, -1});
}

/// A · Bᵀ + bias, with B in the type of A.
void multiply(Body& body, const Body::Name& b, bool transposes, std::size_t bias) {
  Body::Name weight = body.cast_like(b, body.input(0));
  if (transposes) weight = body.make("Transpose", {weight}, {{"perm", std::vector<int64_t>{1, 0}}});
  const Body::Name product = body.make("MatMul", {body.input(0), weight});
  body.give(0, body.has(bias) ? body.make("Add", {product, body.input(bias)}) : product);
}

/// The zero points of MatMulNBits as [N, blocks], in f32: packed like the weights, or one real number each.
Body::Name zero_points(Body& body, int64_t bits, int64_t n, int64_t blocks) {
  constexpr std::size_t kZeroPoints = 3;
  if (!body.has(kZeroPoints)) return body.real(static_cast<double>(int64_t{1} << (bits - 1)));
  const DataType type = body.type(kZeroPoints);
  if (type == DataType::undefined) body.refuse("the type of zero_points is not known");
  Body::Name zeros = reshaped(body, body.input(kZeroPoints), {n, -1});
  if (type == DataType::uint8) zeros = first(body, unpacked_rows(body, zeros, bits, n), 1, blocks);
  return body.cast(zeros, DataType::float32);
}

std::vector<float> bnb_values(Body& body) {
  const int64_t kind = body.required("quant_type", 0, kLargestCount);
  std::vector<float> out = bnb4_codes(kind);
  if (out.empty()) body.reject("quant_type is " + std::to_string(kind));
  return out;
}

}  // namespace

/// B is [N, blocks, bytes]: each block starts a new byte, the low bits of a byte are first.
void matmul_nbits(Body& body) {
  constexpr std::size_t kGroups = 4, kBias = 5;
  const int64_t n = body.required("N", 1, kLargestCount), k = body.required("K", 1, kLargestCount), size = block_size(body, 0),
                bits = bits_of(body);
  const int64_t blocks = divided_up(k, size);
  if (body.has(kGroups)) body.refuse("input g_idx");
  if (body.attributes().integer("weight_prepacked", 0) != 0) body.refuse("a weight that is packed for one processor");
  const Body::Name codes = body.cast(unpacked_rows(body, body.input(1), bits, n), DataType::float32);
  const Body::Name zeros = zero_points(body, bits, n, blocks);
  const Body::Name by_block = reshaped(body, codes, {n, blocks, size});
  const Body::Name centered = body.make("Sub", {by_block, body.has(3) ? reshaped(body, zeros, {n, blocks, 1}) : zeros});
  const Body::Name scales = body.cast(reshaped(body, body.input(2), {n, blocks, 1}), DataType::float32);
  const Body::Name weight = reshaped(body, body.make("Mul", {centered, scales}), {n, blocks * size});
  multiply(body, first(body, weight, 1, k), true, kBias);
}

/// B is one row of N · K numbers, the high bits of a byte first; blocks continue across rows.
void matmul_bnb4(Body& body) {
  constexpr std::size_t kNone = 3;
  constexpr int64_t kBits = 4;
  const int64_t n = body.required("N", 1, kLargestCount), k = body.required("K", 1, kLargestCount), size = block_size(body, 0);
  const int64_t blocks = divided_up(n * k, size);
  const Body::Name values = body.make("Constant", {}, {{"value_floats", bnb_values(body)}});
  const Body::Name codes = first(body, reshaped(body, parts_of_bytes(body, body.input(1), kBits, false), {-1}), 0, n * k);
  const Body::Name real = body.make("Gather", {values, body.cast(codes, DataType::int32)});
  const Body::Name padded = body.make("Pad", {real, body.integers({0, blocks * size - n * k})});
  const Body::Name scales = body.cast(reshaped(body, body.input(2), {blocks, 1}), DataType::float32);
  const Body::Name scaled = reshaped(body, body.make("Mul", {reshaped(body, padded, {blocks, size}), scales}), {-1});
  const bool transposes = body.attributes().integer("transB", 1) != 0;
  multiply(body, reshaped(body, first(body, scaled, 0, n * k), {n, k}), transposes, kNone);
}

/// Gathers rows of weights, scales and zero points, then dequantizes them.
void gather_block_quantized(Body& body) {
  constexpr std::size_t kData = 0, kIndices = 1, kScales = 2, kZeroPoints = 3;
  const auto rank = body.rank(kData);
  const DataType type = body.type(kData);
  if (!rank || type == DataType::undefined) body.refuse("the type or rank of its data is not known");
  const bool is_packed = type == DataType::uint8;
  if (!is_packed && type != DataType::int4 && type != DataType::uint4) body.refuse("data of type " + std::string(name_of(type)));
  const int64_t size = block_size(body, 128), bits = is_packed ? bits_of(body) : 4;
  const auto axis_of = [&](const char* name, int64_t otherwise) {
    const int64_t axis = body.attributes().integer(name, otherwise);
    const auto place = checked_axis(axis, *rank);
    if (!place) body.reject(std::string(name) + " is " + std::to_string(axis));
    return static_cast<int64_t>(*place);
  };
  const int64_t gathered_axis = axis_of("gather_axis", 0), axis = axis_of("quantize_axis", 1);
  if (axis == gathered_axis) body.refuse("gather_axis and quantize_axis are the same");
  if (is_packed && axis + 1 != static_cast<int64_t>(*rank)) body.reject("quantize_axis of packed data is not the last");
  const auto rows = [&](std::size_t input) {
    return body.make("Gather", {body.input(input), body.input(kIndices)}, {{"axis", gathered_axis}});
  };
  const auto unpacked = [&](const Body::Name& bytes, const Body::Name& like) {
    const Body::Name parts = parts_of_bytes(body, bytes, bits);
    const Body::Name front = body.make("Slice", {body.make("Shape", {like}), body.integers({0}), body.integers({-1})});
    return body.make("Reshape", {parts, body.make("Concat", {front, body.integers({-1})}, {{"axis", int64_t{0}}})});
  };
  Body::Name data = rows(kData), zeros = body.has(kZeroPoints) ? rows(kZeroPoints) : Body::Name();
  const Body::Name scales = rows(kScales);
  if (is_packed && bits < kByte) {
    data = unpacked(data, data);
    if (!zeros.empty()) {
      // As many zero points as scales: the last byte may hold more.
      const Body::Name blocks = body.make("Shape", {scales}, {{"start", int64_t{-1}}});
      zeros = body.make("Slice", {unpacked(zeros, zeros), body.integers({0}), blocks, body.integers({-1})});
    }
  }
  if (is_packed && zeros.empty()) {
    const Body::Name middle = body.cast(body.integer(int64_t{1} << (bits - 1)), DataType::uint8);
    zeros = body.make("Expand", {middle, body.make("Shape", {scales})});
  }
  // The dims of the indices replace one axis, so axes after it are counted from the end.
  const int64_t place = axis < gathered_axis ? axis : axis - static_cast<int64_t>(*rank);
  body.give(0, body.make("DequantizeLinear", {data, scales, zeros}, {{"axis", place}, {"block_size", size}}));
}

}  // namespace relayout::bodies

namespace relayout {

// Codes of bitsandbytes (onnxruntime/contrib_ops/cpu/quantization/blockwise_quant_block_bnb4.h).

std::vector<float> bnb4_codes(int64_t quant_type) {
  if (quant_type == 0) {
    const std::vector<float> positive = {0, 5.208333333e-03F, 2.0F / 3, 1, 1.0F / 3, 0.5F, 1.0F / 6, 0.25F};
    std::vector<float> out = positive;
    for (const float value : positive) out.push_back(-value);
    return out;
  }
  if (quant_type != 1) return {};
  return {-1.0F,
          -0.6961928009986877F,
          -0.5250730514526367F,
          -0.39491748809814453F,
          -0.28444138169288635F,
          -0.18477343022823334F,
          -0.09105003625154495F,
          0.0F,
          0.07958029955625534F,
          0.16093020141124725F,
          0.24611230194568634F,
          0.33791524171829224F,
          0.44070982933044434F,
          0.5626170039176941F,
          0.7229568362236023F,
          1.0F};
}

}  // namespace relayout

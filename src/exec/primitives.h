#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "relayout/tensor.h"

/// Interface between planner and oneDNN: requests (Convolution, Matmul, Softmax, Reorder, Normalization), the list of all functions, and
/// the classes that answer. The one implementation, exec/onednn, is in a module that is opened at the first plan. All descs are dense f32
/// unless stated otherwise; no dim is 0.
namespace relayout::exec {

/// Functions of one variable; alpha and beta as oneDNN defines them.
enum class Function : uint8_t {
  relu,          ///< x < 0 ? alpha·x : x
  clip,          ///< min(max(x, alpha), beta)
  hard_sigmoid,  ///< max(0, min(1, alpha·x + beta))
  hard_swish,    ///< x · hard_sigmoid(x)
  sigmoid,
  tanh,
  elu,  ///< alpha
  erf,
  gelu_erf,
  gelu_tanh,
  swish,  ///< x · sigmoid(alpha·x)
  mish,
  softplus,  ///< log(1 + e^x); alpha is 1
  abs,
  sqrt,
  exp,
  log,
  round,   ///< half to even
  linear,  ///< alpha·x + beta
  // Only in the chain kernel.
  floor,
  ceil,
  reciprocal,
  negate,
  is_nonzero,    ///< 1 or 0
  round_half,    ///< to f16
  round_bfloat,  ///< to bf16
  steps_u8,      ///< of alpha, from -beta on, 256 of them
  steps_i8,      ///< of alpha, from -128 - beta on, 256 of them
  sine,
  cosine,
  softsign,
  thresholded_relu,  ///< alpha
  selu,              ///< alpha, gamma as beta
  celu,              ///< alpha
  arc_sine,
  arc_cosine,
  arc_tangent,
  hyperbolic_sine,
  hyperbolic_cosine,
  area_sine,
  area_cosine,
  area_tangent,
  tangent,
  square,
  cube,
  erf_gate,  ///< beta · x · (1 + erf(alpha · x))
};

enum class BinaryFunction : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  minimum,
  maximum,
  // Only in the chain kernel.
  power,
  slope_below,  ///< x < 0 ? operand · x : x
};

/// An operation on a destination element before it is stored.
struct PostOp {
  enum class Kind : uint8_t { function, sum, binary };
  Kind kind = Kind::function;
  Function function = Function::relu;
  float alpha = 0, beta = 0;
  BinaryFunction binary = BinaryFunction::add;
  TensorDesc operand;  ///< of a binary; dims of the destination, or 1
};

/// Conv, or ConvTranspose when `transposed`. Dims are logical: source [N, C, k…], weights as ONNX defines them ([O, I/g, k…]; transposed
/// [I, O/g, k…]), with the strides of the constant. Between 1 and 3 spatial dims. pads_end may be negative when transposed.
struct Convolution {
  TensorDesc source, weights, destination;
  bool transposed = false, has_bias = false;
  int64_t groups = 1;
  Dims strides, dilations, pads_begin, pads_end;  ///< dilation 1 is dense
  std::vector<PostOp> post_ops;
};

/// [batch…, M, K] × [batch…, K, N]; batch dims may be 1 on one side. Rows may be strided.
struct Matmul {
  TensorDesc source, weights, destination;
  bool has_bias = false;          ///< over N
  bool constant_weights = false;  ///< weights are packed, else read with their strides
  std::vector<PostOp> post_ops;
};

struct Softmax {
  TensorDesc source, destination;
  int64_t axis = 0;
};

struct Reorder {
  TensorDesc source, destination;
};

/// LayerNormalization over the last dim, scale and shift of that length. Mean and variance, where they are wanted, have one number per
/// line.
struct Normalization {
  TensorDesc source, destination;
  float epsilon = 0;
  bool has_scale = false, has_shift = false, gives_statistics = false;
};

using PrimitiveSpec = std::variant<Convolution, Matmul, Softmax, Reorder, Normalization>;

enum class Argument : uint8_t { source, weights, bias, destination, operand, scale, shift, mean, variance, scratchpad };

/// The form in which a primitive needs its constant weights.
class WeightsFormat {
 public:
  virtual ~WeightsFormat() = default;
  [[nodiscard]] virtual int64_t bytes() const = 0;
  /// Equal keys mean equal bytes for equal weights: plans share packed weights by it.
  [[nodiscard]] virtual std::string key() const = 0;
  /// Packs weights of the dims in the spec, with the strides of `source`, into `target` (64-byte aligned, bytes() long).
  virtual void pack(const TensorDesc& source, const std::byte* data, std::byte* target) const = 0;
};

/// A compiled primitive. Not safe to run from two threads at once.
class Primitive {
 public:
  virtual ~Primitive() = default;
  [[nodiscard]] virtual const std::string& implementation() const noexcept = 0;
  [[nodiscard]] virtual int64_t scratchpad_bytes() const noexcept = 0;
  /// nullptr when it has no constant weights.
  [[nodiscard]] virtual const WeightsFormat* weights_format() const noexcept = 0;
  /// `index`: number of the post-op, for `operand`.
  virtual void bind(Argument argument, int index, void* data) = 0;
  /// Uses the number of threads that was set when it was made. Everything must be bound. Throws Error{defect} when the library fails.
  virtual void execute() = 0;
};

/// A primitive, or the reason why there is none that is right and fast.
struct MadePrimitive {
  std::unique_ptr<Primitive> primitive;
  std::string refusal;
};

class PrimitiveLibrary {
 public:
  virtual ~PrimitiveLibrary() = default;
  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual std::string isa() const = 0;
  /// Whether plain (contiguous) convolutions have a fast implementation, which the library has from AVX-512 on.
  [[nodiscard]] virtual bool fast_plain_convolution() const = 0;
  [[nodiscard]] virtual MadePrimitive make(const PrimitiveSpec& spec) = 0;
  /// Threads for primitives made and work started from now on by the calling thread.
  virtual void set_threads(int threads) = 0;
  /// work(context, i) for i in [0, count) on the threads that the primitives use. Must not throw.
  virtual void parallel(int count, void (*work)(void* context, int i), void* context) = 0;
};

/// Opens the library at the first call. Error{io} when the module cannot be opened.
[[nodiscard]] PrimitiveLibrary& primitive_library();

/// Threads for the library's internal work: run_parts() with equal parts, meet_parts() and reserve_parts() of base/threads.h.
struct ThreadSource {
  void (*run)(int count, void (*work)(void* context, int part), void* context) = nullptr;
  void (*meet)() = nullptr;
  int (*reserve)(int wanted) = nullptr;
};

inline constexpr char kPrimitiveLibraryFile[] = "librelayout_onednn.so";
inline constexpr char kPrimitiveLibraryEntry[] = "relayout_onednn_library";
/// Type of the module's one entry; the object lives as long as the process.
using PrimitiveLibraryEntry = PrimitiveLibrary* (*)(const ThreadSource&);

}  // namespace relayout::exec

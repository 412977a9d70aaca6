#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "base/vectorize.h"
#include "ops/loops/dtypes.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// Dims over which several tensors are iterated together, outermost first, and each tensor's strides in elements.
struct Loops {
  Dims dims;
  std::vector<Dims> strides;  ///< per tensor
};

/// Dims and tensors that an iteration tracks without allocating.
inline constexpr std::size_t kMostLoopDims = 32;
inline constexpr std::size_t kMostLoopTensors = 12;

/// Dims in the given order, outermost first; neighbours that form one dim in every tensor are merged.
[[nodiscard]] Loops merge_dims(std::span<const int64_t> dims, const std::vector<Dims>& strides, std::span<const std::size_t> order);

/// Sorts dims by `leader`'s strides (largest outside), drops dims of size 1, and merges neighbours that form one dim in every tensor.
/// Error{unsupported} when more than kMostLoopDims remain.
[[nodiscard]] Loops simplify(const Dims& dims, const std::vector<Dims>& strides, std::size_t leader);

/// Calls work(offsets) for each combination of the outer `levels` dims with index in [begin, end) of their product, row-major;
/// offsets are in elements, one per tensor.
template <class Work>
void for_each_outer(const Loops& loops, std::size_t levels, int64_t begin, int64_t end, const Work& work) {
  const std::size_t tensors = loops.strides.size();
  std::array<int64_t, kMostLoopTensors> offsets{};
  std::array<int64_t, kMostLoopDims> index{};
  int64_t rest = begin;
  for (std::size_t level = levels; level-- > 0;) {
    index[level] = rest % loops.dims[level];
    rest /= loops.dims[level];
    for (std::size_t t = 0; t < tensors; ++t) offsets[t] += index[level] * loops.strides[t][level];
  }
  for (int64_t i = begin; i < end; ++i) {
    work(std::span<const int64_t>(offsets.data(), tensors));
    for (std::size_t level = levels; level-- > 0;) {
      const bool wraps = ++index[level] == loops.dims[level];
      for (std::size_t t = 0; t < tensors; ++t) {
        offsets[t] += loops.strides[t][level] * (wraps ? 1 - loops.dims[level] : 1);
      }
      if (!wraps) break;
      index[level] = 0;
    }
  }
}

/// Product of the first `levels` dims.
[[nodiscard]] int64_t outer_count(const Loops& loops, std::size_t levels);

/// One operand of a loop over common dims: the address of element [0, 0, …], bytes per element, strides in elements (0 where broadcast).
struct Operand {
  std::byte* data = nullptr;
  int64_t size = 0;
  Dims strides;
};

/// Offset, in elements, of the element at `index`.
[[nodiscard]] inline int64_t offset_of(std::span<const int64_t> index, std::span<const int64_t> strides) {
  int64_t sum = 0;
  for (std::size_t i = 0; i < index.size(); ++i) sum += index[i] * strides[i];
  return sum;
}

/// A tensor as operand of a loop over its own dims.
[[nodiscard]] Operand operand(const Tensor& tensor);
/// A tensor as operand of a loop over `dims` (numpy broadcasting: trailing dims align, 1 stretches). Must fit.
[[nodiscard]] Operand broadcast_operand(const Tensor& tensor, std::span<const int64_t> dims);

/// A bool tensor as bytes that are numbers.
[[nodiscard]] inline Tensor as_bytes(const Tensor& bools) {
  return {TensorDesc{DataType::uint8, bools.dims(), bools.strides()}, bools.bytes(), bools.owner()};
}

/// The iterator of all hand-written kernels: steps through several strided operands together. Dims are sorted by the first operand's
/// strides and merged where all operands allow, so that the innermost runs are as long and as contiguous as those of the first operand, in
/// whatever order it is stored.
class StridedLoop {
 public:
  StridedLoop(std::span<const int64_t> dims, std::vector<Operand> operands);

  /// Called with the operands' addresses, their strides in elements, and the number of elements.
  using Run = std::function<void(std::byte* const* data, const int64_t* strides, int64_t count)>;
  /// Every element once, in no promised order; large loops on up to `threads` threads.
  void run(int threads, const Run& work) const;
  /// As run() for work that writes the first operand only. Several short runs are passed at a time; the other operands are copied where
  /// their runs are not adjacent.
  void run_joined(int threads, const Run& work) const;
  /// As run(), one thread, in the order of memory of the first operand.
  void run(const Run& work) const { run(1, work); }

 private:
  void run_rows(int64_t begin, int64_t end, const Run& work) const;
  [[nodiscard]] bool joins() const;
  Dims dims_;  ///< merged; the last is the run
  std::vector<Operand> operands_;
  std::vector<int64_t> run_strides_;  ///< of the last dim, per operand
  int64_t rows_ = 0;                  ///< product of all dims but the last
};

/// Calls f with a stride, as a constant where it is 0 or 1: loops over neighbours and over one repeated element get code of their own.
template <class F>
decltype(auto) with_step(int64_t stride, F&& f) {
  if (stride == 1) return f(std::integral_constant<int64_t, 1>{});
  if (stride == 0) return f(std::integral_constant<int64_t, 0>{});
  return f(stride);
}

inline constexpr int64_t kChunk = 512;               ///< elements converted at a time
inline constexpr int64_t kParallelElements = 65536;  ///< least number for one thread: about 50 µs

/// Elements of one operand as T: the memory itself where that is possible, else converted or gathered into `buffer`, of kChunk elements.
/// Shared by all loops over T: inlined, it would be most of their code.
template <class T>
[[gnu::noinline]] const T* read_chunk(DataType type, const std::byte* data, int64_t stride, int64_t count, T* buffer) {
  const auto* const source = reinterpret_cast<const T*>(data);
  if (is_native<T>(type)) {
    if (stride == 1) return source;
    if (stride == 0) {
      std::fill_n(buffer, count, *source);
    } else {
      for (int64_t i = 0; i < count; ++i) buffer[i] = source[i * stride];
    }
  } else if constexpr (kIsDomain<T>) {
    load(type, data, stride, count, buffer);
  }
  return buffer;
}

/// read_chunk() with a buffer.
template <class T>
class ChunkReader {
 public:
  const T* read(DataType type, const std::byte* data, int64_t stride, int64_t count) {
    return read_chunk(type, data, stride, count, buffer_.data());
  }

 private:
  std::array<T, kChunk> buffer_;
};

/// Writes elements unchanged to memory of their type, else as store() does.
template <class T>
void store_chunk(DataType type, std::byte* to, int64_t stride, int64_t count, const T* from) {
  if (is_native<T>(type)) {
    auto* const target = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) target[i * stride] = from[i];
  } else if constexpr (kIsDomain<T>) {
    store(type, to, stride, count, from);
  }
}

/// out[i] = f(in[i]…) over neighbouring elements, for each instruction set.
template <class Out, class F, class... In>
RELAYOUT_VECTORIZE static void map_run(int64_t count, F f, Out* out, const In*... in) {
  for (int64_t i = 0; i < count; ++i) out[i] = f(in[i]...);
}

inline constexpr std::size_t kMostMapped = 5;    ///< tensors that map_elements() reads, and map_chunks() at a time
inline constexpr int64_t kMostElementBytes = 8;  ///< of a type that it computes in
/// A buffer for a chunk of any of these types.
using ChunkBytes = std::array<std::byte, kChunk * kMostElementBytes>;

/// How chunks of a type are read from memory and written to it.
struct ChunkType {
  int64_t bytes;    ///< of one element
  DataType native;  ///< the type whose memory is an array of it
  const void* (*read)(DataType type, const std::byte* data, int64_t stride, int64_t count, void* buffer);
  void (*store)(DataType type, std::byte* to, int64_t stride, int64_t count, const void* from);
};

template <class T>
inline constexpr ChunkType kChunkType{int64_t{sizeof(T)}, kNativeType<T>,
                                      [](DataType type, const std::byte* data, int64_t stride, int64_t count, void* buffer) -> const void* {
                                        return read_chunk(type, data, stride, count, static_cast<T*>(buffer));
                                      },
                                      [](DataType type, std::byte* to, int64_t stride, int64_t count, const void* from) {
                                        store_chunk(type, to, stride, count, static_cast<const T*>(from));
                                      }};

/// The function that is applied to chunks: out and each of `in` are `count` neighbouring elements. More than kMostMapped inputs are passed
/// kMostMapped at a time, in order, with the same `out`; `first` is the index of in[0] among them.
struct ChunkWork {
  void (*run)(const void* function, int64_t count, void* out, const void* const* in, std::size_t first);
  const void* function;
};

/// The loop of elementwise functions, shared by all functions and types: as one instance for each, it was 8 % of the program.
void map_chunks(int threads, const Tensor& out, const ChunkType& out_as, std::span<const Tensor* const> inputs, const ChunkType& in_as,
                const ChunkWork& work);

/// out[i] = f(in[i]…) with broadcasting: each input is read as In, the result written from Out, each a domain or the type in memory.
template <class Out, class In, class F, class... Inputs>
void map_elements(int threads, const Tensor& out, const F& f, const Inputs&... inputs) {
  static_assert((std::is_same_v<Inputs, Tensor> && ...) && sizeof...(Inputs) <= kMostMapped);
  static_assert(sizeof(Out) <= kMostElementBytes && sizeof(In) <= kMostElementBytes);
  using Function = std::decay_t<F>;
  const Function function = f;
  const auto run = [](const void* opaque, int64_t count, void* to, const void* const* from, std::size_t) {
    [&]<std::size_t... kInput>(std::index_sequence<kInput...>) {
      map_run(count, *static_cast<const Function*>(opaque), static_cast<Out*>(to), static_cast<const In*>(from[kInput])...);
    }(std::make_index_sequence<sizeof...(Inputs)>{});
  };
  map_chunks(threads, out, kChunkType<Out>, std::array<const Tensor*, sizeof...(Inputs)>{&inputs...}, kChunkType<In>,
             {run, static_cast<const void*>(&function)});
}

/// Strides that give `dims` the same elements in the same row-major order, or nothing when that takes a copy. Each run of old dims with a
/// common stride can be divided anew.
[[nodiscard]] std::optional<Dims> reshape_strides(const TensorDesc& desc, const Dims& dims);

/// Copies elements from `from` (broadcast) to `to`; same type.
void copy_elements(int threads, const Tensor& to, const Tensor& from);
/// Copies slices of one shape between tensors of one type, one slice at a time.
class SliceCopier {
 public:
  SliceCopier(DataType type, const Dims& dims, Dims to_strides, Dims from_strides);
  /// Copies a slice; both addresses are of element [0, 0, …].
  void copy(std::byte* to, const std::byte* from) const;
  /// Bytes of a slice that is contiguous on both sides; else 0.
  [[nodiscard]] int64_t dense_bytes() const noexcept { return dense_bytes_; }

 private:
  DataType type_;
  Dims dims_, to_strides_, from_strides_;
  int64_t dense_bytes_ = 0;
};

/// Sets every element to 0, a string to "".
void fill_zero(const Tensor& to);

}  // namespace relayout

// Runs one loop over several tensors of any strides, in the best order and on several threads.
#include "ops/loops/strided.h"

#include <numeric>

#include "base/machine.h"
#include "base/positions.h"
#include "base/threads.h"
#include "ops/loops/dtypes.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Whether dim `a` is outside dim `b`: decided by the first operand whose strides along both are different and not 0.
bool is_outside(const std::vector<Operand>& operands, std::size_t a, std::size_t b) {
  for (const Operand& each : operands) {
    const int64_t left = std::abs(each.strides[a]), right = std::abs(each.strides[b]);
    if (left != right && left != 0 && right != 0) return left > right;
  }
  return a < b;
}

/// Dims of more than one element in the order of memory, outermost first. An insertion sort: the relation above is not transitive
/// where operands broadcast over different dims.
std::vector<std::size_t> memory_order(std::span<const int64_t> dims, const std::vector<Operand>& operands) {
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    auto place = order.end();
    while (place != order.begin() && is_outside(operands, axis, *(place - 1))) --place;
    order.insert(place, axis);
  }
  return order;
}

template <class T>
void copy_run(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t count) {
  auto* target = reinterpret_cast<T*>(to);
  const auto* source = reinterpret_cast<const T*>(from);
  if constexpr (std::is_trivially_copyable_v<T>) {
    if (to_stride == 1 && from_stride == 1) {
      std::memcpy(to, from, as_size(count) * sizeof(T));
      return;
    }
  }
  if (from_stride == 0 && to_stride == 1) {
    std::fill_n(target, count, *source);
    return;
  }
  with_step(to_stride, [&](auto to_step) {
    for (int64_t i = 0; i < count; ++i) target[i * to_step] = source[i * from_stride];
  });
}

}  // namespace

Operand operand(const Tensor& tensor) {
  return {tensor.bytes(), element_stride(tensor.type()), tensor.strides()};
}

Operand broadcast_operand(const Tensor& tensor, std::span<const int64_t> dims) {
  Dims strides(dims.size(), 0);
  const std::size_t rank = tensor.dims().size();
  const std::size_t lead = dims.size() - rank;
  for (std::size_t i = 0; i < rank; ++i) strides[lead + i] = tensor.dims()[i] == 1 ? 0 : tensor.strides()[i];
  return {tensor.bytes(), element_stride(tensor.type()), std::move(strides)};
}

StridedLoop::StridedLoop(std::span<const int64_t> dims, std::vector<Operand> operands) : operands_(std::move(operands)) {
  const bool empty = std::ranges::find(dims, 0) != dims.end();
  std::vector<Dims> strides;
  for (const Operand& each : operands_) strides.push_back(each.strides);
  Loops merged = merge_dims(dims, strides, empty ? std::vector<std::size_t>{} : memory_order(dims, operands_));
  if (merged.dims.empty()) {
    merged.dims.push_back(empty ? 0 : 1);
    for (Dims& each : merged.strides) each.push_back(1);
  }
  dims_ = std::move(merged.dims);
  for (std::size_t k = 0; k < operands_.size(); ++k) {
    run_strides_.push_back(merged.strides[k].back());
    operands_[k].strides = std::move(merged.strides[k]);
  }
  rows_ = empty ? 0 : std::accumulate(dims_.begin(), dims_.end() - 1, int64_t{1}, std::multiplies<>());
}

void StridedLoop::run(int threads, const Run& work) const {
  const int64_t length = dims_.back();
  const int64_t total = rows_ * length;
  const int64_t tasks = std::min<int64_t>(threads, total / kParallelElements);
  if (tasks <= 1) return run_rows(0, rows_, work);
  if (rows_ >= tasks) {
    parallel_for(tasks, threads, [&](int64_t task) { run_rows(rows_ * task / tasks, rows_ * (task + 1) / tasks, work); });
    return;
  }
  // Few long runs: cut the runs.
  for (int64_t row = 0; row < rows_; ++row) {
    const Run piece = [&](std::byte* const* data, const int64_t* strides, int64_t count) {
      parallel_for(tasks, threads, [&](int64_t task) {
        const int64_t begin = count * task / tasks, end = count * (task + 1) / tasks;
        std::vector<std::byte*> shifted;
        for (std::size_t k = 0; k < operands_.size(); ++k) shifted.push_back(data[k] + begin * strides[k] * operands_[k].size);
        work(shifted.data(), strides, end - begin);
      });
    };
    run_rows(row, row + 1, piece);
  }
}

namespace {

/// Copies rows of elements next to each other.
template <class T>
void join_rows(const std::byte* from, int64_t row_stride, int64_t stride, int64_t rows, int64_t columns, std::byte* to) {
  const auto* source = reinterpret_cast<const T*>(from);
  auto* target = reinterpret_cast<T*>(to);
  for (int64_t row = 0; row < rows; ++row, source += row_stride, target += columns) {
    for (int64_t i = 0; i < columns; ++i) target[i] = source[i * stride];
  }
}

void join_rows(int64_t size, const std::byte* from, int64_t row_stride, int64_t stride, int64_t rows, int64_t columns, std::byte* to) {
  switch (size) {
    case 1:
      return join_rows<uint8_t>(from, row_stride, stride, rows, columns, to);
    case 2:
      return join_rows<uint16_t>(from, row_stride, stride, rows, columns, to);
    case 4:
      return join_rows<uint32_t>(from, row_stride, stride, rows, columns, to);
    default:
      return join_rows<uint64_t>(from, row_stride, stride, rows, columns, to);
  }
}

}  // namespace

bool StridedLoop::joins() const {
  constexpr int64_t kShortRun = 32;
  if (dims_.size() < 2 || dims_.back() >= kShortRun) return false;
  const Dims& out = operands_[0].strides;
  if (out.back() != 1 || out[dims_.size() - 2] != dims_.back()) return false;
  return std::ranges::all_of(operands_, [](const Operand& each) { return each.size <= kMostElementBytes; });
}

void StridedLoop::run_joined(int threads, const Run& work) const {
  if (!joins()) return run(threads, work);
  const std::size_t outer = dims_.size() - 2, count = operands_.size();
  const int64_t rows = dims_[outer], columns = dims_.back(), most = std::max<int64_t>(kChunk / columns, 1);
  const int64_t pieces = (rows + most - 1) / most, total = rows_ / rows * pieces;
  const int64_t tasks = std::clamp<int64_t>(rows_ * columns / kParallelElements, 1, std::max(threads, 1));
  parallel_for(tasks, static_cast<int>(tasks), [&](int64_t task) {
    std::vector<ChunkBytes> joined(count);
    std::vector<std::byte*> data(count);
    std::vector<int64_t> strides(count);
    for (int64_t piece = total * task / tasks; piece < total * (task + 1) / tasks; ++piece) {
      const int64_t first = piece % pieces * most, here = std::min(most, rows - first);
      for (std::size_t k = 0; k < count; ++k) {
        const Operand& each = operands_[k];
        const int64_t row_stride = each.strides[outer], stride = each.strides.back();
        int64_t offset = first * row_stride;
        for (std::size_t axis = outer, rest = as_size(piece / pieces); axis-- > 0;) {
          const auto dim = as_size(dims_[axis]);
          offset += static_cast<int64_t>(rest % dim) * each.strides[axis];
          rest /= dim;
        }
        data[k] = each.data + offset * each.size;
        strides[k] = stride;
        if (row_stride == stride * columns) continue;
        join_rows(each.size, data[k], row_stride, stride, here, columns, joined[k].data());
        data[k] = joined[k].data();
        strides[k] = 1;
      }
      work(data.data(), strides.data(), here * columns);
    }
  });
}

void StridedLoop::run_rows(int64_t begin, int64_t end, const Run& work) const {
  if (begin >= end) return;
  const std::size_t outer = dims_.size() - 1;
  Dims index(outer, 0);
  std::vector<std::byte*> data;
  for (const Operand& each : operands_) data.push_back(each.data);
  int64_t rest = begin;
  for (std::size_t axis = outer; axis-- > 0;) {
    index[axis] = rest % dims_[axis];
    rest /= dims_[axis];
    for (std::size_t k = 0; k < operands_.size(); ++k) data[k] += index[axis] * operands_[k].strides[axis] * operands_[k].size;
  }
  for (int64_t row = begin; row < end; ++row) {
    work(data.data(), run_strides_.data(), dims_.back());
    if (row + 1 == end) break;
    for (std::size_t axis = outer; axis-- > 0;) {
      const bool wraps = ++index[axis] == dims_[axis];
      const int64_t steps = wraps ? 1 - dims_[axis] : 1;
      for (std::size_t k = 0; k < operands_.size(); ++k) data[k] += steps * operands_[k].strides[axis] * operands_[k].size;
      if (!wraps) break;
      index[axis] = 0;
    }
  }
}

void copy_elements(int threads, const Tensor& to, const Tensor& from) {
  const StridedLoop loop(to.dims(), {operand(to), broadcast_operand(from, to.dims())});
  with_storage(to.type(), [&]<class T>(const T&) {
    loop.run(threads, [](std::byte* const* data, const int64_t* strides, int64_t count) {
      copy_run<T>(data[0], strides[0], data[1], strides[1], count);
    });
  });
}

SliceCopier::SliceCopier(DataType type, const Dims& dims, Dims to_strides, Dims from_strides)
    : type_(type), dims_(dims), to_strides_(std::move(to_strides)), from_strides_(std::move(from_strides)) {
  const auto is_dense = [&](const Dims& strides) { return Tensor(TensorDesc{type, dims, strides}, nullptr, nullptr).is_contiguous(); };
  if (type != DataType::string && is_dense(to_strides_) && is_dense(from_strides_))
    dense_bytes_ = element_count(dims) * element_stride(type);
}

void SliceCopier::copy(std::byte* to, const std::byte* from) const {
  switch (dense_bytes_) {
    case 0:
      return copy_elements(1, Tensor({type_, dims_, to_strides_}, to, nullptr),
                           Tensor({type_, dims_, from_strides_}, const_cast<std::byte*>(from), nullptr));  // read only
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    default:
      std::memcpy(to, from, as_size(dense_bytes_));
  }
}

void fill_zero(const Tensor& to) {
  const StridedLoop loop(to.dims(), {operand(to)});
  with_storage(to.type(), [&]<class T>(const T&) {
    loop.run([](std::byte* const* data, const int64_t* strides, int64_t count) {
      auto* target = reinterpret_cast<T*>(data[0]);
      if (strides[0] == 1) {
        std::fill_n(target, count, T{});
      } else {
        for (int64_t i = 0; i < count; ++i) target[i * strides[0]] = T{};
      }
    });
  });
}

void map_chunks(int threads, const Tensor& out, const ChunkType& out_as, std::span<const Tensor* const> inputs, const ChunkType& in_as,
                const ChunkWork& work) {
  std::vector<Operand> operands{operand(out)};
  for (const Tensor* const input : inputs) operands.push_back(broadcast_operand(*input, out.dims()));
  const DataType out_type = out.type();
  const int64_t out_size = element_stride(out_type);
  const StridedLoop loop(out.dims(), std::move(operands));
  loop.run_joined(threads, [&](std::byte* const* data, const int64_t* strides, int64_t count) {
    alignas(kLineBytes) std::array<ChunkBytes, kMostMapped> readers;
    alignas(kLineBytes) ChunkBytes made;
    std::array<const void*, kMostMapped> from;
    const bool is_direct = strides[0] == 1 && out_type == out_as.native;
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t length = std::min(kChunk, count - begin);
      std::byte* const to = data[0] + begin * strides[0] * out_size;
      std::byte* const target = is_direct ? to : made.data();
      for (std::size_t i = 0, slot = 0; i < inputs.size(); ++i, slot = i % kMostMapped) {
        if (begin == 0 || strides[i + 1] != 0 || inputs.size() > kMostMapped) {  // else it is still in place
          const DataType type = inputs[i]->type();
          const std::byte* const at = data[i + 1] + begin * strides[i + 1] * element_stride(type);
          from[slot] = in_as.read(type, at, strides[i + 1], length, readers[slot].data());
        }
        if (slot + 1 == kMostMapped || i + 1 == inputs.size()) work.run(work.function, length, target, from.data(), i - slot);
      }
      if (!is_direct) out_as.store(out_type, to, strides[0], length, target);
    }
  });
}

std::optional<Dims> reshape_strides(const TensorDesc& desc, const Dims& dims) {
  if (element_count(dims) == 0) return contiguous_strides(dims);
  Dims old_dims, old_strides;
  for (std::size_t i = 0; i < desc.dims.size(); ++i) {
    if (desc.dims[i] == 1) continue;
    if (!old_dims.empty() && old_strides.back() == desc.strides[i] * desc.dims[i]) {
      old_dims.back() *= desc.dims[i];
      old_strides.back() = desc.strides[i];
    } else {
      old_dims.push_back(desc.dims[i]);
      old_strides.push_back(desc.strides[i]);
    }
  }
  Dims strides(dims.size(), 1);
  std::size_t run = old_dims.size();
  int64_t left = 1, stride = 1;  // of the old run that is being cut, from its inner end
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) {
      strides[i] = stride;
      continue;
    }
    if (left == 1) {
      --run;
      left = old_dims[run];
      stride = old_strides[run];
    }
    if (left % dims[i] != 0) return std::nullopt;
    strides[i] = stride;
    stride *= dims[i];
    left /= dims[i];
  }
  return strides;
}

// Dims over which several tensors are iterated together.

Loops merge_dims(std::span<const int64_t> dims, const std::vector<Dims>& strides, std::span<const std::size_t> order) {
  Loops out;
  out.strides.resize(strides.size());
  for (const std::size_t dim : order) {
    bool merges = !out.dims.empty();
    for (std::size_t t = 0; merges && t < strides.size(); ++t) merges = out.strides[t].back() == strides[t][dim] * dims[dim];
    if (merges) {
      out.dims.back() *= dims[dim];
      for (std::size_t t = 0; t < strides.size(); ++t) out.strides[t].back() = strides[t][dim];
    } else {
      out.dims.push_back(dims[dim]);
      for (std::size_t t = 0; t < strides.size(); ++t) out.strides[t].push_back(strides[t][dim]);
    }
  }
  return out;
}

Loops simplify(const Dims& dims, const std::vector<Dims>& strides, std::size_t leader) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) order.push_back(i);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return std::abs(strides[leader][a]) > std::abs(strides[leader][b]); });
  Loops out = merge_dims(dims, strides, order);
  if (out.dims.empty()) {
    out.dims.push_back(1);
    for (Dims& tensor : out.strides) tensor.push_back(0);
  }
  if (out.dims.size() > kMostLoopDims) fail(ErrorKind::unsupported, "a tensor of more than " + std::to_string(kMostLoopDims) + " dims");
  return out;
}

int64_t outer_count(const Loops& loops, std::size_t levels) {
  return std::accumulate(loops.dims.begin(), loops.dims.begin() + static_cast<std::ptrdiff_t>(levels), int64_t{1}, std::multiplies<>());
}

}  // namespace relayout

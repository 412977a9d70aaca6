// Stores tensors in memory, views them by strides, and copies views densely.
#include "relayout/tensor.h"

#include <cstring>
#include <new>

#include "base/machine.h"
#include "base/positions.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Number of elements that `desc` spans, from the first to the last.
int64_t reach(const TensorDesc& desc) {
  if (element_count(desc.dims) == 0) return 0;
  int64_t last = 0;
  for (std::size_t i = 0; i < desc.dims.size(); ++i) last += (desc.dims[i] - 1) * desc.strides[i];
  return last + 1;
}

std::shared_ptr<void> allocate(DataType type, int64_t count) {
  if (type == DataType::string) {
    const auto strings = checked_mul<int64_t>(count, int64_t{sizeof(std::string)});
    require_memory(strings.value_or(std::numeric_limits<int64_t>::max()));
    return {new std::string[as_size(count)], [](void* data) { delete[] static_cast<std::string*>(data); }};
  }
  const auto bytes = checked_mul<int64_t>(std::max<int64_t>(count, 1), static_cast<int64_t>(memory_size(type)));
  if (!bytes) fail(ErrorKind::invalid, "a tensor of " + std::to_string(count) + " elements is beyond 2^63 bytes");
  require_memory(*bytes);
  void* const data = ::operator new(as_size(*bytes), std::align_val_t{kLineBytes});
  return {data, [](void* freed) { ::operator delete(freed, std::align_val_t{kLineBytes}); }};
}

/// Copies `source` into row-major order at `out`, one run of the last dim after the other.
template <class Copy>
void for_each_run(const Tensor& source, const Copy& copy) {
  const Dims& dims = source.dims();
  const std::size_t rank = dims.size();
  Dims index(rank, 0);
  int64_t offset = 0;
  while (true) {
    copy(offset);
    std::size_t axis = rank - 1;
    while (axis-- > 0) {
      offset += source.strides()[axis];
      if (++index[axis] < dims[axis]) break;
      offset -= index[axis] * source.strides()[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

template <class T>
void copy_strided(const Tensor& source, Tensor& out) {
  const int64_t length = source.dims().back();
  const int64_t stride = source.strides().back();
  T* target = out.data<T>();
  const T* base = source.data<T>();
  for_each_run(source, [&](int64_t offset) {
    const T* from = base + offset;
    for (int64_t i = 0; i < length; ++i) *target++ = from[i * stride];
  });
}

struct Complex64 {
  uint64_t bits;
};
struct Complex128 {
  uint64_t bits[2];
};

}  // namespace

std::size_t memory_size(DataType type) noexcept {
  if (type == DataType::string) return 0;
  return as_size((traits(type).bits + 7) / 8);
}

Tensor::Tensor(DataType type, Dims dims) : desc_{type, std::move(dims), {}} {
  desc_.strides = contiguous_strides(desc_.dims);
  owner_ = allocate(type, relayout::element_count(desc_.dims));
  data_ = static_cast<std::byte*>(owner_.get());
}

Tensor::Tensor(TensorDesc desc) : desc_(std::move(desc)) {
  owner_ = allocate(desc_.type, reach(desc_));
  data_ = static_cast<std::byte*>(owner_.get());
}

Tensor::Tensor(TensorDesc desc, std::byte* data, std::shared_ptr<void> owner)
    : desc_(std::move(desc)), data_(data), owner_(std::move(owner)) {}

bool Tensor::is_contiguous() const noexcept {
  if (std::ranges::find(desc_.dims, 0) != desc_.dims.end()) return true;
  int64_t expected = 1;
  for (std::size_t i = desc_.dims.size(); i-- > 0;) {
    if (desc_.dims[i] != 1 && desc_.strides[i] != expected) return false;
    expected *= desc_.dims[i];
  }
  return true;
}

Tensor Tensor::view(Dims dims, Dims strides, int64_t offset) const {
  const std::size_t size = desc_.type == DataType::string ? sizeof(std::string) : memory_size(desc_.type);
  return {TensorDesc{desc_.type, std::move(dims), std::move(strides)}, data_ + offset * static_cast<int64_t>(size), owner_};
}

Tensor Tensor::transposed(std::span<const int64_t> permutation) const {
  Dims dims, strides;
  for (const int64_t from : permutation) {
    dims.push_back(desc_.dims[as_size(from)]);
    strides.push_back(desc_.strides[as_size(from)]);
  }
  return view(std::move(dims), std::move(strides));
}

Tensor contiguous(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  Tensor out(tensor.type(), tensor.dims());
  if (tensor.type() == DataType::string) {
    copy_strided<std::string>(tensor, out);
    return out;
  }
  switch (memory_size(tensor.type())) {
    case 1:
      copy_strided<uint8_t>(tensor, out);
      break;
    case 2:
      copy_strided<uint16_t>(tensor, out);
      break;
    case 4:
      copy_strided<uint32_t>(tensor, out);
      break;
    case 8:
      copy_strided<Complex64>(tensor, out);
      break;
    default:
      copy_strided<Complex128>(tensor, out);
      break;
  }
  return out;
}

DatumInfo info_of(const Datum& datum) {
  DatumInfo info;
  info.kind = datum.kind;
  if (datum.kind == Datum::Kind::tensor) {
    info.type = datum.tensor.type();
    info.dims = datum.tensor.dims();
    info.value = &datum.tensor;
    return info;
  }
  for (const Datum& element : datum.elements) info.elements.push_back(info_of(element));
  if (!info.elements.empty()) info.type = (datum.kind == Datum::Kind::map ? info.elements.back() : info.elements.front()).type;
  return info;
}

}  // namespace relayout

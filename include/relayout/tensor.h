#pragma once

#include <cstddef>
#include <memory>

#include "relayout/types.h"

namespace relayout {

/// Shape of a tensor in memory: `strides` are in elements and may be 0 (broadcast) or negative.
struct TensorDesc {
  DataType type = DataType::undefined;
  Dims dims;
  Dims strides;
  bool operator==(const TensorDesc&) const = default;
};

/// Bytes of one element in memory: string 0 (see Tensor), 4-bit and smaller types 1 (kept unpacked, sign-extended), complex 8 or 16.
[[nodiscard]] std::size_t memory_size(DataType type) noexcept;

/// A tensor at run time: dtype, logical dims, strides and shared ownership of storage. Strides alone define the layout.
/// Copying a Tensor copies the handle: both refer to the same elements.
/// 4-bit types hold one element per byte; strings are std::string objects.
class Tensor {
 public:
  /// No tensor: `!tensor` holds.
  Tensor() = default;
  /// New storage (64-byte aligned, uninitialised; strings empty), contiguous.
  Tensor(DataType type, Dims dims);
  /// New storage of exactly the size that `desc` spans. Strides must not be negative.
  explicit Tensor(TensorDesc desc);
  /// Refers to external memory, which `owner` keeps alive; with a null `owner`, the caller must. `data` is the address of element [0, 0,
  /// …].
  Tensor(TensorDesc desc, std::byte* data, std::shared_ptr<void> owner);

  explicit operator bool() const noexcept { return desc_.type != DataType::undefined; }
  [[nodiscard]] DataType type() const noexcept { return desc_.type; }
  [[nodiscard]] const Dims& dims() const noexcept { return desc_.dims; }
  [[nodiscard]] const Dims& strides() const noexcept { return desc_.strides; }
  [[nodiscard]] const TensorDesc& desc() const noexcept { return desc_; }
  [[nodiscard]] int64_t rank() const noexcept { return static_cast<int64_t>(desc_.dims.size()); }
  [[nodiscard]] int64_t element_count() const { return relayout::element_count(desc_.dims); }
  /// Whether elements are stored in row-major order without gaps; strides of dims of size 1 do not matter.
  [[nodiscard]] bool is_contiguous() const noexcept;

  [[nodiscard]] std::byte* bytes() const noexcept { return data_; }
  /// Address of element [0, 0, …]; T must be the storage type of type().
  template <class T>
  [[nodiscard]] T* data() const noexcept {
    return reinterpret_cast<T*>(data_);
  }
  /// A view of the same storage with other dims and strides, starting `offset` elements further.
  [[nodiscard]] Tensor view(Dims dims, Dims strides, int64_t offset = 0) const;
  /// A view of the same elements with permuted dims: result dim i is dim `permutation[i]` of this tensor.
  [[nodiscard]] Tensor transposed(std::span<const int64_t> permutation) const;
  /// The owner of the storage; may be null.
  [[nodiscard]] const std::shared_ptr<void>& owner() const noexcept { return owner_; }

 private:
  TensorDesc desc_;
  std::byte* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

/// A contiguous copy, or the tensor itself when it is contiguous already.
[[nodiscard]] Tensor contiguous(const Tensor& tensor);

}  // namespace relayout

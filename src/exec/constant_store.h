#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/arena.h"
#include "exec/primitives.h"
#include "ops/constants.h"
#include "relayout/graph.h"

namespace relayout::exec {

/// Elements of a constant: in a file until they are loaded, perhaps viewed through Transposes.
class KnownConstant {
 public:
  /// A computed constant.
  explicit KnownConstant(Tensor tensor) : type_(tensor.type()), dims_(tensor.dims()), tensor_(std::move(tensor)) {}
  /// Contents of `leaf`, an initializer or the output of a Constant.
  KnownConstant(const Value& leaf, TensorData data) : leaf_(&leaf), type_(data.type()), dims_(data.dims()), data_(std::move(data)) {}

  [[nodiscard]] DataType type() const noexcept { return type_; }
  [[nodiscard]] const Dims& dims() const noexcept { return dims_; }
  [[nodiscard]] int64_t element_count() const { return relayout::element_count(dims_); }
  /// The initializer or Constant that it is a view of; null for a computed constant.
  [[nodiscard]] const Value* leaf() const noexcept { return leaf_; }
  [[nodiscard]] const Dims& permutation() const noexcept { return permutation_; }  ///< of the leaf's dims; empty: none
  /// Whether the elements are still in the file, in the order of the dims.
  [[nodiscard]] bool is_stored_in_order() const {
    return leaf_ != nullptr && !tensor_ && permutation_.empty() && data_->permutation().empty();
  }
  [[nodiscard]] bool is_loaded() const noexcept { return static_cast<bool>(tensor_); }
  /// The loaded elements; an empty tensor (false) before.
  [[nodiscard]] const Tensor& tensor() const noexcept { return tensor_; }
  /// Releases loaded elements that can be read again.
  void release() {
    if (leaf_ != nullptr) tensor_ = Tensor();
  }
  /// The same constant with dims permuted; moves no elements.
  [[nodiscard]] std::shared_ptr<KnownConstant> transposed(const Dims& permutation) const;

 private:
  friend class ConstantStore;
  const Value* leaf_ = nullptr;
  DataType type_;
  Dims dims_;
  Dims permutation_;
  std::optional<TensorData> data_;
  Tensor tensor_;
};

/// The constants of a program and the packed forms that its plans share.
class ConstantStore {
 public:
  using Edit = std::function<void(const std::string& name, Tensor& tensor)>;
  explicit ConstantStore(Edit edit) : edit_(std::move(edit)) {}

  /// The contents of an initializer or of the output of a Constant; null for anything else.
  [[nodiscard]] std::shared_ptr<KnownConstant> find_leaf(const Value& value);
  /// Result of a ConstantOfShape, to be edited as if it were stored.
  void edit(const std::string& name, Tensor& tensor) const {
    if (edit_) edit_(name, tensor);
  }
  /// Elements, with the strides of the file (a Transpose is a view). Not kept.
  [[nodiscard]] Tensor read(const KnownConstant& constant) const;
  /// Elements, kept in `constant`.
  const Tensor& load(KnownConstant& constant) const;

  /// Key of the contents for share(): equal keys mean equal elements in equal order.
  [[nodiscard]] std::string key_of(const KnownConstant& constant);
  /// Bytes that plans share as long as one of them lives. `key` identifies them; `make` computes them when no plan has them.
  struct Packed {
    std::shared_ptr<void> memory;
    int64_t bytes = 0;
  };
  [[nodiscard]] Packed share(const std::string& key, int64_t bytes, const std::function<void(std::byte*)>& make);

 private:
  /// Separate memory, or a place in a slab, which lives as long as something in it.
  [[nodiscard]] std::shared_ptr<std::byte> allocate(int64_t bytes);

  Edit edit_;
  Constants constants_;
  std::unordered_map<std::string, std::weak_ptr<void>> packed_;
  std::shared_ptr<ArenaMemory> slab_;  ///< holds small packed constants, one after the other
  int64_t slab_used_ = 0;              ///< bytes
  uint64_t next_key_ = 0;              ///< of computed constants, which are never taken for equal
};

}  // namespace relayout::exec

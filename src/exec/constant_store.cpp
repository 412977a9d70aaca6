// Keeps the constants of a running model: reads them when first needed and packs them once for all plans.
#include "exec/constant_store.h"

#include "base/machine.h"
#include "base/positions.h"
#include "exec/arena.h"
#include "model/node.h"
#include "model/origin.h"
#include "model/tensor_data.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// The elements as stored; permuted ones as a view of the bytes in the file.
Tensor load_as_stored(const TensorData& data) {
  if (!data.scales().empty() || data.permutation().empty() || data.type() != data.source_type()) return data.load();
  return TensorData(data.type(), data.source_dims(), data.source()).load().transposed(data.permutation());
}

}  // namespace

std::shared_ptr<KnownConstant> KnownConstant::transposed(const Dims& permutation) const {
  auto out = std::make_shared<KnownConstant>(*this);
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    const auto from = as_size(permutation[i]);
    out->dims_[i] = dims_[from];
    out->permutation_.resize(permutation.size());
    out->permutation_[i] = permutation_.empty() ? permutation[i] : permutation_[from];
  }
  if (tensor_) out->tensor_ = tensor_.transposed(permutation);
  return out;
}

std::shared_ptr<KnownConstant> ConstantStore::find_leaf(const Value& value) {
  if (const Initializer* const initializer = value.initializer()) {
    if (initializer->data) return std::make_shared<KnownConstant>(value, *initializer->data);
    std::optional<Tensor> tensor;
    if (initializer->sparse != nullptr) {
      tensor = constants_.value(value);
      if (tensor && edit_) {
        tensor = contiguous(*tensor);
        edit_(value.name(), *tensor);
      }
    } else if (initializer->message != nullptr) {
      tensor = load_tensor(value.graph().model(), *initializer->message);
    }
    return tensor ? std::make_shared<KnownConstant>(*tensor) : nullptr;
  }
  const Node* const producer = value.producer();
  if (producer == nullptr || !producer->is("Constant")) return nullptr;
  if (producer->constant_data() != nullptr) return std::make_shared<KnownConstant>(value, *producer->constant_data());
  if (producer->attribute("value") == nullptr) return nullptr;
  const onnx::TensorProto* const message = Attributes(*producer).tensor("value");
  const Model& model = value.graph().model();
  if (message->data_type() == onnx::TensorProto::STRING) return std::make_shared<KnownConstant>(load_tensor(model, *message));
  return std::make_shared<KnownConstant>(value, tensor_data(model, *message));
}

Tensor ConstantStore::read(const KnownConstant& constant) const {
  if (constant.tensor_) return constant.tensor_;
  Tensor tensor = load_as_stored(*constant.data_);
  if (edit_ && constant.leaf_ != nullptr) {
    tensor = contiguous(tensor);
    edit_(constant.leaf_->name(), tensor);
  }
  return constant.permutation_.empty() ? tensor : tensor.transposed(constant.permutation_);
}

const Tensor& ConstantStore::load(KnownConstant& constant) const {
  if (!constant.tensor_) constant.tensor_ = read(constant);
  return constant.tensor_;
}

std::string ConstantStore::key_of(const KnownConstant& constant) {
  if (constant.leaf_ == nullptr) return "computed " + std::to_string(next_key_++) + " ";
  return std::to_string(reinterpret_cast<uintptr_t>(constant.leaf_)) + to_string(constant.permutation_);
}

ConstantStore::Packed ConstantStore::share(const std::string& key, int64_t bytes, const std::function<void(std::byte*)>& make) {
  std::weak_ptr<void>& known = packed_[key];
  if (std::shared_ptr<void> memory = known.lock()) return {std::move(memory), bytes};
  const std::shared_ptr<std::byte> memory = allocate(bytes);
  make(memory.get());
  known = memory;
  return {memory, bytes};
}

std::shared_ptr<std::byte> ConstantStore::allocate(int64_t bytes) {
  constexpr int64_t kSlab = 4 << 20, kOwn = kSlab / 4;
  const auto part = [](const std::shared_ptr<ArenaMemory>& memory, int64_t offset) {
    return std::shared_ptr<std::byte>(memory, memory->data() + offset);
  };
  if (bytes >= kOwn) return part(std::make_shared<ArenaMemory>(bytes), 0);
  if (!slab_ || slab_used_ + bytes > kSlab) {
    slab_ = std::make_shared<ArenaMemory>(kSlab);
    slab_used_ = 0;
  }
  auto out = part(slab_, slab_used_);
  slab_used_ += whole_lines(bytes);
  return out;
}

}  // namespace relayout::exec

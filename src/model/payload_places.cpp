// Whether the payload of each tensor goes into the model file or a data file, stays there or moves (`--external-data auto`, `always`,
// `never`, its threshold), and the data file's layout: offsets in steps of 4096 bytes.
#include "model/payload_places.h"

#include <tuple>

#include "model/bytes.h"
#include "model/tensor_data.h"
#include "relayout/data_file.h"

namespace relayout {
namespace {

/// Alignment in the data file: ONNX recommends offsets of external data that can be mapped.
constexpr int64_t kPageBytes = 4096;

}  // namespace

bool PayloadPlaces::moves_unchanged() const noexcept {
  switch (policy_.mode) {
    case ExternalData::always:
      return true;
    case ExternalData::never:
      return policy_.came_external;
    case ExternalData::automatic:
      return policy_.came_external && !policy_.keep_references;
  }
  return true;
}

PayloadPlaces::Place PayloadPlaces::place(const Tensor& tensor) const {
  const bool unchanged = !tensor.changed && !tensor.is_new;
  if (policy_.mode == ExternalData::never) return unchanged && !tensor.external ? Place::as_is : Place::inside;
  if (unchanged && tensor.external && policy_.keep_references) return Place::as_is;
  const bool large = tensor.bytes >= policy_.threshold;
  const bool wanted = policy_.mode == ExternalData::always || (tensor.is_new && policy_.came_external);
  const bool outside = (wanted && large && !tensor.in_attribute) || (policy_.mode == ExternalData::automatic && tensor.external) ||
                       (tensor.external && tensor.in_attribute);
  if (outside && tensor.bytes > 0) return Place::outside;
  return unchanged && !tensor.external ? Place::as_is : Place::inside;
}

PayloadPlaces::Reference PayloadPlaces::add(const TensorData& data) {
  static const Bytes kZeros = Bytes::owned(std::string(kPageBytes, '\0'));
  const Bytes& source = data.source();
  const bool stored = data.is_plain() && source.file() != nullptr;
  const auto key = std::make_tuple(source.file().get(), source.file_offset(), source.size());
  if (stored) {
    const auto found = known_.find(key);
    if (found != known_.end()) return {policy_.location, found->second, source.size()};
  }
  if (const int64_t over = data_.size() % kPageBytes; over != 0) data_.bytes(kZeros.part(0, kPageBytes - over));
  const int64_t offset = data_.size();
  if (stored) known_.emplace(key, offset);
  data_.tensor(data);
  return {policy_.location, offset, data.byte_size()};
}

}  // namespace relayout

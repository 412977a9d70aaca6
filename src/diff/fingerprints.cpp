// Hashes nodes with the graphs around them, to find the same node under any name.

#include "base/hash.h"
#include "base/positions.h"
#include "diff/matching.h"
#include "model/tensor_data.h"
#include "ops/op.h"
#include "proof/linear.h"
#include "proof/side.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr int64_t kSample = 1024;  ///< hashed bytes at either end of a constant

uint64_t mix(uint64_t seed, uint64_t value) noexcept {
  return relayout::mix((seed + 1) * kGoldenRatio + value);
}

uint64_t hash_of(std::string_view text) noexcept {
  return std::hash<std::string_view>()(text);
}

uint64_t hash_of(std::span<const int64_t> numbers) noexcept {
  uint64_t out = 17;
  for (const int64_t number : numbers) out = mix(out, static_cast<uint64_t>(number));
  return out;
}

/// Covers everything except the contents of tensors and graphs, independent of order and encoding.
uint64_t hash_of(const onnx::AttributeProto& attribute) {
  uint64_t out = mix(hash_of(attribute.name()), static_cast<uint64_t>(attribute.type()));
  out = mix(out, static_cast<uint64_t>(attribute.i()));
  out = mix(out, std::hash<float>()(attribute.f()));
  out = mix(out, hash_of(attribute.s()));
  for (const int64_t value : attribute.ints()) out = mix(out, static_cast<uint64_t>(value));
  for (const float value : attribute.floats()) out = mix(out, std::hash<float>()(value));
  for (const std::string& value : attribute.strings()) out = mix(out, hash_of(value));
  if (attribute.has_t()) out = mix(out, hash_of({attribute.t().dims().data(), as_size(attribute.t().dims_size())}));
  return out;
}

uint64_t hash_of_head(const Node& node) {
  uint64_t attributes = 0;
  for (const auto& attribute : node.message().attribute()) attributes += hash_of(attribute);
  return mix(mix(hash_of(node.op_type()), hash_of(node.domain())), attributes);
}

uint64_t hash_of_sample(const TensorData& data) {
  const int64_t size = data.source().size();
  std::array<std::byte, kSample> piece{};
  const auto part = [&](int64_t begin) {
    const auto bytes = std::span(piece).first(as_size(std::min(kSample, size - begin)));
    data.source().read(begin, bytes);
    return hash_of(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  };
  return mix(part(0), size > kSample ? part(size - std::min(kSample, size - kSample)) : 0);
}

/// Whether a value is stored, or a chain of views of a stored one.
bool is_constant(const Value& value) noexcept {
  return value.is_stored_constant() || (value.producer() != nullptr && is_constant_node(*value.producer()));
}

/// Computes one of the two kinds of fingerprints.
class Hasher {
 public:
  Hasher(const proof::Side& side, bool is_canonical) : side_(&side), is_canonical_(is_canonical) {}

  std::vector<Fingerprint> run() {
    prints_.resize(side_->nodes().size());
    for (std::size_t i = 0; i < prints_.size(); ++i) {
      const Node& node = *side_->nodes()[i];
      prints_[i].own = own_of(node);
      prints_[i].up = up_of(node, prints_[i].own);
    }
    for (std::size_t i = prints_.size(); i-- > 0;) prints_[i].down = down_of(*side_->nodes()[i], prints_[i].own);
    return std::move(prints_);
  }

 private:
  Fingerprint& print_of(const Node& node) { return prints_[as_size(side_->order_of(node))]; }

  [[nodiscard]] bool is_left_out(const Node& node) const { return is_canonical_ && transparent_operand(node) != nullptr; }

  /// Hashes the node itself with its constants.
  uint64_t own_of(const Node& node) {
    uint64_t out = hash_of_head(node);
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* const input = node.input(i);
      const bool is_bias = is_canonical_ && i == 2 && proof::is_linear(node);
      if (input != nullptr && is_constant(*input) && !is_bias) out = mix(out, mix(i, hash_of_constant(*input)));
    }
    return out;
  }

  uint64_t hash_of_constant(const Value& value) {
    const Node* const producer = value.producer();
    if (producer == nullptr) return hash_of_initializer(*value.initializer());
    const bool is_view = is_canonical_ && producer->is("Transpose") && producer->input(0) != nullptr;
    const Value* const stored = is_view ? producer->input(0) : nullptr;
    if (stored != nullptr && stored->initializer() != nullptr && stored->initializer()->data != nullptr) {
      return hash_of(permuted(stored->initializer()->data->dims(), proof::written_permutation(*producer, nullptr)));
    }
    return is_canonical_ ? 3 : mix(hash_of_head(*producer), 3);
  }

  static Dims permuted(const Dims& dims, const std::vector<int64_t>& permutation) {
    Dims out(dims.rbegin(), dims.rend());
    for (std::size_t i = 0; i < permutation.size() && permutation.size() == dims.size(); ++i) {
      const auto from = as_size(permutation[i]);
      out[i] = from < dims.size() ? dims[from] : 0;
    }
    return out;
  }

  uint64_t hash_of_initializer(const Initializer& initializer) {
    if (initializer.data == nullptr) return 5;
    if (is_canonical_) return hash_of(initializer.data->dims());
    const auto [known, is_new] = samples_.try_emplace(&initializer);
    if (is_new) known->second = fingerprint_of(*initializer.data);
    return known->second;
  }

  uint64_t up_of(const Node& node, uint64_t own) {
    if (is_left_out(node)) return up_of(*transparent_operand(node));
    uint64_t out = own;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* const input = node.input(i);
      if (input != nullptr && !is_constant(*input)) out = mix(out, mix(i, up_of(*input)));
    }
    for (const auto& nested : node.subgraphs()) {
      for (const Value* output : nested->outputs()) out = mix(out, up_of(*output));
    }
    return out;
  }

  uint64_t up_of(const Value& value) {
    if (value.producer() != nullptr) {
      const uint64_t up = print_of(*value.producer()).up;
      return value.output_index() == 0 ? up : mix(up, static_cast<uint64_t>(value.output_index()));
    }
    const Node* const owner = value.graph().owner();
    return mix(owner != nullptr ? hash_of(owner->op_type()) : 7, place_among(value.graph().inputs(), value, inputs_));
  }

  /// Hashes the readers of a node's results, independent of their order.
  uint64_t down_of(const Node& node, uint64_t own) {
    uint64_t readers = 0;
    for (const Value* output : node.outputs()) {
      if (output != nullptr) readers += mix(static_cast<uint64_t>(output->output_index()), readers_of(*output));
    }
    return is_left_out(node) ? readers : mix(own, readers);
  }

  uint64_t readers_of(const Value& value) {
    uint64_t out = 0;
    for (const Use& use : value.uses()) {
      const uint64_t down = print_of(*use.node).down;
      out += is_left_out(*use.node) ? down : mix(static_cast<uint64_t>(use.index), down);
    }
    if (!value.is_own_output()) return out;
    const Node* const owner = value.graph().owner();
    return out + mix(owner != nullptr ? print_of(*owner).down : 11, place_among(value.graph().outputs(), value, outputs_));
  }

  using Places = std::unordered_map<const Value*, uint64_t>;
  /// Looks up all values of a list at once, because it may be long.
  static uint64_t place_among(const std::vector<Value*>& list, const Value& value, Places& known) {
    if (!known.contains(&value)) {
      for (std::size_t i = 0; i < list.size(); ++i) known.emplace(list[i], i);
    }
    return known[&value];
  }

  const proof::Side* side_;
  bool is_canonical_;
  std::vector<Fingerprint> prints_;
  std::unordered_map<const Initializer*, uint64_t> samples_;
  Places inputs_, outputs_;
};

}  // namespace

bool is_constant_node(const Node& node) noexcept {
  // Longer chains are rare, and no hint needs them.
  const Node* at = &node;
  for (int depth = 0; depth < 8; ++depth) {
    if (at->is("Constant")) return true;
    const bool is_view =
        at->is("Transpose") || has_trait(*at, Trait::identity) || has_trait(*at, Trait::casts) || at->is("DequantizeLinear");
    const Value* const input = is_view ? at->input(0) : nullptr;
    if (input == nullptr) return false;
    if (input->producer() == nullptr) return input->is_stored_constant();
    at = input->producer();
  }
  return false;
}

const Value* transparent_operand(const Node& node) noexcept {
  const Value* const first = node.input(0);
  if (first == nullptr || is_constant_node(node)) return nullptr;
  if (has_trait(node, Trait::identity) || has_trait(node, Trait::casts)) return first;
  if (node.is("BatchNormalization")) return is_constant(*first) ? nullptr : first;
  const Value* const second = node.input(1);
  if (!has_trait(node, Trait::affine) || node.inputs().size() != 2 || second == nullptr || is_constant(*first) == is_constant(*second))
    return nullptr;
  return is_constant(*first) ? second : first;
}

uint64_t fingerprint_of(const TensorData& data) {
  return mix(mix(hash_of(data.dims()), static_cast<uint64_t>(data.type())), hash_of_sample(data));
}

Fingerprints fingerprints_of(const proof::Side& side) {
  return {Hasher(side, false).run(), Hasher(side, true).run()};
}

}  // namespace relayout

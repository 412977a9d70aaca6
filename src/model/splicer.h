// Declares what assembles the model file to be written from copies and changed parts.

#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "model/origin.h"
#include "model/save.h"
#include "model/segments.h"
#include "model/wire.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::encode {

/// Parts of protobuf's encoding for messages that are re-encoded.

inline constexpr uint32_t kVarint = 0, kBytes = 2;

/// Appends the number as a varint of at least `width` bytes (padded).
void number(std::string& out, uint64_t value, std::size_t width = 1);
void tag(std::string& out, uint32_t field, uint32_t wire_type);
/// Header of a length-delimited field.
[[nodiscard]] std::string header(uint32_t field, int64_t length);
/// Header of a field in the form of an item of the file: its tag, and the width of its length if that was padded.
[[nodiscard]] std::string header_like(wire::Reader& file, const wire::Item& item, int64_t length);

/// The bytes of an item, header included.
[[nodiscard]] inline std::string item_bytes(wire::Reader& file, const wire::Item& item) {
  return file.bytes(item.start, item.end);
}
/// Removes the walk's markers from the unknown fields of a message.
void unmark(google::protobuf::UnknownFieldSet& unknown);
// Templates on the type, as protobuf's reflection takes a millisecond to initialize.
/// Removes the walk's markers from a message (not from messages inside it).
template <class Message>
void unmark(Message& message) {
  if (!message.unknown_fields().empty()) unmark(*message.mutable_unknown_fields());
}
/// The message in protobuf's encoding, without the walk's markers on it.
template <class Message>
[[nodiscard]] std::string serialized(const Message& message) {
  if (message.unknown_fields().empty()) return message.SerializePartialAsString();
  Message copy = message;
  unmark(copy);
  return copy.SerializePartialAsString();
}
/// Encoding of the fields in a range of numbers; with `last` = kLastField, of unknown fields, too. For messages whose large parts are
/// written separately.
inline constexpr int kLastField = 536870911;
[[nodiscard]] std::string serialized_fields(const google::protobuf::Message& message, int first, int last);
/// Parses the payload of an item; false if it is not a message of this type.
[[nodiscard]] bool parse_item(wire::Reader& file, const wire::Item& item, google::protobuf::Message& out);
/// Whether the payload of a length-delimited item is equal to `message` after parsing.
template <class Message>
[[nodiscard]] bool is_same(wire::Reader& file, const wire::Item& item, const Message& message) {
  Message original;
  if (!parse_item(file, item, original)) return false;
  if (message.unknown_fields().empty() && original.ByteSizeLong() != message.ByteSizeLong()) return false;
  return serialized(original) == serialized(message);
}

}  // namespace relayout::encode

namespace relayout {

/// Merges the current elements of a repeated field with its items in the file: decides their order in the saved file. Elements from the
/// file keep their places, new elements come before the next element from the file, and deleted ones are dropped. If elements changed
/// order, all are at the place of the first item.
class MergeList {
 public:
  /// `numbers`: for each current element, the number of its item in the file, or -1 for a new element.
  explicit MergeList(std::vector<int64_t> numbers, std::size_t item_count) : numbers_(std::move(numbers)), survives_(item_count, 0) {
    for (const int64_t number : numbers_) {
      if (number < 0) continue;
      reordered_ |= number < last_survivor_;
      last_survivor_ = std::max(last_survivor_, number);
      survives_[as_size(number)] = 1;
    }
  }

  /// Calls write(element) for every element to be written at the place of the field's next item.
  template <class Write>
  void at_next_item(const Write& write) {
    const int64_t item = next_item_++;
    if (reordered_ || last_survivor_ < 0) return at_end(write);
    if (survives_[as_size(item)] == 0) return;
    while (next_ < numbers_.size()) {
      const std::size_t element = next_++;
      write(element);
      if (numbers_[element] == item) break;
    }
    if (item == last_survivor_) at_end(write);
  }
  /// Calls write(element) for every remaining element.
  template <class Write>
  void at_end(const Write& write) {
    while (next_ < numbers_.size()) write(next_++);
  }
  [[nodiscard]] int64_t number(std::size_t element) const { return numbers_[element]; }

 private:
  std::vector<int64_t> numbers_;
  std::vector<char> survives_;
  int64_t last_survivor_ = -1, next_item_ = 0;
  std::size_t next_ = 0;
  bool reordered_ = false;
};

/// A tensor to be written: its current message (name, dims, type) without payload, and its current contents.
struct TensorState {
  const onnx::TensorProto* message = nullptr;
  const TensorData* data = nullptr;  ///< null: contents in the message (strings; tensors of attributes)
  bool is_new = false;               ///< added by a pass
  bool in_attribute = false;         ///< in an attribute or a sparse tensor: not an initializer
};

/// Writes tensors of one model: those in the file by patching their items, others from their message.
class TensorSplicer {
 public:
  TensorSplicer(const ModelOrigin& origin, wire::Reader& window, PayloadPlaces& store) : origin_(origin), window_(window), store_(store) {}

  /// A tensor in the file: dims, name and payload are substituted in place, everything else is copied.
  [[nodiscard]] Segments patched(std::span<const wire::Item> items, const TensorState& tensor) const;
  /// The whole message, newly encoded.
  [[nodiscard]] Segments anew(const TensorState& tensor) const;
  /// The tensor of an attribute at `item`; `data`: its new contents, or null.
  [[nodiscard]] Segments in_attribute(const onnx::TensorProto& tensor, const wire::Item& item, const TensorData* data) const;
  /// A sparse tensor, newly encoded.
  [[nodiscard]] Segments sparse(const onnx::SparseTensorProto& tensor) const;

 private:
  class Patch;
  const ModelOrigin& origin_;
  wire::Reader& window_;
  PayloadPlaces& store_;
};

/// Writes the description and the metadata of a message, where some were removed.
template <class Message>
class OwnAnnotations {
 public:
  OwnAnnotations(const Message& message, std::span<const wire::Item> items) : message_(message) {
    const auto is_entry = [](const wire::Item& item) { return item.is(Message::kMetadataPropsFieldNumber); };
    is_changed_ = std::ranges::count_if(items, is_entry) != message.metadata_props_size();
  }
  /// Whether the item is not to be copied; what stands for it is written.
  bool put(Segments& out, const wire::Item& item) {
    if (item.is(Message::kDocStringFieldNumber)) return !message_.has_doc_string();
    if (!item.is(Message::kMetadataPropsFieldNumber) || !is_changed_) return false;
    if (std::exchange(is_done_, true)) return true;
    Message entries;
    *entries.mutable_metadata_props() = message_.metadata_props();
    out.literal(encode::serialized(entries));
    return true;
  }

 private:
  const Message& message_;
  bool is_changed_ = false, is_done_ = false;
};

/// Traverses a model together with its wire items, and writes changed parts around copies of unchanged parts (bodies in splice.cpp,
/// splice_graph.cpp and splice_tensor.cpp).
class Splicer {
 public:
  Splicer(const Model& model, PayloadPlaces& store)
      : model_(model),
        origin_(origin_of(model)),
        window_(*origin_.file),
        tensors_(origin_, window_, store),
        moves_(store.moves_unchanged()) {}

  Segments model();

 private:
  using Item = wire::Item;
  using Items = std::span<const Item>;
  struct List;
  class GraphLists;

  Segments graph(const Graph& graph);
  Segments graph_anew(const Graph& graph);
  Segments function(const Graph& function);

  // Each writes one element, in place of `item` or as a new one (null).
  void node(Segments& out, int field, const Node& node, const Item* item);
  void port(Segments& out, const Graph& graph, int field, const onnx::ValueInfoProto& info, const Item* item);
  /// `number`: number of the item.
  void initializer(Segments& out, const Initializer& initializer, const Item* item, int64_t number);
  void sparse_initializer(Segments& out, const Initializer& initializer, const Item* item);

  Segments node_by_items(const Node& node, Items items);
  Segments node_anew(const Node& node);
  [[nodiscard]] bool owns_same_fields(const onnx::NodeProto& message, Items items);
  Segments attribute_by_items(const onnx::AttributeProto& attribute, Items items, const Node* node);
  Segments attribute_anew(const onnx::AttributeProto& attribute, const Node& node);

  [[nodiscard]] bool touched(const Graph& graph) const { return moves_ || graph.modified(); }
  void copy(Segments& out, const Item& item) const { out.copy(origin_.file, item.start, item.end); }
  /// Writes a message in place of `item`, with its form of header (or as a copy, if the bytes are the same), or as a new one (null).
  void put(Segments& out, int field, const Item* item, Segments&& body);

  const Model& model_;
  const ModelOrigin& origin_;
  wire::Reader window_;  ///< reads headers and small messages of the file
  TensorSplicer tensors_;
  bool moves_;  ///< whether payloads of unchanged tensors may move
};

class Model;

/// The model file to be written. Unchanged wire items are copied from the original file; changed items are re-encoded around their
/// unchanged parts. Payloads to be stored outside are passed to `store`. An unchanged model is a single copy of its file.
[[nodiscard]] Segments splice(const Model& model, PayloadPlaces& store);

}  // namespace relayout

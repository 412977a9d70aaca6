// Walks over the encoding of a model file, leaves large payloads in place, and builds the skeleton without them.
#include "model/wire.h"

#include <unordered_map>

#include "base/file.h"
#include "base/positions.h"
#include "relayout/error.h"

namespace relayout::wire {
namespace {

constexpr int kElideThreshold = 256;  ///< bytes of a payload that stays in place

/// Field numbers with special treatment in the walk: of GraphProto, and of TensorProto.
constexpr uint32_t kNode = 1;
constexpr uint32_t kFloatData = 4, kRawData = 9, kDoubleData = 10, kDataLocation = 14;
constexpr uint64_t kLocationExternal = 1;

/// The kind of message in `field` of a message of kind `parent` (numbers from onnx.proto); `other` is not descended into.
Kind child_kind(Kind parent, uint32_t field) {
  switch (parent) {
    case Kind::model:
      return field == 7 ? Kind::graph : field == 20 ? Kind::training_info : field == 25 ? Kind::function : Kind::other;
    case Kind::graph:
      return field == 1 ? Kind::node : field == 5 ? Kind::tensor : field == 15 ? Kind::sparse_tensor : Kind::other;
    case Kind::node:
      return field == 5 ? Kind::attribute : Kind::other;
    case Kind::attribute:
      if (field == 5 || field == 10) return Kind::tensor;
      if (field == 6 || field == 11) return Kind::graph;
      return field == 22 || field == 23 ? Kind::sparse_tensor : Kind::other;
    case Kind::sparse_tensor:
      return field == 1 || field == 2 ? Kind::tensor : Kind::other;
    case Kind::function:
      return field == 7 ? Kind::node : field == 11 ? Kind::attribute : Kind::other;
    case Kind::training_info:
      return field == 1 || field == 2 ? Kind::graph : Kind::other;
    default:
      return Kind::other;
  }
}

/// Whether protobuf merges several occurrences of this message field into one message.
bool is_singular(Kind parent, uint32_t field) {
  switch (parent) {
    case Kind::model:
      return field == 7;
    case Kind::attribute:
      return field == 5 || field == 6 || field == 22;
    case Kind::sparse_tensor:
    case Kind::training_info:
      return true;
    default:
      return false;
  }
}

bool is_marker(uint32_t field) {
  return field == kMarkerField || field == kElidedField;
}

/// The context of a message, which decides whether it is recorded.
struct Place {
  int level = 0;             ///< depth of subgraphs
  bool record = true;        ///< not in training_info, which is copied whole
  bool initializer = false;  ///< a tensor among a graph's initializers
};

/// The result of walking a message.
struct Outcome {
  int number = -1;      ///< in Walk::messages, when recorded
  bool elided = false;  ///< a payload in it, or in a message inside it, was left out
};

/// Whether protobuf alone cannot merge it with a further piece.
bool is_apart(const Outcome& outcome) {
  return outcome.elided || outcome.number >= 0;
}

/// Outcomes of the first occurrences of a message's singular message fields.
class Singles {
 public:
  /// The first outcome of `field`, or null at its first occurrence, whose outcome `note` then records.
  [[nodiscard]] Outcome* find(uint32_t field) {
    for (Entry& entry : entries_) {
      if (entry.field == field) return &entry.outcome;
    }
    return nullptr;
  }
  void note(uint32_t field, Outcome outcome) { *std::ranges::find(entries_, 0U, &Entry::field) = {field, outcome}; }

 private:
  struct Entry {
    uint32_t field = 0;
    Outcome outcome;
  };
  std::array<Entry, 3> entries_;  // an attribute has three such fields
};

/// The fields of a tensor so far that hold its payload.
struct PayloadFields {
  std::optional<Elided> raw, typed;
  std::array<int, 2> typed_pieces{};  ///< occurrences of float_data, double_data
  bool external = false;
};

void put_varint(std::string& skeleton, uint64_t value) {
  constexpr std::size_t kMostBytes = 10;
  std::array<char, kMostBytes> bytes{};
  std::size_t count = 0;
  for (; value >= 0x80; value >>= 7U) bytes[count++] = static_cast<char>(value | 0x80U);
  bytes[count++] = static_cast<char>(value);
  skeleton.append(bytes.data(), count);
}

void put_tag(std::string& skeleton, uint32_t field, WireType type) {
  put_varint(skeleton, static_cast<uint64_t>(field) << 3U | static_cast<uint64_t>(type));
}

void put_marker(std::string& skeleton, int field, std::size_t number) {
  put_tag(skeleton, static_cast<uint32_t>(field), WireType::varint);
  put_varint(skeleton, number);
}

class Walker {
 public:
  Walker(Reader& in, int64_t size) : in_(in), size_(size) {}

  Walk run() {
    // Unused reserved memory is never touched.
    constexpr int64_t kMostReserved = int64_t{64} << 20;
    for (std::string* const bytes : {&out_.skeleton, &out_.initializers, &out_.nodes})
      bytes->reserve(as_size(std::min(size_, kMostReserved)));
    message(Kind::model, size_, {}, -1);
    for (auto& [number, items] : later_pieces_) append_later_pieces(out_.messages[as_size(number)], items);
    out_.items.shrink_to_fit();
    return std::move(out_);
  }

  std::vector<Item> items_of_tensor(int64_t begin, int64_t end) {
    PayloadFields state;
    in_.seek(begin);
    if (!tensor_fields(end, {}, true, state)) {
      in_.seek(begin);
      items_.clear();
      tensor_fields(end, {}, false, state);
    }
    return std::move(items_);
  }

 private:
  Outcome message(Kind kind, int64_t end, Place place, int existing);
  template <class OnBytes, class OnScalar>
  bool fields(int64_t end, bool recorded, std::size_t first, const OnBytes& on_bytes, const OnScalar& on_scalar);
  Outcome child(Kind parent, uint32_t field, int64_t end, Place place, Singles& singles);
  Outcome descend(Kind kind, uint32_t field, int64_t end, Place place, int existing);
  Outcome main_initializer(int64_t end, Place place);
  Outcome main_node(int64_t end, Place place);
  Outcome tensor(int64_t end, Place place);
  /// False when the payload is found to be in several pieces, which only a walk without eliding can join.
  bool tensor_fields(int64_t end, Place place, bool elide, PayloadFields& state);
  bool tensor_bytes(uint32_t field, int64_t start, int64_t end, bool elide, PayloadFields& state);

  void skip_value(WireType type, int64_t end);
  void copy_scalar(Tag tag, int64_t start, int64_t end);
  void copy_bytes(uint32_t field, int64_t start, int64_t end);
  void copy_group(uint32_t field, int64_t start, int64_t end);
  int record(Kind kind, std::size_t first, int existing);
  void append_later_pieces(Message& graph, const std::vector<Item>& items);
  void push_item(std::size_t first, Item item);

  /// Refuses a skeleton that `more` bytes would make too large for protobuf.
  void check_skeleton(int64_t more) const;

  Reader& in_;
  int64_t size_;
  Walk out_;
  std::vector<Item> items_;                                  ///< items of all open messages, outer messages first
  std::unordered_map<int, std::vector<Item>> later_pieces_;  ///< items of further pieces of graphs, by number
};

void Walker::check_skeleton(int64_t more) const {
  if (more > kLargestMessage - static_cast<int64_t>(out_.skeleton.size())) fail_large_skeleton();
}

/// Adds an item to the message whose items begin at `first`. Adjacent scalars of one field are joined, as a tensor of unpacked elements has
/// millions.
void Walker::push_item(std::size_t first, Item item) {
  const bool joins = item.is_scalar() && items_.size() > first && items_.back().field == item.field && items_.back().type == item.type;
  if (joins && items_.back().end == item.start) {
    items_.back().end = item.end;
  } else {
    items_.push_back(item);
  }
}

int Walker::record(Kind kind, std::size_t first, int existing) {
  const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(first);
  if (existing >= 0) {
    ++out_.messages[as_size(existing)].pieces;
    std::vector<Item>& later = later_pieces_[existing];
    later.insert(later.end(), begin, items_.end());
    return existing;
  }
  out_.messages.push_back({kind, 1, out_.items.size(), items_.size() - first});
  out_.items.insert(out_.items.end(), begin, items_.end());
  put_marker(out_.skeleton, kMarkerField, out_.messages.size() - 1);
  return static_cast<int>(out_.messages.size()) - 1;
}

void Walker::append_later_pieces(Message& graph, const std::vector<Item>& items) {
  const std::vector<Item> earlier(out_.items.begin() + static_cast<std::ptrdiff_t>(graph.first_item),
                                  out_.items.begin() + static_cast<std::ptrdiff_t>(graph.first_item + graph.item_count));
  graph.first_item = out_.items.size();
  graph.item_count = earlier.size() + items.size();
  out_.items.insert(out_.items.end(), earlier.begin(), earlier.end());
  out_.items.insert(out_.items.end(), items.begin(), items.end());
}

/// Reads the fields of a message up to `end`. on_bytes(field, start of its tag, end of its payload) and on_scalar(tag, its start) must
/// consume the payload, and return false to stop. Recorded fields become items of the message whose items begin at `first`. Returns whether
/// no callback stopped.
template <class OnBytes, class OnScalar>
bool Walker::fields(int64_t end, bool recorded, std::size_t first, const OnBytes& on_bytes, const OnScalar& on_scalar) {
  while (in_.position() < end) {
    const int64_t start = in_.position();
    const Tag tag = in_.tag(end);
    int64_t payload = in_.position();
    if (tag.type == WireType::bytes) {
      const int64_t field_end = in_.length_end(end);
      payload = in_.position();
      if (!on_bytes(tag.field, start, field_end)) return false;
    } else if (!on_scalar(tag, start)) {
      return false;
    }
    if (recorded) push_item(first, {tag.field, static_cast<uint8_t>(payload - start), tag.type, start, in_.position()});
  }
  return true;
}

/// Copies the fields of a message up to `end` into the skeleton. A further piece of a message is added to number `existing`.
Outcome Walker::message(Kind kind, int64_t end, Place place, int existing) {
  const std::size_t first = items_.size();
  Outcome outcome;
  bool wanted = kind == Kind::model || kind == Kind::graph || kind == Kind::function;
  Singles singles;
  const auto on_bytes = [&](uint32_t field, int64_t start, int64_t field_end) {
    if (child_kind(kind, field) == Kind::other) {
      copy_bytes(field, start, field_end);
    } else {
      const Outcome inner = child(kind, field, field_end, place, singles);
      outcome.elided |= inner.elided;
      wanted |= inner.number >= 0;
    }
    return true;
  };
  fields(end, place.record, first, on_bytes, [&](Tag tag, int64_t start) {
    copy_scalar(tag, start, end);
    return true;
  });
  if (place.record && wanted) outcome.number = record(kind, first, existing);
  items_.resize(first);
  return outcome;
}

/// Walks a message field that is descended into. Merges further occurrences of a singular field, as protobuf does.
Outcome Walker::child(Kind parent, uint32_t field, int64_t end, Place place, Singles& singles) {
  const Kind kind = child_kind(parent, field);
  Place inside{place.level, place.record && parent != Kind::training_info, parent == Kind::graph && kind == Kind::tensor};
  if (kind == Kind::training_info || kind == Kind::sparse_tensor) inside.record = false;
  if (kind == Kind::graph && parent == Kind::attribute && ++inside.level > kMaxSubgraphLevels) {
    fail_nesting("graphs", kMaxSubgraphLevels);
  }
  const bool is_of_main = parent == Kind::graph && inside.record && inside.level == 0;
  if (is_of_main && kind == Kind::tensor) return main_initializer(end, inside);
  if (is_of_main && kind == Kind::node) return main_node(end, inside);
  if (!is_singular(parent, field)) return descend(kind, field, end, inside, -1);
  const int64_t start = in_.position();
  Outcome* const earlier = singles.find(field);
  const Outcome outcome = descend(kind, field, end, inside, earlier == nullptr ? -1 : earlier->number);
  if (earlier == nullptr) {
    singles.note(field, outcome);
  } else if (kind != Kind::graph && (is_apart(*earlier) || is_apart(outcome))) {
    fail(ErrorKind::unsupported, "byte " + std::to_string(start) + ": a tensor with its data elsewhere in several pieces");
  }
  return outcome;
}

/// Walks a node of the main graph, which is stored outside of the skeleton unless it is recorded.
Outcome Walker::main_node(int64_t end, Place place) {
  const std::size_t begin = out_.nodes.size();
  out_.skeleton.swap(out_.nodes);
  const Outcome outcome = message(Kind::node, end, place, -1);
  check_skeleton(0);
  out_.skeleton.swap(out_.nodes);
  if (outcome.number >= 0) {
    put_tag(out_.skeleton, kNode, WireType::bytes);
    put_varint(out_.skeleton, out_.nodes.size() - begin);
    out_.skeleton.append(out_.nodes, begin);
    check_skeleton(0);
    out_.nodes.resize(begin);
  }
  out_.main_nodes.push_back({out_.nodes.size(), outcome.number >= 0});
  return outcome;
}

Outcome Walker::descend(Kind kind, uint32_t field, int64_t end, Place place, int existing) {
  // The length is filled in last; five bytes hold any length, and protobuf accepts a padded one.
  constexpr std::size_t kLengthBytes = 5;
  put_tag(out_.skeleton, field, WireType::bytes);
  const std::size_t length_at = out_.skeleton.size();
  out_.skeleton.append(kLengthBytes, '\0');
  const Outcome outcome = kind == Kind::tensor ? tensor(end, place) : message(kind, end, place, existing);
  check_skeleton(0);
  std::size_t length = out_.skeleton.size() - length_at - kLengthBytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i, length >>= 7U) {
    out_.skeleton[length_at + i] = static_cast<char>((length & 0x7FU) | (i + 1 < kLengthBytes ? 0x80U : 0U));
  }
  return outcome;
}

/// Walks an initializer of the main graph, which is stored outside of the skeleton.
Outcome Walker::main_initializer(int64_t end, Place place) {
  out_.skeleton.swap(out_.initializers);
  const Outcome outcome = tensor(end, place);
  check_skeleton(0);
  out_.skeleton.swap(out_.initializers);
  out_.initializer_ends.push_back(out_.initializers.size());
  return outcome;
}

Outcome Walker::tensor(int64_t end, Place place) {
  const int64_t start = in_.position();
  const std::size_t first = items_.size();
  const std::size_t skeleton_size = out_.skeleton.size();
  PayloadFields state;
  if (!tensor_fields(end, place, true, state)) {
    in_.seek(start);
    items_.resize(first);
    out_.skeleton.resize(skeleton_size);
    state = {};
    tensor_fields(end, place, false, state);
  }
  if (state.raw && state.typed) in_.malformed(start, "a tensor with both raw_data and typed data");
  Outcome outcome;
  out_.has_external |= state.external;
  out_.has_hidden_external |= state.external && !place.record;
  if (const std::optional<Elided>& elided = state.raw ? state.raw : state.typed) {
    outcome.elided = true;
    out_.elided.push_back(*elided);
    put_marker(out_.skeleton, kElidedField, out_.elided.size() - 1);
  }
  if (place.record && !place.initializer && (outcome.elided || state.external)) outcome.number = record(Kind::tensor, first, -1);
  items_.resize(first);
  return outcome;
}

bool Walker::tensor_fields(int64_t end, Place place, bool elide, PayloadFields& state) {
  const auto on_scalar = [&](Tag tag, int64_t start) {
    if (tag.field == kDataLocation && tag.type == WireType::varint) {
      const int64_t payload = in_.position();
      state.external = in_.varint(end) == kLocationExternal;
      in_.seek(payload);
    }
    const bool element =
        (tag.field == kFloatData && tag.type == WireType::fixed32) || (tag.field == kDoubleData && tag.type == WireType::fixed64);
    if (element && state.typed && state.typed->field == tag.field) return false;
    if (element) ++state.typed_pieces[tag.field == kDoubleData];
    copy_scalar(tag, start, end);
    return true;
  };
  const auto on_bytes = [&](uint32_t field, int64_t start, int64_t field_end) {
    return tensor_bytes(field, start, field_end, elide, state);
  };
  return fields(end, place.record && !place.initializer, items_.size(), on_bytes, on_scalar);
}

/// Walks one length-delimited field of a tensor: elides a large payload, and copies other fields.
bool Walker::tensor_bytes(uint32_t field, int64_t start, int64_t end, bool elide, PayloadFields& state) {
  const int64_t offset = in_.position();
  const int64_t length = end - offset;
  const bool large = elide && length >= kElideThreshold;
  if (field == kRawData) {
    // The last occurrence counts. Even an empty one replaces a small one before it.
    state.raw.reset();
    if (!large) {
      copy_bytes(field, start, end);
      return true;
    }
    state.raw = {field, offset, length};
    put_tag(out_.skeleton, field, WireType::bytes);
    put_varint(out_.skeleton, 0);
    in_.seek(end);
    return true;
  }
  if (field != kFloatData && field != kDoubleData) {
    copy_bytes(field, start, end);
    return true;
  }
  const int64_t element = field == kFloatData ? 4 : 8;
  if (length % element != 0) in_.malformed(offset, "packed elements of " + std::to_string(element) + " bytes in " + std::to_string(length));
  int& pieces = state.typed_pieces[field == kDoubleData];
  if (state.typed && (state.typed->field == field || large)) return false;
  if (large && pieces > 0) return false;
  ++pieces;
  if (!large) {
    copy_bytes(field, start, end);
    return true;
  }
  state.typed = {field, offset, length};
  in_.seek(end);
  return true;
}

/// Skips the value of a field whose tag has been read; not for groups.
void Walker::skip_value(WireType type, int64_t end) {
  switch (type) {
    case WireType::varint:
      (void)in_.varint(end);
      break;
    case WireType::fixed64:
      in_.skip(8, end);
      break;
    case WireType::fixed32:
      in_.skip(4, end);
      break;
    case WireType::bytes:
      in_.seek(in_.length_end(end));
      break;
    case WireType::group_begin:
    case WireType::group_end:
      break;
  }
}

/// Copies a scalar or a group, whose tag began at `start` and has been read, unless it has a field number of the markers.
void Walker::copy_scalar(Tag tag, int64_t start, int64_t end) {
  const int64_t payload = in_.position();
  if (tag.type == WireType::group_begin) return copy_group(tag.field, payload, end);
  if (tag.type == WireType::group_end) in_.malformed(payload, "the end of a group that did not begin");
  skip_value(tag.type, end);
  if (is_marker(tag.field)) return;
  if (payload - start == 1) return in_.copy_since(start, out_.skeleton);
  put_tag(out_.skeleton, tag.field, tag.type);
  in_.copy_since(payload, out_.skeleton);
}

/// Copies a length-delimited field that is not descended into; its tag began at `start`.
void Walker::copy_bytes(uint32_t field, int64_t start, int64_t end) {
  const int64_t payload = in_.position();
  in_.seek(end);
  if (is_marker(field)) return;
  check_skeleton(end - payload);
  // A tag and a length of one byte each are not padded.
  if (payload - start == 2) return in_.copy_since(start, out_.skeleton);
  put_tag(out_.skeleton, field, WireType::bytes);
  put_varint(out_.skeleton, static_cast<uint64_t>(end - payload));
  in_.copy_since(payload, out_.skeleton);
}

void Walker::copy_group(uint32_t field, int64_t start, int64_t end) {
  std::vector<uint32_t> open{field};
  while (!open.empty()) {
    const int64_t at = in_.position();
    const Tag tag = in_.tag(end);
    if (tag.type == WireType::group_begin) open.push_back(tag.field);
    if (tag.type == WireType::group_end) {
      if (tag.field != open.back()) in_.malformed(at, "the end of a group that did not begin");
      open.pop_back();
    }
    skip_value(tag.type, end);
    if (open.size() > kMaxGroupLevels) fail_nesting("unknown groups", kMaxGroupLevels);
  }
  if (is_marker(field)) return;
  check_skeleton(in_.position() - start);
  put_tag(out_.skeleton, field, WireType::group_begin);
  in_.copy_since(start, out_.skeleton);
}

}  // namespace

Walk walk(const File& file) {
  Reader in(file);
  return Walker(in, file.size()).run();
}

std::vector<Item> items_of_tensor(Reader& in, int64_t begin, int64_t end) {
  return Walker(in, end).items_of_tensor(begin, end);
}

}  // namespace relayout::wire

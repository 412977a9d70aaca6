// Declares the insides of a model and its graphs, for the code that builds them.

#pragma once

#include <google/protobuf/arena.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "model/origin.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

/// Hash table of a graph's values, or other objects, by `name()`, which must not change while they are in the table. Open addressing with
/// the hash next to the pointer: a lookup touches one slot and the named object. A node-based map touches four places, and loading large
/// models is mostly lookups.
template <class Named>
class NameTable {
 public:
  void reserve(std::size_t names) {
    const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(names * 8 / 7 + 1, kFewest));
    if (capacity > slots_.size()) rehash(capacity);
  }

  /// The object with the name, or nullptr.
  [[nodiscard]] Named* find(std::string_view name) const noexcept { return slots_.empty() ? nullptr : slots_[place_of(name)].named; }

  /// Inserts `named` and returns nullptr, or returns the object that already has its name.
  Named* insert(Named& named) {
    if ((count_ + 1) * 8 > slots_.size() * 7) rehash(std::max(slots_.size() * 2, kFewest));
    Slot& slot = slots_[place_of(named.name())];
    if (slot.named != nullptr) return slot.named;
    slot = {hash_of(named.name()), &named};
    ++count_;
    return nullptr;
  }

  void erase(std::string_view name) noexcept {
    if (slots_.empty()) return;
    std::size_t gap = place_of(name);
    if (slots_[gap].named == nullptr) return;
    --count_;
    // Following entries without a gap move up, unless that would put an entry before its home slot.
    for (std::size_t at = next(gap); slots_[at].named != nullptr; at = next(at)) {
      const std::size_t from_home = (at - slots_[at].hash) & mask(), from_gap = (at - gap) & mask();
      if (from_home >= from_gap) slots_[std::exchange(gap, at)] = slots_[at];
    }
    slots_[gap] = {};
  }

 private:
  static constexpr std::size_t kFewest = 16;
  struct Slot {
    std::size_t hash = 0;
    Named* named = nullptr;  ///< null: free
  };

  static std::size_t hash_of(std::string_view name) noexcept { return std::hash<std::string_view>()(name); }
  [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }
  [[nodiscard]] std::size_t next(std::size_t place) const noexcept { return (place + 1) & mask(); }

  /// The slot with the name, or the free slot for it.
  [[nodiscard]] std::size_t place_of(std::string_view name) const noexcept {
    const std::size_t hash = hash_of(name);
    std::size_t place = hash & mask();
    while (slots_[place].named != nullptr && (slots_[place].hash != hash || slots_[place].named->name() != name)) place = next(place);
    return place;
  }

  void rehash(std::size_t capacity) {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(capacity));
    for (const Slot& slot : old) {
      if (slot.named == nullptr) continue;
      std::size_t place = slot.hash & mask();
      while (slots_[place].named != nullptr) place = next(place);
      slots_[place] = slot;
    }
  }

  std::vector<Slot> slots_;  ///< their number is a power of two or 0; at most seven eighths are taken
  std::size_t count_ = 0;
};

/// Storage of a Graph, and lookup of its values by name. Values and erased nodes live as long as the graph, so that pointers to them stay
/// valid.
struct Graph::Index {
  std::deque<Value> values;
  NameTable<Value> by_name;
  std::list<Node> erased_nodes;
  /// value_info and output entries of names that passes removed, for the case that a name is added again.
  std::unordered_map<std::string, const onnx::ValueInfoProto*> orphaned_infos;
  std::unordered_set<std::string> gone;   ///< names in value_info that were removed at least once
  std::unordered_set<std::string> ports;  ///< names that became inputs or outputs, which no entry of value_info describes
  std::unordered_set<const onnx::ValueInfoProto*> modified_entries;
  /// Messages that no repeated field owns: those of inserted nodes and new initializers before sync(), those of erased ones after it.
  std::vector<std::unique_ptr<onnx::NodeProto>> loose_nodes;
  std::vector<std::unique_ptr<onnx::TensorProto>> loose_tensors;
  std::vector<std::unique_ptr<onnx::SparseTensorProto>> loose_sparse_tensors;
  std::vector<std::unique_ptr<onnx::ValueInfoProto>> loose_infos;  ///< including entries of new IR-3 initializers
  bool input_gaps = false;

  /// Unshares the message of a node, copying it if other nodes share it, and returns it.
  onnx::NodeProto& own_message(Node& node) {
    if (std::exchange(node.shares_message_, false)) {
      node.message_ = loose_nodes.emplace_back(std::make_unique<onnx::NodeProto>(*node.message_)).get();
    }
    return *node.message_;
  }
};

struct Model::Impl {
  std::string name;
  std::shared_ptr<google::protobuf::Arena> arena;  ///< owns all messages of the file
  onnx::ModelProto* message = nullptr;
  ModelOrigin origin;
  std::unique_ptr<Graph> graph;
  std::vector<std::unique_ptr<Graph>> functions;
  HashSet names;                                         ///< hashes of taken names; filled at the first unique_name()
  std::unordered_map<std::string, int64_t> next_number;  ///< by base: all lower numbers are taken

  Impl();
};

/// Builds a Model from an open file and its binary form (the same file unless the model is textual): walk, parse, index, check. Errors do
/// not name the file yet.
struct ModelBuilder {
  [[nodiscard]] static std::unique_ptr<Model> build(std::shared_ptr<const File> source, std::shared_ptr<const File> binary,
                                                    std::string name, const LoadOptions& options);
  [[nodiscard]] static const ModelOrigin& origin(const Model& model) noexcept;
  /// Removes a function that no node calls any more. Its message stays, as saving needs it to find the bytes to leave out.
  static void erase_function(Model& model, const Graph& function);
};

class Model;

/// Gives inputs and initializers of nested graphs that hide an outer value a name of their own, with a warning. ONNX forbids such names,
/// and ONNX Runtime takes the inner value. To be called for a new model, whose graphs are built.
void give_own_names(Model& model);

}  // namespace relayout

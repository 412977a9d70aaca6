// Removes descriptions and metadata from a graph, which say nothing about what it computes.
#include <onnx/onnx_pb.h>

#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

/// What is removed: descriptions (doc_string), and entries of metadata_props by their keys.
struct Annotations {
  bool descriptions = false;
  const std::function<bool(const std::string& key)>* removes = nullptr;
};

/// Removes annotations of one message, and says how many. `only_counts`: it stays as it is.
template <class Message>
int64_t remove_from(Message& message, const Annotations& which, bool only_counts) {
  int64_t count = 0;
  if (which.descriptions && !message.doc_string().empty()) {
    ++count;
    if (!only_counts) message.clear_doc_string();
  }
  if constexpr (requires { message.metadata_props(); }) {
    auto& entries = *message.mutable_metadata_props();
    for (int i = entries.size(); i-- > 0;) {
      if (!(*which.removes)(entries[i].key())) continue;
      ++count;
      if (!only_counts) entries.erase(entries.begin() + i);
    }
  }
  return count;
}

int64_t remove_from_node(onnx::NodeProto& node, const Annotations& which, bool only_counts) {
  int64_t count = remove_from(node, which, only_counts);
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) count += remove_from(attribute, which, only_counts);
  return count;
}

}  // namespace

int64_t Graph::remove_annotations(bool descriptions, const std::function<bool(const std::string& key)>& removes) {
  const Annotations which{descriptions, &removes};
  int64_t count = function_ != nullptr ? remove_from(*function_, which, false) : remove_from(*message_, which, false);
  if (count > 0) touch(nullptr);
  for (Node& node : nodes_) {
    const int64_t of_node = remove_from_node(*node.message_, which, true);
    if (of_node > 0) count += remove_from_node(edit(node), which, false);
  }
  edit_declarations([&](onnx::ValueInfoProto& entry) {
    const int64_t of_entry = remove_from(entry, which, false);
    count += of_entry;
    return of_entry > 0;
  });
  for (Initializer& initializer : initializers_) {
    const int64_t of_initializer = initializer.message == nullptr ? 0 : remove_from(*initializer.message, which, false);
    if (of_initializer == 0) continue;
    count += of_initializer;
    initializer.modified = true;
    touch(nullptr);
  }
  return count;
}

int64_t Model::remove_annotations(bool descriptions, const std::function<bool(const std::string& key)>& removes) {
  return remove_from(message(), {descriptions, &removes}, false);
}

}  // namespace relayout

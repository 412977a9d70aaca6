#pragma once

#include <onnx/onnx_pb.h>

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/name_table.h"
#include "relayout/graph.h"

namespace relayout {

/// Storage of a Graph, and lookup of its values by name. Values and erased nodes live as long as the graph, so that pointers to them stay
/// valid.
struct Graph::Index {
  std::deque<Value> values;
  NameTable<Value> by_name;
  std::list<Node> erased_nodes;
  /// value_info and output entries of names that passes removed, for the case that a name is added again.
  std::unordered_map<std::string, const onnx::ValueInfoProto*> orphaned_infos;
  std::unordered_set<std::string> gone;  ///< names in value_info that were removed at least once
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

}  // namespace relayout

#pragma once

#include <onnx/onnx_pb.h>

#include <span>
#include <vector>

#include "model/origin.h"
#include "model/splice_tensor.h"
#include "model/wire_reader.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

/// Traverses a model together with its wire items, and writes changed parts around copies of unchanged parts (bodies in splice.cpp,
/// splice_graph.cpp and splice_node.cpp).
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

}  // namespace relayout

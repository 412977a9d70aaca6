// Lists the nodes of a main graph with their work and the stored numbers that they read.
#include "inspect/node_list.h"

#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

std::optional<int64_t> bytes_of_results(const NodeWork& work) {
  int64_t out = 0;
  for (std::size_t i = 0; i < work.results.size(); ++i) {
    const auto bytes = work.results[i] ? bytes_in_memory(work.types[i], *work.results[i]) : std::nullopt;
    const auto sum = bytes ? checked_add(out, *bytes) : std::nullopt;
    if (!sum) return std::nullopt;
    out = *sum;
  }
  return out;
}

}  // namespace

std::vector<NodeSummary> list_nodes(const std::vector<NodeWork>& nodes) {
  std::vector<NodeSummary> out;
  std::unordered_set<const Value*> read;
  Constants constants;
  for (const NodeWork& work : nodes) {
    const Node& node = *work.node;
    NodeSummary one{reported_name(node),
                    node.domain().empty() ? node.op_type() : std::string(node.domain()) + ":" + node.op_type(),
                    "",
                    work.macs,
                    0,
                    0,
                    bytes_of_results(work)};
    if (!work.results.empty() && work.results.front()) one.dims = to_string(*work.results.front());
    for_each_read(node, [&](const Value& value) {
      const bool is_stored = value.initializer() != nullptr || (value.producer() != nullptr && value.producer()->is("Constant"));
      if (!is_stored || !read.insert(&value).second) return;
      if (const Initializer* const initializer = value.initializer(); initializer != nullptr && initializer->data) {
        one.parameters += element_count(initializer->data->dims());
        one.bytes += initializer->data->byte_size();
        return;
      }
      const auto found = constants.find(value);
      const auto* const constant = std::get_if<Constant>(&found);
      if (constant == nullptr || constant->strings) return;
      one.parameters += element_count(constant->dims);
      one.bytes += constant->data.byte_size();
    });
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace relayout

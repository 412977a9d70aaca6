// Lets a Reshape find the one dim of its request that is computed, where all others are known.
//
//     s = Shape (x)
//     n = Gather (s, 0)
//     r = Concat (n, 6, 128)
//     y = Reshape (z, r)               →      y = Reshape (z, [-1, 6, 128])

#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/partial_dims.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

struct FoundDim {
  const Node* node = nullptr;
  Dims dims;
  std::vector<const Node*> taken, anchors;
  std::string detail;
};

bool reads_request(const Node& node) {
  return node.is("Reshape") && node.domain().empty() && node.input(1) != nullptr && node.input(1)->producer() != nullptr;
}

/// The number of elements and all other dims tell the one that is computed: none of them may be 0, or be found itself.
Match<FoundDim> match_request(const Node& node, PassContext& context) {
  const Value& request = *node.input(1);
  const bool is_own = request.sole_use() != nullptr && &request.graph() == &node.graph() && !node.graph().is_function();
  if (!is_own || context.constants.is_constant(request)) return NotApplicable{};
  const auto contents = context.constants.contents(request);
  if (!contents || contents->values.type() != DataType::int64 || contents->values.dims().size() != 1) return NotApplicable{};
  FoundDim out{&node, {}, {&node}, {}, {}};
  for (std::size_t i = 0; i < contents->certain.size(); ++i) {
    const int64_t dim = contents->certain[i] ? contents->values.data<int64_t>()[i] : -1;
    if (contents->certain[i] && dim <= 0) return NotApplicable{};
    out.dims.push_back(dim);
  }
  if (std::ranges::count(out.dims, -1) != 1) return NotApplicable{};
  return out;
}

void set_request(const FoundDim& found, PassContext& context) {
  std::vector<std::byte> bytes(found.dims.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), found.dims.data(), bytes.size());
  const TensorData data(DataType::int64, {std::ssize(found.dims)}, Bytes::owned(std::move(bytes)));
  set_constant_input(writable(*found.node), 1, data, {}, context);
}

}  // namespace

void reshape_requests(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, reads_request, match_request, set_request);
}

}  // namespace relayout::passes

// Lets a Reshape find the dims of its request that are computed: the only one, where all others are known, and those of its own operand.
//
//     s = Shape (x)
//     n = Gather (s, 0)
//     r = Concat (n, 6, 128)
//     y = Reshape (z, r)               →      y = Reshape (z, [-1, 6, 128]), or (z, [0, 6, 128]) where z is x

#include "base/positions.h"
#include "model/node.h"
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

/// Whether a value of one element is a dim of `operand`, in the same place: Slice or Gather of its Shape.
bool is_dim(const Value& element, const Value& operand, std::size_t place, PassContext& context) {
  constexpr int kMostNodes = 8;
  const Value* at = &element;
  for (int step = 0; step < kMostNodes && at != nullptr && at->producer() != nullptr; ++step) {
    const Node& node = *at->producer();
    const Node* const shape = node.input(0) == nullptr ? nullptr : node.input(0)->producer();
    const bool selects = node.is("Slice") || node.is("Gather");
    if (selects && shape != nullptr && shape->is("Shape")) {
      const auto first = node.input(1) == nullptr ? std::nullopt : context.constants.value(*node.input(1));
      if (shape->input(0) != &operand || !first || first->element_count() != 1 || first->type() != DataType::int64) return false;
      const Attributes of_shape(*shape);
      const int64_t begin = of_shape.integer("start", 0);
      return !of_shape.has_reference() && begin >= 0 && begin + first->data<int64_t>()[0] == static_cast<int64_t>(place) &&
             first->data<int64_t>()[0] >= 0;
    }
    if (!node.is("Unsqueeze") && !node.is("Squeeze") && !node.is("Identity") && !node.is("Reshape")) return false;
    at = node.input(0);
  }
  return false;
}

/// Whether an element of a request, which Concat makes of several, is the dim that the operand has in this place.
bool is_own_dim(const Node& node, std::size_t place, PassContext& context) {
  const Node* const concat = node.input(1)->producer();
  if (concat == nullptr || !concat->is("Concat")) return false;
  std::size_t begin = 0;
  for (const Value* const part : concat->inputs()) {
    const PartialDims dims = part == nullptr ? PartialDims() : context.constants.dims(*part);
    if (!dims || dims->size() != 1 || dims->front() < 0) return false;
    const auto size = as_size(dims->front());
    if (place == begin && size == 1) return is_dim(*part, *node.input(0), place, context);
    begin += size;
    if (place < begin) return false;
  }
  return false;
}

/// The number of elements and all other dims tell the one that is computed: none of them may be 0, or be found itself. A 0 copies a dim of
/// the operand.
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
  const auto computed = std::ranges::count(out.dims, -1);
  if (computed == 1) return out;
  const bool copies = Attributes(node).integer("allowzero", 0) == 0 && !Attributes(node).has_reference();
  if (computed == 0 || !copies) return NotApplicable{};
  for (std::size_t i = 0; i < out.dims.size(); ++i) {
    if (out.dims[i] != -1) continue;
    if (!is_own_dim(node, i, context)) return NotApplicable{};
    out.dims[i] = 0;
  }
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

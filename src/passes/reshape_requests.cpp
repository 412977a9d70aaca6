// Lets a Reshape find dims of its request that are computed: the only one, or those of its own operand.
//
//     s = Shape (x)
//     n = Gather (s, 0)
//     r = Concat (n, 6, 128)
//     y = Reshape (z, r)               →      y = Reshape (z, [-1, 6, 128]), or (z, [0, 6, 128]) where z is x

#include "base/positions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/call.h"
#include "ops/constants.h"
#include "ops/dim_origins.h"
#include "ops/partial_dims.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// A Reshape with the request that it is given.
struct RequestedDims {
  const Node* node = nullptr;
  Dims dims;
};

struct FoundDims {
  std::vector<RequestedDims> requests;  ///< of all readers of one computed request
  std::vector<const Node*> taken, anchors;
  std::string detail;
};

bool reads_request(const Node& node) {
  return node.is("Reshape") && node.domain().empty() && node.input(1) != nullptr && node.input(1)->producer() != nullptr;
}

/// The operands of a node in their graph.
class OperandsOf : public PartialOperands {
 public:
  OperandsOf(const Node& node, Constants& constants) : node_(node), constants_(constants) {}
  [[nodiscard]] bool has(std::size_t input) override { return node_.input(input) != nullptr; }
  [[nodiscard]] PartialDims dims(std::size_t input) override { return constants_.dims(*node_.input(input)); }
  [[nodiscard]] DataType type(std::size_t input) override { return constants_.type_of(*node_.input(input)); }
  [[nodiscard]] std::optional<PartialContents> contents(std::size_t input) override { return constants_.contents(*node_.input(input)); }

 private:
  const Node& node_;
  Constants& constants_;
};

/// A dim of a value, or an element of a list.
struct DimAt {
  const Value* value = nullptr;
  int64_t at = 0;
  bool operator==(const DimAt&) const = default;
};

/// The dim as the value furthest upstream has it that certainly has the same: equal places are equal dims.
DimAt furthest_upstream(DimAt dim, Constants& constants) {
  constexpr int kMostNodes = 64;
  for (int passed = 0; passed < kMostNodes && dim.value->producer() != nullptr; ++passed) {
    const Node& node = *dim.value->producer();
    OperandsOf operands(node, constants);
    const auto from = origin_of_dim(OpCall(node, node.opset()), as_size(dim.value->output_index()), dim.at, operands);
    if (!from) break;
    dim = {node.input(from->input), from->axis};
  }
  return dim;
}

/// The dim that an element of a list is, which Shape made; nothing for other numbers.
std::optional<DimAt> dim_in(DimAt element, Constants& constants) {
  constexpr int kMostNodes = 16;
  for (int passed = 0; passed < kMostNodes && element.value->producer() != nullptr; ++passed) {
    const Node& node = *element.value->producer();
    if (node.is("Shape") && node.domain().empty() && node.input(0) != nullptr) {
      const Attributes attributes(node);
      const int64_t start = attributes.integer("start", 0);
      const PartialDims dims = constants.dims(*node.input(0));
      if (attributes.has_reference() || (start < 0 && !dims)) return std::nullopt;
      return DimAt{node.input(0), (start < 0 ? std::max<int64_t>(start + std::ssize(*dims), 0) : start) + element.at};
    }
    OperandsOf operands(node, constants);
    const auto from = origin_of_element(OpCall(node, node.opset()), as_size(element.value->output_index()), element.at, operands);
    if (!from) return std::nullopt;
    element = {node.input(from->input), from->axis};
  }
  return std::nullopt;
}

/// Whether an element of a request is the dim that the operand has in this place.
bool is_own_dim(const Node& node, std::size_t place, Constants& constants) {
  const PartialDims dims = constants.dims(*node.input(0));
  if (!dims || place >= dims->size()) return false;
  const auto axis = static_cast<int64_t>(place);
  const auto wanted = dim_in({node.input(1), axis}, constants);
  return wanted && furthest_upstream(*wanted, constants) == furthest_upstream({node.input(0), axis}, constants);
}

/// The number of elements and all other dims tell the one that is computed: none of them may be 0, or be found itself. A 0 copies a dim of
/// the operand. Empty where the request stays.
Dims request_of(const Node& node, const PartialContents& contents, PassContext& context) {
  Dims out;
  std::size_t computed = 0;
  bool has_other = false;
  for (std::size_t i = 0; i < contents.certain.size(); ++i) {
    const int64_t dim = contents.certain[i] ? contents.values.data<int64_t>()[i] : 0;
    if (contents.certain[i] && dim != -1 && dim <= 0) return {};
    computed += contents.certain[i] ? 0 : 1;
    has_other = has_other || dim == -1;
    out.push_back(dim);
  }
  if (computed == 1 && !has_other) {
    std::ranges::replace(out, 0, -1);
    return out;
  }
  if (computed == 0 || Attributes(node).has_reference()) return {};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!contents.certain[i] && !is_own_dim(node, i, context.constants)) return {};
  }
  return out;
}

/// All readers of the request, or none.
Match<FoundDims> match_request(const Node& node, PassContext& context) {
  constexpr std::size_t kMostReaders = 64;
  const Value& request = *node.input(1);
  const bool is_own = !request.is_output() && request.uses().size() <= kMostReaders && &request.graph() == &node.graph();
  if (!is_own || node.graph().is_function() || context.constants.is_constant(request)) return NotApplicable{};
  const auto contents = context.constants.contents(request);
  if (!contents || contents->values.type() != DataType::int64 || contents->values.dims().size() != 1) return NotApplicable{};
  FoundDims out;
  for (const Use& use : request.uses()) {
    const bool is_reader =
        use.index == 1 && reads_request(*use.node) && use.node->input(0) != nullptr && &use.node->graph() == &node.graph();
    if (!is_reader || (use.node != &node && is_excluded(*use.node, context.options))) return NotApplicable{};
    out.requests.push_back({use.node, request_of(*use.node, *contents, context)});
    if (out.requests.back().dims.empty()) return NotApplicable{};
    out.taken.push_back(use.node);
  }
  return out;
}

void set_requests(const FoundDims& found, PassContext& context) {
  std::vector<std::pair<const Dims*, Value*>> made;
  for (const auto& [reader, dims] : found.requests) {
    Node& node = writable(*reader);
    const auto same = std::ranges::find_if(made, [&](const auto& one) { return *one.first == dims; });
    if (same != made.end()) {
      Value& old = *node.input(1);
      node.graph().set_input(node, 1, same->second);
      release(old, context);
    } else {
      std::vector<std::byte> bytes(dims.size() * sizeof(int64_t));
      std::memcpy(bytes.data(), dims.data(), bytes.size());
      set_constant_input(node, 1, TensorData(DataType::int64, {std::ssize(dims)}, Bytes::owned(std::move(bytes))), {}, context);
      // A Constant in front of one node is not in front of all.
      if (node.input(1)->initializer() != nullptr) made.emplace_back(&dims, node.input(1));
    }
    if (std::ranges::find(dims, 0) == dims.end() || Attributes(node).integer("allowzero", 0) == 0) continue;
    for (onnx::AttributeProto& attribute : *node.graph().edit(node).mutable_attribute()) {
      if (attribute.name() == "allowzero") attribute.set_i(0);
    }
  }
}

}  // namespace

void reshape_requests(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, reads_request, match_request, set_requests);
}

}  // namespace relayout::passes

// Sizes that weights imply for free dims of an input: channels of Conv, ConvTranspose and normalizations, the depth of MatMul and Gemm,
// features of LSTM, GRU and RNN.
#include "verify/inputs/demanded_dims.h"

#include <cstddef>
#include <cstdint>
#include <map>

#include "model/node.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

std::map<int64_t, int64_t> demanded_dims(const Node& node, const Dims& weight, std::size_t rank) {
  if (weight.empty()) return {};
  const auto last = static_cast<int64_t>(rank) - 1;
  const Attributes attributes(node);
  if (node.is("Conv") && weight.size() >= 2) return {{1, weight[1] * attributes.integer("group", 1)}};
  if (node.is("ConvTranspose") || node.is("BatchNormalization") || node.is("InstanceNormalization")) return {{1, weight[0]}};
  if (node.is("MatMul") && rank > 0) return {{last, weight.size() == 1 ? weight[0] : weight[weight.size() - 2]}};
  if (node.is("Gemm") && weight.size() == 2) {
    const bool transposed = attributes.integer("transA", 0) != 0;
    return {{transposed ? 0 : 1, weight[attributes.integer("transB", 0) != 0 ? 1 : 0]}};
  }
  if ((node.is("LSTM") || node.is("GRU") || node.is("RNN")) && weight.size() == 3) return {{2, weight[2]}};
  if (node.is("LayerNormalization") && weight.size() == 1) return {{last, weight[0]}};
  return {};
}

}  // namespace relayout

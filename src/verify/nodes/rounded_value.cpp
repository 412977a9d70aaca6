// The value that a QuantizeLinear really rounds, upstream of quantizers of the same scale and zero point and of Transposes.
#include "verify/nodes/rounded_value.h"

#include <algorithm>
#include <vector>

#include "model/node.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

Datum RoundedValue::in_order(const Datum& datum) const {
  if (orders.empty() || datum.kind != Datum::Kind::tensor || !datum.tensor) return datum;
  Tensor out = datum.tensor;
  for (const Dims& order : orders) {
    if (order.size() != out.dims().size()) return {};
    out = out.transposed(order);
  }
  return Datum(contiguous(out));
}

RoundedValue rounded_value(const Node& quantizer) {
  RoundedValue out{quantizer.input(0), {}};
  const Value* at = out.value;
  std::vector<Dims> passed;  // from the quantizer upstream
  while (at != nullptr && at->producer() != nullptr) {
    const Node& node = *at->producer();
    const Node* const before = node.input(0) == nullptr ? nullptr : node.input(0)->producer();
    if (node.is("Transpose") && !Attributes(node).integers("perm").empty()) {
      passed.push_back(Attributes(node).integers("perm"));
      at = node.input(0);
      continue;
    }
    const bool is_same_grid = node.is("DequantizeLinear") && before != nullptr && before->is("QuantizeLinear") &&
                              node.input(1) == quantizer.input(1) && node.input(2) == quantizer.input(2) &&
                              before->input(1) == quantizer.input(1) && before->input(2) == quantizer.input(2);
    if (!is_same_grid) break;
    at = before->input(0);
    out.value = at;
    out.orders = passed;
  }
  std::ranges::reverse(out.orders);
  return out;
}

}  // namespace relayout

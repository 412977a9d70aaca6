// Finds which elements of a result are certain when its operands are known in part.
// No operator has a rule of its own: its kernel runs with stand-ins for the uncertain elements, and its traits tell how to read the result.

#include <cstring>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/op_history.h"
#include "ops/partial_dims.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

bool has_whole_bytes(DataType type) {
  return type != DataType::undefined && type != DataType::string && traits(type).bits % 8 == 0;
}

/// The known part of an operand: its contents, or only its dims where the operator reads no more.
struct Operand {
  std::optional<PartialContents> contents;
  Dims dims;
  DataType type = DataType::undefined;
  bool is_present = false;
  [[nodiscard]] bool is_certain() const {
    return contents ? contents->is_complete() : std::ranges::none_of(dims, [](int64_t dim) { return dim < 0; });
  }
};

class Rules {
 public:
  Rules(const OpCall& call, const Op& op, std::size_t output) : call_(call), op_(op), output_(output) {}

  [[nodiscard]] std::optional<PartialContents> find(PartialOperands& operands) {
    if (!read(operands)) return std::nullopt;
    if (all_certain([](std::size_t) { return true; })) return whole(run(1));
    // Each element of the result is then an element of the moved operands, or independent of them: one that keeps its value when they
    // change is certain.
    const bool only_moves = all_certain([&](std::size_t i) { return !op_.traits.moves_input(i) && op_.traits.reads(i) != Reads::dims; });
    if (only_moves) return same_elements(run(1), run(2));
    return is_elementwise() ? where_all_are_certain(run(1)) : std::nullopt;
  }

 private:
  [[nodiscard]] bool read(PartialOperands& operands) {
    operands_.resize(call_.node.inputs().size());
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      Operand& operand = operands_[i];
      operand.is_present = operands.has(i);
      if (!operand.is_present) continue;
      if (op_.traits.reads(i) == Reads::elements) {
        operand.contents = operands.contents(i);
        if (!operand.contents || !has_whole_bytes(operand.contents->values.type())) return false;
        continue;
      }
      operand.type = operands.type(i);
      if (op_.traits.reads(i) == Reads::dims) {
        const PartialDims dims = operands.dims(i);
        if (!dims) return false;
        operand.dims = *dims;
        // Dims are counted for every type.
        if (operand.type == DataType::undefined && op_.traits.has(Trait::makes_int64)) operand.type = DataType::float32;
      }
      if (operand.type == DataType::undefined) return false;
    }
    return true;
  }

  /// Whether all operands that satisfy `concerns` are certain.
  template <class Concerns>
  [[nodiscard]] bool all_certain(const Concerns& concerns) const {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].is_present && concerns(i) && !operands_[i].is_certain()) return false;
    }
    return true;
  }

  /// Every operator that broadcasts computes element by element.
  [[nodiscard]] bool is_elementwise() const {
    return op_.in_place || op_.traits.has(Trait::casts) || (op_.traits.has(Trait::broadcasts) && call_.opset >= kNumpyOpset);
  }

  /// The result with `stand_in` for each uncertain dim, and in each byte of uncertain elements.
  [[nodiscard]] std::optional<Tensor> run(uint8_t stand_in) const {
    std::vector<Datum> data(operands_.size());
    std::vector<const Datum*> pointers(operands_.size(), nullptr);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      if (!operand.is_present) continue;
      data[i] =
          Datum(operand.contents ? filled(*operand.contents, stand_in) : without_elements(operand.type, filled(operand.dims, stand_in)));
      pointers[i] = &data[i];
    }
    const auto inferred = op_.infer(call_, KnownInfos(pointers).get());
    if (!inferred || inferred->size() <= output_) return std::nullopt;
    const auto is_wanted = [&](std::size_t i) { return call_.node.output(i) != nullptr; };
    for (std::size_t i = 0; i < inferred->size(); ++i) {
      const DatumInfo& info = (*inferred)[i];
      if (!is_wanted(i) && i != output_) continue;
      if (info.kind != Datum::Kind::tensor || !has_whole_bytes(info.type) || element_count(info.dims) > kMostContents) return std::nullopt;
    }
    return contiguous(compute(op_, call_, pointers, *inferred, is_wanted)[output_].tensor);
  }

  static Tensor filled(const PartialContents& contents, uint8_t stand_in) {
    if (contents.is_complete()) return contents.values;
    const Tensor& values = contents.values;
    Tensor out(values.type(), values.dims());
    const std::size_t size = memory_size(values.type());
    for (std::size_t i = 0; i < contents.certain.size(); ++i) {
      if (contents.certain[i]) {
        std::memcpy(out.bytes() + i * size, values.bytes() + i * size, size);
      } else {
        // A boolean is 0 or 1.
        std::memset(out.bytes() + i * size, values.type() == DataType::boolean ? stand_in - 1 : stand_in, size);
      }
    }
    return out;
  }

  static Dims filled(Dims dims, uint8_t stand_in) {
    for (int64_t& dim : dims) dim = dim < 0 ? stand_in : dim;
    return dims;
  }

  static std::optional<PartialContents> whole(const std::optional<Tensor>& result) {
    return result ? std::optional<PartialContents>(*result) : std::nullopt;
  }

  static std::optional<PartialContents> same_elements(const std::optional<Tensor>& one, const std::optional<Tensor>& other) {
    if (!one || !other || one->type() != other->type() || one->dims() != other->dims()) return std::nullopt;
    PartialContents out(*one);
    const std::size_t size = memory_size(one->type());
    for (std::size_t i = 0; i < out.certain.size(); ++i) {
      out.certain[i] = std::memcmp(one->bytes() + i * size, other->bytes() + i * size, size) == 0;
    }
    return out;
  }

  [[nodiscard]] std::optional<PartialContents> where_all_are_certain(const std::optional<Tensor>& result) const {
    if (!result) return std::nullopt;
    PartialContents out(*result);
    for (const Operand& operand : operands_) {
      if (!operand.contents || operand.contents->is_complete()) continue;
      const Dims& dims = operand.contents->values.dims();
      for (std::size_t i = 0; i < out.certain.size(); ++i) {
        const auto from = broadcast_place(i, result->dims(), dims);
        if (!from) return std::nullopt;
        out.certain[i] = out.certain[i] && operand.contents->certain[*from];
      }
    }
    return out;
  }

  /// The element of an operand that yields element `place` of the result; nothing when the operand does not broadcast to the result.
  static std::optional<std::size_t> broadcast_place(std::size_t place, const Dims& result, const Dims& operand) {
    if (operand.size() > result.size()) return std::nullopt;
    std::size_t out = 0, step = 1;
    for (std::size_t k = 0; k < result.size(); ++k) {
      const auto size = as_size(result[result.size() - 1 - k]);
      const std::size_t at = place % size;
      place /= size;
      if (k >= operand.size()) continue;
      const auto own = as_size(operand[operand.size() - 1 - k]);
      if (own != 1 && own != size) return std::nullopt;
      if (own != 1) out += at * step;
      step *= own;
    }
    return out;
  }

  const OpCall& call_;
  const Op& op_;
  std::size_t output_;
  std::vector<Operand> operands_;
};

}  // namespace

std::optional<PartialContents> partial_contents(const OpCall& call, std::size_t output, PartialOperands& operands) {
  if (why_never_evaluated(call.node) || std::ssize(call.node.inputs()) > kMostContents) return std::nullopt;
  try {
    return Rules(call, *find_kernel(call.node), output).find(operands);
  } catch (const Error& error) {
    // Operands that do not fit each other, with stand-ins among them.
    if (error.kind() != ErrorKind::invalid && error.kind() != ErrorKind::unsupported) throw;
    return std::nullopt;
  }
}

}  // namespace relayout

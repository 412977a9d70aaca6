#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/call.h"
#include "ops/loops/dtypes.h"
#include "relayout/error.h"

namespace relayout {

using InputInfos = std::span<const DatumInfo* const>;
using Inferred = std::optional<std::vector<DatumInfo>>;
using InputData = std::span<const Datum* const>;
using OutputData = std::span<Datum* const>;

/// Error{invalid} "node 'x' (Op): what".
[[noreturn]] void reject(const OpCall& call, const std::string& what);
/// Error{unsupported} with the same prefix.
[[noreturn]] void refuse(const OpCall& call, const std::string& what);

// Known facts about operands, while inferring. A missing or wrong operand is rejected.

/// Input `index`, or nullptr when it is absent.
[[nodiscard]] const DatumInfo* optional_info(InputInfos inputs, std::size_t index);
/// Input `index`, a tensor of one of these types.
const DatumInfo& tensor_info(const OpCall& call, InputInfos inputs, std::size_t index, TypeSet types = kAllTypes);
/// Input `index`, a tensor of one of these types, or nullptr when it is absent.
const DatumInfo* optional_tensor_info(const OpCall& call, InputInfos inputs, std::size_t index, TypeSet types = kAllTypes);
/// Input `index`, a sequence.
const DatumInfo& sequence_info(const OpCall& call, InputInfos inputs, std::size_t index);
void require_same_type(const OpCall& call, const DatumInfo& a, const DatumInfo& b);
/// The first two inputs: tensors of one of `types`, the same for both.
[[nodiscard]] std::pair<const DatumInfo&, const DatumInfo&> two_of_one_type(const OpCall& call, InputInfos inputs, TypeSet types);
/// Rejects a node with more or fewer inputs than its operator has.
void require_inputs(const OpCall& call, InputInfos inputs, std::size_t least, std::size_t most);

/// A tensor result.
[[nodiscard]] DatumInfo tensor_of(DataType type, Dims dims);
/// One tensor result; its element count must fit.
[[nodiscard]] Inferred one(const OpCall& call, DataType type, Dims dims);
/// `first` as first output and as many empty entries as the node has further outputs.
[[nodiscard]] std::vector<DatumInfo> results(const OpCall& call, DatumInfo first);

/// Contents of an integer tensor of rank 0 or 1, or nothing when they are not known yet.
[[nodiscard]] std::optional<std::vector<int64_t>> known_integers(const OpCall& call, const DatumInfo& info);
[[nodiscard]] std::vector<int64_t> integers_of(const OpCall& call, const Tensor& tensor);
/// Contents of a tensor of any numeric type as integers; fractions are cut off.
[[nodiscard]] std::vector<int64_t> truncated_integers_of(const Tensor& tensor);
/// Contents of a tensor of any numeric type as reals.
[[nodiscard]] std::vector<double> reals_of(const Tensor& tensor);
/// The element of a tensor of one element; more or none is rejected.
[[nodiscard]] double real_of(const OpCall& call, const Tensor& tensor);
[[nodiscard]] int64_t integer_of(const OpCall& call, const Tensor& tensor);

/// The type whose number the attribute holds, or `otherwise` when the attribute is absent; a type that is not allowed is rejected.
[[nodiscard]] DataType type_attribute(const OpCall& call, std::string_view name, DataType otherwise, TypeSet allowed = kAllTypes);
/// The axis counted from the front; rejected unless −rank ≤ axis < rank.
[[nodiscard]] std::size_t normal_axis(const OpCall& call, int64_t axis, std::size_t rank);
/// Axes counted from the front, each at most once, in the order given.
[[nodiscard]] std::vector<std::size_t> normal_axes(const OpCall& call, std::span<const int64_t> axes, std::size_t rank);
/// Numpy broadcasting of two shapes.
[[nodiscard]] Dims broadcast_dims(const OpCall& call, std::span<const int64_t> a, std::span<const int64_t> b);
/// Product of dims; a negative dim or overflow is rejected.
int64_t checked_count(const OpCall& call, std::span<const int64_t> dims);
/// a + b and a · b; overflow is rejected.
[[nodiscard]] int64_t checked_sum(const OpCall& call, int64_t a, int64_t b);
[[nodiscard]] int64_t checked_product(const OpCall& call, int64_t a, int64_t b);

/// A map with its keys, strings or integers of 64 bits, in ascending order. Error{invalid} for a key that is there twice.
[[nodiscard]] Datum map_of(const Tensor& keys, const Tensor& values);

// Operands while computing.

[[nodiscard]] bool present(InputData inputs, std::size_t index);
[[nodiscard]] const Tensor& tensor_at(InputData inputs, std::size_t index);
/// A view of the elements [begin, begin + count) of one axis.
[[nodiscard]] Tensor part_of(const Tensor& tensor, std::size_t axis, int64_t begin, int64_t count);
/// Output `index` when it is wanted, else nullptr.
[[nodiscard]] const Tensor* wanted(OutputData outputs, std::size_t index);

/// A contiguous place for an output: the tensor itself, or a copy that finish() writes back.
class DenseOutput {
 public:
  explicit DenseOutput(const Tensor& target);
  [[nodiscard]] const Tensor& tensor() const noexcept { return dense_; }
  void finish(int threads = 1) const;

 private:
  Tensor target_, dense_;
};

}  // namespace relayout

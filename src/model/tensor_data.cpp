// Contents of a tensor as bytes, factors and a permutation: what comes of scaling, permuting and converting them.
#include "model/tensor_data.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "model/bytes.h"
#include "model/float_elements.h"
#include "relayout/error.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Bytes of a row that is always read whole.
constexpr int64_t kLargestAssumedRow = int64_t{1} << 20;

[[noreturn]] void fail_defect(const std::string& what) {
  fail(ErrorKind::defect, "tensor data: " + what);
}

Dims permuted_dims(std::span<const int64_t> dims, std::span<const int64_t> permutation) {
  Dims out;
  for (const int64_t from : permutation) out.push_back(dims[as_size(from)]);
  return out;
}

void check_permutation(std::span<const int64_t> permutation, std::size_t rank) {
  std::vector<char> seen(rank, 0);
  for (const int64_t from : permutation) {
    if (from < 0 || as_size(from) >= rank || seen[as_size(from)] != 0) break;
    seen[as_size(from)] = 1;
  }
  if (permutation.size() != rank || std::ranges::count(seen, 1) != static_cast<std::ptrdiff_t>(rank)) {
    fail_defect(to_string(permutation) + " is not a permutation of " + std::to_string(rank) + " dims");
  }
}

/// The size of a Scale along one dim, for dims of the tensor it is for.
bool fits(int64_t size, std::size_t axis, const Dims& dims) {
  return size == 1 || (axis < dims.size() && size == dims[axis]);
}

void check_scale(const Scale& scale, DataType type, const Dims& dims) {
  if (!is_scalable(type)) fail_defect("factors for elements of type " + std::string(name_of(type)));
  const bool fit = fits(scale.rows, scale.row_axis, dims) && fits(scale.columns, scale.column_axis, dims);
  if (!fit || scale.row_axis == scale.column_axis || static_cast<int64_t>(scale.factors.size()) != scale.rows * scale.columns) {
    fail_defect(std::to_string(scale.rows) + " x " + std::to_string(scale.columns) + " factors for dims " + to_string(dims));
  }
}

/// `scale` over result dims as one over source dims.
Scale in_source_order(Scale scale, std::span<const int64_t> permutation) {
  const auto source_axis = [&](std::size_t axis) { return axis < permutation.size() ? as_size(permutation[axis]) : axis; };
  scale.row_axis = source_axis(scale.row_axis);
  scale.column_axis = source_axis(scale.column_axis);
  return scale;
}

/// Whether the factors vary along rows and columns both; a single row or column counts as a vector.
bool is_matrix(const Scale& scale) {
  return scale.rows != 1 && scale.columns != 1;
}

/// The dim along which a vector of factors varies.
std::size_t axis_of(const Scale& scale) {
  return scale.columns != 1 ? scale.column_axis : scale.row_axis;
}

/// Both as one, when that is no larger than the larger of them: vectors along one dim, or matrices over the same two. A factor for all
/// elements goes with anything.
std::optional<Scale> merged(const Scale& a, const Scale& b) {
  const Scale& larger = b.factors.size() > a.factors.size() ? b : a;
  const Scale& smaller = &larger == &a ? b : a;
  const bool is_one = smaller.rows == 1 && smaller.columns == 1;
  const bool same_matrix = is_matrix(a) && is_matrix(b) && a.row_axis == b.row_axis && a.column_axis == b.column_axis;
  if (!is_one && !same_matrix && (is_matrix(a) || is_matrix(b) || axis_of(a) != axis_of(b))) return std::nullopt;
  Scale out = larger;
  for (std::size_t i = 0; i < out.factors.size(); ++i) out.factors[i] *= smaller.factors[is_one ? 0 : i];
  return out;
}

/// One more scale, as a part of one that is there where it may be.
void add(Scale scale, std::vector<std::shared_ptr<const Scale>>& scales) {
  for (auto& known : scales) {
    if (auto both = merged(*known, scale)) {
      known = std::make_shared<const Scale>(std::move(*both));
      return;
    }
  }
  scales.push_back(std::make_shared<const Scale>(std::move(scale)));
}

}  // namespace

TensorData::TensorData(DataType type, Dims dims, Bytes source) : type_(type), dims_(std::move(dims)), source_(std::move(source)) {
  if (source_.size() != packed_byte_size(type_, element_count(dims_))) {
    fail_defect(std::to_string(source_.size()) + " bytes for " + std::string(name_of(type_)) + to_string(dims_));
  }
}

TensorData::Changes TensorData::changes() const {
  return changes_ != nullptr ? *changes_ : Changes{type_, dims_, {}, {}, {}};
}

TensorData TensorData::with(DataType type, Dims dims, Changes changes) const {
  TensorData out;
  out.type_ = type;
  out.dims_ = std::move(dims);
  out.source_ = source_;
  const bool changes_nothing = changes.scales.empty() && changes.permutation.empty() && changes.source_type == type;
  if (!changes_nothing) out.changes_ = std::make_shared<const Changes>(std::move(changes));
  return out;
}

int64_t TensorData::byte_size() const {
  return type_ == source_type() ? source_.size() : packed_byte_size(type_, element_count(dims_));
}

TensorData TensorData::converted(DataType type) const {
  if (!is_scalable(type) || !is_scalable(type_) || type_ != source_type()) {
    fail_defect("elements of type " + std::string(name_of(type_)) + " as " + std::string(name_of(type)));
  }
  return with(type, dims_, changes());
}

TensorData TensorData::scaled(Scale scale) const {
  check_scale(scale, type_, dims_);
  const bool is_assumed = std::exchange(scale.is_assumed, false);
  if (is_assumed && !can_assume(scale)) fail_defect("factors that cannot be assumed to fit");
  Changes changed = changes();
  add(in_source_order(std::move(scale), changed.permutation), changed.scales);
  if (is_assumed) changed.assumed.push_back(changed.scales.front());
  return with(type_, dims_, std::move(changed));
}

bool TensorData::can_assume(const Scale& scale) const {
  const auto is_by_row = [](const Scale& one) { return one.columns == 1 && (one.rows == 1 || one.row_axis == 0); };
  const bool is_plain_so_far = scales().empty() || (scales().size() == 1 && is_by_row(*scales().front()));
  const bool has_small_rows = !dims_.empty() && dims_[0] > 0 && byte_size() / dims_[0] <= kLargestAssumedRow;
  return is_by_row(scale) && is_plain_so_far && has_small_rows && permutation().empty() && type_ == source_type();
}

TensorData TensorData::permuted(std::span<const int64_t> permutation) const {
  check_permutation(permutation, dims_.size());
  Changes changed = changes();
  changed.permutation =
      changed.permutation.empty() ? Dims(permutation.begin(), permutation.end()) : permuted_dims(changed.permutation, permutation);
  if (std::ranges::is_sorted(changed.permutation)) changed.permutation.clear();
  return with(type_, permuted_dims(dims_, permutation), std::move(changed));
}

}  // namespace relayout

// Keeps the contents of a tensor to be saved as bytes, factors and a permutation, computed in pieces.
#include "model/tensor_data.h"

#include <cstring>

#include "base/file.h"
#include "base/positions.h"
#include "model/float_elements.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Bytes up to which a row is always read whole.
constexpr int64_t kLargestAssumedRow = int64_t{1} << 20;

[[noreturn]] void fail_defect(const std::string& what) {
  fail(ErrorKind::defect, "tensor data: " + what);
}

/// Unpacks elements of `bits` < 8 to one per byte, the low bits first.
void unpack(std::span<const std::byte> packed, int bits, std::span<std::byte> out) {
  const auto per_byte = as_size(8 / bits);
  const auto mask = static_cast<unsigned>((1 << bits) - 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto shift = i % per_byte * as_size(bits);
    out[i] = static_cast<std::byte>(std::to_integer<unsigned>(packed[i / per_byte]) >> shift & mask);
  }
}

void pack(std::span<const std::byte> elements, int bits, std::span<std::byte> out) {
  const auto per_byte = as_size(8 / bits);
  std::ranges::fill(out, std::byte{0});
  for (std::size_t i = 0; i < elements.size(); ++i) {
    out[i / per_byte] |= elements[i] << (i % per_byte * as_size(bits));
  }
}

void extend_signs(std::span<std::byte> elements, int bits) {
  const auto sign = static_cast<unsigned>(1 << (bits - 1));
  for (std::byte& element : elements) {
    const auto value = std::to_integer<unsigned>(element);
    element = static_cast<std::byte>((value ^ sign) - sign);
  }
}

/// A permutation that keeps dim 0 and exchanges two groups of dims after it.
struct Exchange {
  int64_t leading, trailing;  ///< elements of the groups, in source order
};

std::optional<Exchange> as_exchange(std::span<const int64_t> dims, std::span<const int64_t> permutation) {
  if (permutation.size() < 3 || permutation[0] != 0) return std::nullopt;
  const auto rank = static_cast<int64_t>(permutation.size());
  const int64_t split = permutation[1];
  for (int64_t i = 1; i < rank; ++i) {
    const int64_t expected = i <= rank - split ? split + i - 1 : i - (rank - split);
    if (permutation[as_size(i)] != expected) return std::nullopt;
  }
  return Exchange{element_count(dims.subspan(1, as_size(split - 1))), element_count(dims.subspan(as_size(split)))};
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

/// Whether the size of a Scale along one dim fits the dims of its tensor.
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

/// Converts `scale` from result dims to source dims.
Scale in_source_order(Scale scale, std::span<const int64_t> permutation) {
  const auto source_axis = [&](std::size_t axis) { return axis < permutation.size() ? as_size(permutation[axis]) : axis; };
  scale.row_axis = source_axis(scale.row_axis);
  scale.column_axis = source_axis(scale.column_axis);
  return scale;
}

/// Whether the factors vary along both rows and columns; a single row or column counts as a vector.
bool is_matrix(const Scale& scale) {
  return scale.rows != 1 && scale.columns != 1;
}

/// The dim along which a vector of factors varies.
std::size_t axis_of(const Scale& scale) {
  return scale.columns != 1 ? scale.column_axis : scale.row_axis;
}

/// The product of two scales as one, if that is not larger than the larger of them: vectors along one dim, or matrices over the same two
/// dims. A single factor for all elements can be merged with any scale.
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

/// Adds a scale, merged with an existing one where possible.
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

namespace {

/// The axis of the source whose indices are the rows.
std::size_t row_axis(const TensorData& data) {
  return data.permutation().empty() ? 0 : as_size(data.permutation()[0]);
}

/// Dims of the source elements of `count` rows.
Dims part_dims(const TensorData& data, int64_t count) {
  Dims dims = data.source_dims();
  if (!dims.empty()) dims[row_axis(data)] = count;
  return dims;
}

void read_part(const TensorData& data, int64_t begin, int64_t count, std::span<std::byte> out) {
  const std::size_t axis = row_axis(data);
  const std::span<const int64_t> dims = data.source_dims();
  const int64_t inner =
      dims.empty() ? data.source().size() : element_count(dims.subspan(axis + 1)) * static_cast<int64_t>(memory_size(data.source_type()));
  const auto run = as_size(inner * count);
  int64_t offset = begin * inner;
  while (!out.empty()) {
    data.source().read(offset, out.first(run));
    out = out.subspan(run);
    if (!dims.empty()) offset += inner * dims[axis];
  }
}

void check_assumed(const TensorData& data, int64_t begin, int64_t count, std::span<const std::byte> rows) {
  // With a different dim first there are no whole rows to check.
  if (row_axis(data) != 0) throw OutOfRange();
  const std::size_t row = rows.size() / as_size(count);
  for (int64_t i = 0; i < count; ++i) {
    const double largest = largest_magnitude(data.source_type(), rows.subspan(as_size(i) * row, row));
    for (const auto& scale : data.assumed()) {
      ChannelRange range;
      range.note(largest, scale->at(begin + i, 0));
      if (range.overflows(data.source_type()) || range.vanishes(data.source_type())) throw OutOfRange();
    }
  }
}

void scale_run(const TensorData& data, int64_t first_element, int64_t count, const std::byte* from, std::byte* to) {
  if (data.scales().empty() && data.type() == data.source_type()) return;
  const std::span<const int64_t> dims = data.source_dims();
  // Number of elements from one index of the axis to the next; all if nothing varies along the axis.
  const int64_t all = element_count(dims);
  const auto step = [&](int64_t size, std::size_t axis) { return size != 1 ? element_count(dims.subspan(axis + 1)) : all; };
  struct Steps {
    const Scale& scale;
    int64_t row, column;
  };
  std::vector<Steps> steps;
  int64_t run = all;
  for (const auto& scale : data.scales()) {
    steps.push_back({*scale, step(scale->rows, scale->row_axis), step(scale->columns, scale->column_axis)});
    run = std::min({run, steps.back().row, steps.back().column});
  }
  for (int64_t done = 0; done < count;) {
    const int64_t at = first_element + done;
    const int64_t length = std::min(count - done, run - at % run);
    double factor = 1;
    for (const auto& [scale, row, column] : steps) factor *= scale.at(at / row % scale.rows, at / column % scale.columns);
    // A factor of one leaves the bits as they are, signaling NaNs included.
    if (factor != 1.0 || data.type() != data.source_type()) {
      multiply(data.source_type(), from + done * static_cast<int64_t>(memory_size(data.source_type())), data.type(),
               to + done * static_cast<int64_t>(memory_size(data.type())), length, factor);
    }
    done += length;
  }
}

void scale_part(const TensorData& data, int64_t begin, int64_t count, const std::byte* from, std::byte* to) {
  if (data.scales().empty() && data.type() == data.source_type()) return;
  const std::span<const int64_t> dims = data.source_dims();
  if (dims.empty()) return scale_run(data, 0, 1, from, to);
  const std::size_t axis = row_axis(data);
  const int64_t inner = element_count(dims.subspan(axis + 1));
  const int64_t run = inner * count, runs = element_count(part_dims(data, count)) / std::max<int64_t>(run, 1);
  for (int64_t i = 0; i < runs; ++i) {
    scale_run(data, (i * dims[axis] + begin) * inner, run, from, to);
    from += run * static_cast<int64_t>(memory_size(data.source_type()));
    to += run * static_cast<int64_t>(memory_size(data.type()));
  }
}

void read_packed_rows(const TensorData& data, int64_t begin, int64_t count, std::span<std::byte> out) {
  const int64_t elements = element_count(data.dims());
  const int64_t rows = data.dims().empty() ? 1 : data.dims()[0];
  const int64_t row = elements / rows;
  const int bits = traits(data.type()).bits;
  const bool rows_are_bytes = row * bits % 8 == 0 && row_axis(data) == 0;
  const bool whole = count == rows;
  if (!whole && !rows_are_bytes) fail_defect("rows of " + std::string(name_of(data.type())) + " that are not whole bytes");
  if (static_cast<int64_t>(out.size()) != packed_byte_size(data.type(), row * count)) fail_defect("a buffer that does not fit the rows");
  const int64_t offset = row * bits / 8 * begin;
  if (data.permutation().empty()) return data.source().read(offset, out);
  const ByteBuffer packed(static_cast<int64_t>(out.size()));
  data.source().read(offset, packed.first(static_cast<int64_t>(out.size())));
  const ByteBuffer source(row * count);
  const ByteBuffer target(row * count);
  unpack(packed.first(static_cast<int64_t>(out.size())), bits, source.first(row * count));
  permute(1, source.data(), part_dims(data, count), data.permutation(), target.data());
  pack(target.first(row * count), bits, out);
}

}  // namespace

void TensorData::read_rows(int64_t begin, int64_t count, std::span<std::byte> out) const {
  const int64_t rows = dims_.empty() ? 1 : dims_[0];
  if (begin < 0 || count < 0 || count > rows || begin > rows - count) fail_defect("rows out of range");
  if (count == 0 || source_.size() == 0) return;
  if (traits(type_).bits < 8) return read_packed_rows(*this, begin, count, out);
  const int64_t size = byte_size() / rows * count;
  if (static_cast<int64_t>(out.size()) != size) fail_defect("a buffer that does not fit the rows");
  // Read, scale and convert, permute: the last step writes to `out`; others are in place where possible.
  const int64_t source_size = source_.size() / rows * count;
  const bool converts = type_ != source_type(), permutes = !permutation().empty();
  const ByteBuffer read(converts || permutes ? source_size : 0);
  std::byte* const source = converts || permutes ? read.data() : out.data();
  read_part(*this, begin, count, {source, as_size(source_size)});
  if (!assumed().empty()) check_assumed(*this, begin, count, {source, as_size(source_size)});
  const ByteBuffer computed(converts && permutes ? size : 0);
  std::byte* const target = !permutes ? out.data() : converts ? computed.data() : source;
  scale_part(*this, begin, count, source, target);
  if (permutes) permute(memory_size(type_), target, part_dims(*this, count), permutation(), out.data());
}

void TensorData::read_row_in_pieces(int64_t row, const PieceSink& sink) const {
  if (!assumed().empty()) throw OutOfRange();
  constexpr int64_t kPiece = int64_t{4} << 20;
  const int64_t rows = dims_.empty() ? 1 : dims_[0];
  const int64_t row_size = byte_size() / rows;
  const std::optional<Exchange> exchange = permutation().empty() ? std::nullopt : as_exchange(source_dims(), permutation());
  if (traits(type_).bits < 8 || (!permutation().empty() && !exchange)) {
    const ByteBuffer buffer(row_size);
    read_rows(row, 1, buffer.first(row_size));
    return sink(0, buffer.first(row_size));
  }
  const auto size = static_cast<int64_t>(memory_size(type_)), source_size = static_cast<int64_t>(memory_size(source_type()));
  const int64_t elements = row_size / size;
  // Without a permutation, the row is one column of elements, which can be split anywhere.
  const int64_t leading = exchange ? exchange->leading : elements;
  const int64_t trailing = exchange ? exchange->trailing : 1;
  const int64_t portion = std::clamp<int64_t>(kPiece / (trailing * source_size), 1, leading);
  const bool converts = type_ != source_type();
  const ByteBuffer source(portion * trailing * source_size);
  const ByteBuffer computed(converts ? portion * trailing * size : 0);
  const ByteBuffer target(exchange ? portion * trailing * size : 0);
  std::byte* const scaled = converts ? computed.data() : source.data();
  for (int64_t at = 0; at < leading; at += portion) {
    const int64_t count = std::min(portion, leading - at);
    const int64_t first = row * elements + at * trailing;
    source_.read(first * source_size, source.first(count * trailing * source_size));
    scale_run(*this, first, count * trailing, source.data(), scaled);
    if (!exchange) {
      sink(at * size, {scaled, as_size(count * size)});
      continue;
    }
    permute(memory_size(type_), scaled, Dims{count, trailing}, Dims{1, 0}, target.data());
    for (int64_t k = 0; k < trailing; ++k) {
      sink((k * leading + at) * size, target.first((k + 1) * count * size).subspan(as_size(k * count * size)));
    }
  }
}

Tensor TensorData::load() const {
  Tensor tensor(type_, dims_);
  const int64_t count = element_count(dims_);
  if (count == 0) return tensor;
  const int64_t rows = dims_.empty() ? 1 : dims_[0];
  const int bits = traits(type_).bits;
  const int64_t size = count * static_cast<int64_t>(memory_size(type_));
  const std::span<std::byte> memory(tensor.bytes(), as_size(size));
  if (bits >= 8) {
    read_rows(0, rows, memory);
    return tensor;
  }
  const ByteBuffer packed(source_.size());
  read_rows(0, rows, packed.first(source_.size()));
  unpack(packed.first(source_.size()), bits, memory);
  if (traits(type_).is_signed) extend_signs(memory, bits);
  return tensor;
}

// Bytes in memory, or a range of a file.

Bytes Bytes::of_file(std::shared_ptr<const File> file, int64_t offset, int64_t length) {
  if (offset < 0 || length < 0 || length > file->size() || offset > file->size() - length) {
    fail(ErrorKind::defect, "a range of bytes beyond the end of its file");
  }
  Bytes bytes;
  bytes.source_ = std::move(file);
  bytes.offset_ = offset;
  bytes.length_ = length;
  return bytes;
}

Bytes Bytes::owned(std::string_view text) {
  return copied(std::as_bytes(std::span(text)));
}

Bytes Bytes::owned(std::vector<std::byte> data) {
  constexpr std::size_t kFew = 256;  // bytes up to which data is copied: one block less for each of many small tensors
  if (data.size() <= kFew) return copied(data);
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(data));
  return {std::shared_ptr<const void>(owner, owner->data()), owner->size()};
}

Bytes Bytes::held(const std::shared_ptr<const void>& holder, std::string_view held) {
  return {std::shared_ptr<const void>(holder, held.data()), held.size()};
}

Bytes Bytes::copied(std::span<const std::byte> data) {
  const auto block = std::make_shared_for_overwrite<std::byte[]>(data.size());  // one block for bytes and reference count
  std::ranges::copy(data, block.get());
  return {std::shared_ptr<const void>(block, block.get()), data.size()};
}

std::shared_ptr<const File> Bytes::file() const noexcept {
  return offset_ == kInMemory ? nullptr : std::static_pointer_cast<const File>(source_);
}

Bytes Bytes::part(int64_t offset, int64_t length) const {
  if (offset < 0 || length < 0 || length > size() || offset > size() - length)
    fail(ErrorKind::defect, "a part beyond the end of its bytes");
  Bytes bytes = *this;
  if (offset_ != kInMemory) {
    bytes.offset_ += offset;
  } else if (source_) {
    bytes.source_ = {source_, static_cast<const std::byte*>(source_.get()) + offset};
  }
  bytes.length_ = length;
  return bytes;
}

void Bytes::read(int64_t offset, std::span<std::byte> out) const {
  const auto length = static_cast<int64_t>(out.size());
  if (offset < 0 || length > size() || offset > size() - length) fail(ErrorKind::defect, "a read beyond the end of its bytes");
  if (out.empty()) return;
  if (offset_ == kInMemory) {
    std::memcpy(out.data(), static_cast<const std::byte*>(source_.get()) + offset, out.size());
  } else {
    static_cast<const File*>(source_.get())->read(offset_ + offset, out);
  }
}

std::span<const std::byte> Bytes::memory() const noexcept {
  if (offset_ != kInMemory || !source_) return {};
  return {static_cast<const std::byte*>(source_.get()), as_size(length_)};
}

}  // namespace relayout

// Computes the elements of a tensor from its stored bytes, factors and permutation: in pieces, rounded once.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/positions.h"
#include "model/bytes.h"
#include "model/float_elements.h"
#include "model/permute.h"
#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

using Buffer = std::unique_ptr<std::byte[]>;

Buffer make_buffer(int64_t size) {
  return std::make_unique_for_overwrite<std::byte[]>(as_size(size));
}

std::span<std::byte> view(const Buffer& buffer, int64_t size) {
  return {buffer.get(), as_size(size)};
}

int64_t product(std::span<const int64_t> dims) {
  int64_t out = 1;
  for (const int64_t dim : dims) out *= dim;
  return out;
}

/// Elements of `bits` < 8 one to a byte, the first from the low bits.
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

/// A permutation that keeps dim 0 and lets two groups of dims behind it change places.
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
  return Exchange{product(dims.subspan(1, as_size(split - 1))), product(dims.subspan(as_size(split)))};
}

/// Reads rows of dim 0 of one tensor as a file stores them.
class RowReader {
 public:
  explicit RowReader(const TensorData& data) : data_(data), type_(data.type()), source_type_(data.source_type()) {}

  void read(int64_t begin, int64_t count, std::span<std::byte> out) const;
  void read_in_pieces(int64_t row, const TensorData::PieceSink& sink) const;

 private:
  /// Elements of the source that make `count` rows, by dim.
  [[nodiscard]] Dims part_dims(int64_t count) const;
  [[nodiscard]] int64_t row_count() const { return data_.dims().empty() ? 1 : data_.dims()[0]; }
  /// The source's axis that is dim 0 of the result.
  [[nodiscard]] std::size_t row_axis() const { return data_.permutation().empty() ? 0 : as_size(data_.permutation()[0]); }
  [[nodiscard]] bool converts() const { return type_ != source_type_; }
  void read_part(int64_t begin, int64_t count, std::span<std::byte> out) const;
  void check_assumed(int64_t begin, int64_t count, std::span<const std::byte> rows) const;
  void scale_part(int64_t begin, int64_t count, const std::byte* from, std::byte* to) const;
  void scale_run(int64_t first_element, int64_t count, const std::byte* from, std::byte* to) const;
  void read_packed(int64_t begin, int64_t count, std::span<std::byte> out) const;

  const TensorData& data_;
  DataType type_, source_type_;
};

void RowReader::read(int64_t begin, int64_t count, std::span<std::byte> out) const {
  const int64_t rows = row_count();
  if (begin < 0 || count < 0 || count > rows || begin > rows - count) fail(ErrorKind::defect, "tensor data: rows out of range");
  if (count == 0 || data_.source().size() == 0) return;
  if (traits(type_).bits < 8) return read_packed(begin, count, out);
  const int64_t size = data_.byte_size() / rows * count;
  if (static_cast<int64_t>(out.size()) != size) fail(ErrorKind::defect, "tensor data: a buffer that does not fit the rows");
  // Read, scaled and converted, permuted: each step into `out` when it is the last, and in place where it may be.
  const int64_t source_size = data_.source().size() / rows * count;
  const bool computes = converts(), permutes = !data_.permutation().empty();
  const Buffer read = make_buffer(computes || permutes ? source_size : 0);
  std::byte* const source = computes || permutes ? read.get() : out.data();
  read_part(begin, count, {source, as_size(source_size)});
  if (!data_.assumed().empty()) check_assumed(begin, count, {source, as_size(source_size)});
  const Buffer computed = make_buffer(computes && permutes ? size : 0);
  std::byte* const target = !permutes ? out.data() : computes ? computed.get() : source;
  scale_part(begin, count, source, target);
  if (permutes) permute(memory_size(type_), target, part_dims(count), data_.permutation(), out.data());
}

Dims RowReader::part_dims(int64_t count) const {
  Dims dims = data_.source_dims();
  if (!dims.empty()) dims[row_axis()] = count;
  return dims;
}

void RowReader::read_part(int64_t begin, int64_t count, std::span<std::byte> out) const {
  const auto axis = row_axis();
  const std::span<const int64_t> dims = data_.source_dims();
  const int64_t inner =
      dims.empty() ? data_.source().size() : product(dims.subspan(axis + 1)) * static_cast<int64_t>(memory_size(source_type_));
  const auto run = as_size(inner * count);
  int64_t offset = begin * inner;
  while (!out.empty()) {
    data_.source().read(offset, out.first(run));
    out = out.subspan(run);
    if (!dims.empty()) offset += inner * dims[axis];
  }
}

void RowReader::check_assumed(int64_t begin, int64_t count, std::span<const std::byte> rows) const {
  // With another dim first there are no whole rows to look at.
  if (!data_.permutation().empty() && data_.permutation()[0] != 0) throw OutOfRange();
  const std::size_t row = rows.size() / as_size(count);
  for (int64_t i = 0; i < count; ++i) {
    const double largest = largest_magnitude(source_type_, rows.subspan(as_size(i) * row, row));
    for (const auto& scale : data_.assumed()) {
      ChannelRange range;
      range.note(largest, scale->at(begin + i, 0));
      if (range.overflows(source_type_) || range.vanishes(source_type_)) throw OutOfRange();
    }
  }
}

void RowReader::scale_part(int64_t begin, int64_t count, const std::byte* from, std::byte* to) const {
  if (data_.scales().empty() && !converts()) return;
  const std::span<const int64_t> dims = data_.source_dims();
  if (dims.empty()) return scale_run(0, 1, from, to);
  const auto axis = row_axis();
  const int64_t inner = product(dims.subspan(axis + 1));
  const int64_t run = inner * count, runs = element_count(part_dims(count)) / std::max<int64_t>(run, 1);
  for (int64_t i = 0; i < runs; ++i) {
    scale_run((i * dims[axis] + begin) * inner, run, from, to);
    from += run * static_cast<int64_t>(memory_size(source_type_));
    to += run * static_cast<int64_t>(memory_size(type_));
  }
}

void RowReader::scale_run(int64_t first_element, int64_t count, const std::byte* from, std::byte* to) const {
  if (data_.scales().empty() && !converts()) return;
  const std::span<const int64_t> dims = data_.source_dims();
  // Elements from one index of the axis to the next; of an axis along which nothing varies: all.
  const int64_t all = product(dims);
  const auto step = [&](int64_t size, std::size_t axis) { return size != 1 ? product(dims.subspan(axis + 1)) : all; };
  struct Steps {
    const Scale& scale;
    int64_t row, column;
  };
  std::vector<Steps> steps;
  int64_t run = all;
  for (const auto& scale : data_.scales()) {
    steps.push_back({*scale, step(scale->rows, scale->row_axis), step(scale->columns, scale->column_axis)});
    run = std::min({run, steps.back().row, steps.back().column});
  }
  for (int64_t done = 0; done < count;) {
    const int64_t at = first_element + done;
    const int64_t length = std::min(count - done, run - at % run);
    double factor = 1;
    for (const auto& [scale, row, column] : steps) factor *= scale.at(at / row % scale.rows, at / column % scale.columns);
    // A factor of one leaves the bits as they are, signaling NaNs included.
    if (factor != 1.0 || converts()) {
      multiply(source_type_, from + done * static_cast<int64_t>(memory_size(source_type_)), type_,
               to + done * static_cast<int64_t>(memory_size(type_)), length, factor);
    }
    done += length;
  }
}

void RowReader::read_in_pieces(int64_t row, const TensorData::PieceSink& sink) const {
  if (!data_.assumed().empty()) throw OutOfRange();
  constexpr int64_t kPiece = int64_t{4} << 20;
  const int64_t rows = row_count();
  const int64_t row_size = data_.byte_size() / rows;
  const std::optional<Exchange> exchange =
      data_.permutation().empty() ? std::nullopt : as_exchange(data_.source_dims(), data_.permutation());
  if (traits(type_).bits < 8 || (!data_.permutation().empty() && !exchange)) {
    const Buffer buffer = make_buffer(row_size);
    read(row, 1, view(buffer, row_size));
    return sink(0, view(buffer, row_size));
  }
  const auto size = static_cast<int64_t>(memory_size(type_)), source_size = static_cast<int64_t>(memory_size(source_type_));
  const int64_t elements = row_size / size;
  // Without a permutation the row is one column of elements, read in any portions.
  const int64_t leading = exchange ? exchange->leading : elements;
  const int64_t trailing = exchange ? exchange->trailing : 1;
  const int64_t portion = std::clamp<int64_t>(kPiece / (trailing * source_size), 1, leading);
  const bool computes = converts();
  const Buffer source = make_buffer(portion * trailing * source_size);
  const Buffer computed = make_buffer(computes ? portion * trailing * size : 0);
  const Buffer target = make_buffer(exchange ? portion * trailing * size : 0);
  std::byte* const scaled = computes ? computed.get() : source.get();
  for (int64_t at = 0; at < leading; at += portion) {
    const int64_t count = std::min(portion, leading - at);
    const int64_t first = row * elements + at * trailing;
    data_.source().read(first * source_size, view(source, count * trailing * source_size));
    scale_run(first, count * trailing, source.get(), scaled);
    if (!exchange) {
      sink(at * size, {scaled, as_size(count * size)});
      continue;
    }
    permute(memory_size(type_), scaled, Dims{count, trailing}, Dims{1, 0}, target.get());
    for (int64_t k = 0; k < trailing; ++k) {
      sink((k * leading + at) * size, view(target, (k + 1) * count * size).subspan(as_size(k * count * size)));
    }
  }
}

void RowReader::read_packed(int64_t begin, int64_t count, std::span<std::byte> out) const {
  const int64_t elements = element_count(data_.dims());
  const int64_t rows = row_count();
  const int64_t row = elements / rows;
  const int bits = traits(type_).bits;
  const bool rows_are_bytes = row * bits % 8 == 0 && (data_.permutation().empty() || data_.permutation()[0] == 0);
  const bool whole = count == rows;
  if (!whole && !rows_are_bytes)
    fail(ErrorKind::defect, "tensor data: rows of " + std::string(name_of(type_)) + " that are not whole bytes");
  if (static_cast<int64_t>(out.size()) != packed_byte_size(type_, row * count))
    fail(ErrorKind::defect, "tensor data: a buffer that does not fit the rows");
  const int64_t offset = row * bits / 8 * begin;
  if (data_.permutation().empty()) return data_.source().read(offset, out);
  const Buffer packed = make_buffer(static_cast<int64_t>(out.size()));
  data_.source().read(offset, view(packed, static_cast<int64_t>(out.size())));
  const Buffer source = make_buffer(row * count);
  const Buffer target = make_buffer(row * count);
  unpack(view(packed, static_cast<int64_t>(out.size())), bits, view(source, row * count));
  permute(1, source.get(), part_dims(count), data_.permutation(), target.get());
  pack(view(target, row * count), bits, out);
}

}  // namespace

void TensorData::read_rows(int64_t begin, int64_t count, std::span<std::byte> out) const {
  RowReader(*this).read(begin, count, out);
}

void TensorData::read_row_in_pieces(int64_t row, const PieceSink& sink) const {
  RowReader(*this).read_in_pieces(row, sink);
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
  const Buffer packed = make_buffer(source_.size());
  read_rows(0, rows, view(packed, source_.size()));
  unpack(view(packed, source_.size()), bits, memory);
  if (type_ == DataType::int4 || type_ == DataType::int2) extend_signs(memory, bits);
  return tensor;
}

}  // namespace relayout

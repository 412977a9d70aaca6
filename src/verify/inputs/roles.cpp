// Finds what an input is for: ids, indices, masks, images or numbers, from the nodes that read it.
#include "verify/inputs/roles.h"

#include <cmath>
#include <ranges>

#include "base/interrupt.h"
#include "base/positions.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/call.h"
#include "ops/constants.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operand_roles.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {

// Rows of embedding tables: those that differ, and those of zeros.
namespace {

const TensorData* data_of(const Value& value) {
  if (value.initializer() != nullptr) return value.initializer()->data.get();
  const Node* const producer = value.producer();
  return producer != nullptr ? producer->constant_data() : nullptr;
}

/// Calls `read` with blocks of whole rows of a tensor until it returns false; not at all where a row is too long, or none is there.
void for_each_block_of_rows(const TensorData& data, const std::function<bool(int64_t, int64_t, std::span<const std::byte>)>& read) {
  constexpr int64_t kBuffer = int64_t{1} << 20;
  if (element_count(data.dims()) == 0) return;
  const int64_t rows = data.dims()[0], row_bytes = data.byte_size() / rows;
  if (row_bytes > kBuffer) return;
  const int64_t block = std::min(rows, kBuffer / row_bytes);
  std::vector<std::byte> bytes(as_size(block * row_bytes));
  for (int64_t begin = 0; begin < rows; begin += block) {
    check_interrupt();
    const int64_t count = std::min(block, rows - begin);
    const auto read_bytes = std::span(bytes).first(as_size(count * row_bytes));
    data.read_rows(begin, count, read_bytes);
    if (!read(begin, count, read_bytes)) return;
  }
}

}  // namespace

bool is_table(const Value* value) {
  const TensorData* const data = value == nullptr ? nullptr : data_of(*value);
  return data != nullptr && !data->dims().empty() && kNumericTypes.has(data->type()) && traits(data->type()).bits >= 8;
}

std::vector<int64_t> differing_rows(const Value& a, const Value& b, std::size_t most) {
  if (!is_table(&a) || !is_table(&b)) return {};
  const TensorData &left = *data_of(a), &right = *data_of(b);
  if (left.type() != right.type() || left.dims() != right.dims()) return {};
  std::vector<std::byte> there;
  std::vector<int64_t> out;
  bool is_full = false;
  for_each_block_of_rows(left, [&](int64_t begin, int64_t count, std::span<const std::byte> rows) {
    there.resize(rows.size());
    right.read_rows(begin, count, there);
    const std::size_t row = rows.size() / as_size(count);
    for (std::size_t at = 0; at < rows.size(); at += row) {
      if (std::memcmp(&rows[at], &there[at], row) == 0) continue;
      is_full = is_full || out.size() == most;
      if (!is_full) out.push_back(begin + static_cast<int64_t>(at / row));
    }
    return !is_full;
  });
  return is_full ? std::vector<int64_t>() : out;
}

std::vector<int64_t> rows_of_zeros(const Value& table, std::size_t most) {
  constexpr int64_t kMostBytes = int64_t{1} << 28;
  if (!is_table(&table) || data_of(table)->byte_size() > kMostBytes) return {};
  constexpr std::byte kSign{0x80};  // of the last byte of a number
  const DataType type = data_of(table)->type();
  const std::size_t size = as_size(traits(type).bits) / 8;
  std::vector<int64_t> out;
  for_each_block_of_rows(*data_of(table), [&](int64_t begin, int64_t count, std::span<const std::byte> rows) {
    const std::size_t row = rows.size() / as_size(count);
    const auto is_zero = [&](std::size_t at) {
      return rows[at] == std::byte{0} || (rows[at] == kSign && is_float(type) && at % size == size - 1);
    };
    for (std::size_t at = 0; at < rows.size() && out.size() < most; at += row) {
      if (std::ranges::all_of(std::views::iota(at, at + row), is_zero)) out.push_back(begin + static_cast<int64_t>(at / row));
    }
    return out.size() < most;
  });
  return out;
}

namespace {

/// Arithmetic after which an integer is still an id or a size, and a float still an image: of numbers of one type, with limits, rounding,
/// or magnitudes.
bool is_arithmetic(const Node& node) {
  const Traits traits = traits_of(node);
  const bool combines = traits.has(Trait::broadcasts) && traits.has(Trait::same_type);
  const bool is_magnitude = traits.has(Trait::homogeneous) && traits.has(Trait::exact);
  return combines || is_magnitude || traits.has(Trait::clips) || traits.rounds() != Rounds::none;
}

/// The value from which only quantizers and Casts compute a value: the same dims, perhaps quantized or of a different type.
const Value* stored_form(const Value* value) {
  const auto is_form = [](const Node& node) { return has_trait(node, Trait::casts) || has_trait(node, Trait::quantizes); };
  while (value != nullptr && value->producer() != nullptr && value->output_index() == 0 && is_form(*value->producer())) {
    value = value->producer()->input(0);
  }
  return value;
}

/// Constant operands, including the defaults of inputs, with which verification runs.
class Operands {
 public:
  [[nodiscard]] std::optional<Dims> dims(const Value* value) {
    if (value == nullptr) return std::nullopt;
    if (value->initializer() != nullptr && value->initializer()->data != nullptr) return value->initializer()->data->dims();
    const auto found = constants_.find(*value);
    if (const auto* const constant = std::get_if<Constant>(&found)) return constant->dims;
    return std::nullopt;
  }

  /// The value of a constant of one element.
  [[nodiscard]] std::optional<double> number(const Value* value) {
    const auto shape = dims(value);
    if (!shape || element_count(*shape) != 1) return std::nullopt;
    const auto tensor = constants_.value(*value);
    if (!tensor || !kNumericTypes.has(tensor->type())) return std::nullopt;
    return load_one<double>(tensor->type(), tensor->bytes());
  }

 private:
  Constants constants_;
};

/// Dim `axis` (may be negative) of a value: of a constant, of a graph input, or as declared.
Extent operand_extent(Operands& operands, const Value* value, int64_t axis) {
  if (value == nullptr) return {};
  const auto constant = operands.dims(stored_form(value));
  const auto declared = value->declared();
  Dims dims;
  if (constant) {
    dims = *constant;
  } else if (declared && declared->has_shape) {
    dims = declared->dims;
  }
  const auto place = checked_axis(axis, dims.size());
  if (!place) return {};
  const int64_t dim = dims[*place], at = static_cast<int64_t>(*place);
  if (dim >= 0) return {dim, {}, at};
  if (value->is_model_input()) return {std::nullopt, value->name(), at};
  return {};
}

/// One id may index any of the dims: the smallest, or the first that is not known.
Extent least_extent(Operands& operands, const Value* value) {
  Extent least;
  const auto dims = operands.dims(value);
  const auto declared = value == nullptr ? std::nullopt : value->declared();
  const std::size_t rank = dims ? dims->size() : declared ? declared->dims.size() : 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Extent extent = operand_extent(operands, value, static_cast<int64_t>(axis));
    if (!extent.size) return extent;
    if (!least.size || *extent.size < *least.size) least = extent;
  }
  return least;
}

/// The dim that is indexed by this reader's ids.
Extent id_limit(Operands& operands, const Node& node) {
  constexpr int64_t kUsualDepth = 3;
  const IdLimit limit = id_limit_of(node);
  const Value* const value = node.input(limit.input);
  switch (limit.by) {
    case IdLimit::By::element:
      return {static_cast<int64_t>(operands.number(value).value_or(kUsualDepth)), {}, 0};
    case IdLimit::By::number:
      return {limit.number, {}, 0};
    case IdLimit::By::any_dim:
      return least_extent(operands, value);
    case IdLimit::By::dim:
      break;
  }
  return operand_extent(operands, value, limit.number);
}

/// Searches from one input through movers, subgraphs and functions.
class Search {
 public:
  explicit Search(const Value& input) : functions_(input.graph().model()), input_(&input) {
    const auto declared = input.declared();
    type_ = declared ? declared->type : DataType::undefined;
    rank_ = declared ? declared->dims.size() : 0;
  }

  InputUse run(const Value* other) {
    visit(*input_, {});
    while (!queue_.empty()) {
      const auto [value, path] = queue_.front();
      queue_.pop_front();
      for (const Use& use : value->uses()) read(*use.node, use.index, path);
    }
    settle(other);
    return use_;
  }

 private:
  /// The nodes between the input and a value.
  struct Path {
    bool moved = false;  ///< dims are no longer the input's
    bool cast = false;
    bool arithmetic = false;
  };

  void visit(const Value& value, Path path) {
    if (seen_.insert(&value).second) queue_.emplace_back(&value, path);
  }

  void read(const Node& node, int index, const Path& path) {
    if (enter(node, index, path)) return;
    if (node.domain().empty()) {
      const std::optional<InputRole> role = role_of(node, as_size(index));
      if (role && !is_whole_power(node)) note(node, *role, path);
      note_demands(node, index, path);
      note_bytes(node, index);
      follow(node, index, path);
    }
    // One position for all is that of the first token: more follow it.
    const auto rotation = rotation_of(node);
    if (rotation && as_size(index) == rotation->positions) note(node, rank_ > 1 ? InputRole::ids : InputRole::zero, path);
    if (node.domain() == kMlDomain && node.op_type() == "DictVectorizer") use_.keys = kernels::vocabulary(OpCall(node, node.opset()));
    if (use_.consumer.empty()) use_.consumer = node.label();
  }

  /// Continues downstream of a mover, a cast or simple arithmetic.
  void follow(const Node& node, int index, Path path) {
    const Traits traits = traits_of(node);
    const bool casts = traits.has(Trait::casts) && index == 0;
    if (casts || traits.moves_input(as_size(index))) {
      path.moved = path.moved || !(casts || traits.has(Trait::identity));
      path.cast = path.cast || casts;
    } else if (is_arithmetic(node) && (is_integer() || reads_constant(node, index))) {
      path.arithmetic = true;
    } else {
      return;
    }
    for (const Value* const output : node.outputs()) {
      if (output != nullptr) visit(*output, path);
    }
  }

  /// Whether a node computes x² or another whole power, which takes negative numbers.
  bool is_whole_power(const Node& node) {
    if (!node.is("Pow")) return false;
    const auto exponent = operands_.number(node.input(1));
    return exponent && *exponent == std::trunc(*exponent);
  }

  bool reads_constant(const Node& node, int index) {
    const Value* const other = node.input(index == 0 ? 1 : 0);
    return other == nullptr || operands_.dims(other).has_value();
  }

  /// Continues inside a subgraph or function that takes the value as input; false if `node` has neither.
  bool enter(const Node& node, int index, const Path& path) {
    const Value* const inner = receiver_of(node, as_size(index), functions_);
    if (inner == nullptr) return false;
    Path inside = path;
    inside.moved = inside.moved || node.is("Scan");
    visit(*inner, inside);
    return true;
  }

  void note(const Node& node, InputRole role, const Path& path) {
    if (role == InputRole::image && path.arithmetic && is_integer() && !path.cast) return;
    if (role > use_.role) return;
    const bool first = role < use_.role;
    use_.role = role;
    if (first) {
      use_.consumer = node.label();
      use_.limit = {};
      use_.tables.clear();
      use_.direct = true;
      use_.negative_ids = true;
    }
    use_.direct = use_.direct && !path.arithmetic;
    constexpr int kNegativeIds = 11;  // Gather, GatherElements, GatherND: negative indices since opset 11
    use_.negative_ids =
        use_.negative_ids && use_.direct && !path.cast && node.opset() >= kNegativeIds && node.op_type().find("Gather") == 0;
    if (role == InputRole::ids) {
      const Extent limit = id_limit(operands_, node);
      if (limit.size && !path.arithmetic) use_.rows = std::min(use_.rows.value_or(*limit.size), *limit.size);
      narrow(limit, first);
      const Value* const table = stored_form(node.input(0));
      if (node.is("Gather") && Attributes(node).integer("axis", 0) == 0 && is_table(table)) use_.tables.push_back(table);
    }
    if (role == InputRole::length) narrow(operand_extent(operands_, node.input(0), length_axis(node)), first);
  }

  /// The smallest limit of all readers counts; an unknown one allows only the first element.
  void narrow(const Extent& limit, bool first) {
    const bool unknown = !limit.size && limit.input.empty();
    if (unknown) {
      use_.limit = {1, {}, 0};
    } else if (first || (!use_.limit.size && limit.size) || (use_.limit.size && limit.size && *limit.size < *use_.limit.size)) {
      use_.limit = limit;
    }
  }

  void note_demands(const Node& node, int index, const Path& path) {
    if (path.moved || path.arithmetic) return;
    if (index != 0) return;
    const auto weight = operands_.dims(node.input(1));
    if (!weight) return;
    for (const auto& [axis, dim] : demanded_dims(node, *weight, rank_)) use_.dims.emplace(axis, dim);
  }

  /// A division by about 255, or a multiplication by its inverse, shows that the input holds bytes.
  void note_bytes(const Node& node, int index) {
    constexpr double kLeast = 100, kMost = 300;
    const bool divides = arithmetic_of(node) == Arithmetic::divide;
    if (index != 0 || (!divides && arithmetic_of(node) != Arithmetic::multiply)) return;
    const auto factor = operands_.number(node.input(1));
    if (!factor || *factor == 0) return;
    const double divisor = divides ? *factor : 1 / *factor;
    if (divisor > kLeast && divisor < kMost) note(node, InputRole::bytes, {});
  }

  /// Types, and readers of masks, decide where no other reader did. Positions counted along a mask are not ids that a caller gives.
  void settle(const Value* other) {
    const bool counts_positions = is_integer() && use_.role == InputRole::ids && !use_.direct;
    if (use_.role < InputRole::mask && !counts_positions) return;
    const bool is_number = is_integer() || use_.role == InputRole::number;
    if (type_ == DataType::boolean || (is_number && is_mask(other))) use_.role = InputRole::mask;
    const bool is_of_tokens = is_named("attention") || is_named("pad");
    use_.fits_labels = use_.role == InputRole::mask && is_integer() && !is_of_tokens && mask_use_in(other) < MaskUse::certain;
    use_.padding = use_.role == InputRole::mask && is_named("mask") && is_integer() && rank_ == 2;
    if (type_ == DataType::uint8 && use_.role > InputRole::bytes) use_.role = InputRole::bytes;
  }

  /// A name alone makes no mask of an integer, but tells one from other factors and counts.
  [[nodiscard]] bool is_mask(const Value* other) const {
    const MaskUse use = mask_use_in(other);
    if (use == MaskUse::refuted) return false;
    if (!is_integer()) return is_named("mask");
    return use >= MaskUse::factor || (is_named("mask") && use == MaskUse::possible);
  }
  /// What this model says, unless the other one refutes it.
  [[nodiscard]] MaskUse mask_use_in(const Value* other) const {
    return other != nullptr && mask_use_of(*other) == MaskUse::refuted ? MaskUse::refuted : mask_use_of(*input_);
  }
  [[nodiscard]] bool is_named(std::string_view word) const { return input_->name().find(word) != std::string::npos; }

  [[nodiscard]] bool is_integer() const { return traits(type_).is_integer; }

  Functions functions_;
  Operands operands_;
  const Value* input_;
  DataType type_;
  std::size_t rank_;
  InputUse use_;
  std::unordered_set<const Value*> seen_;
  std::deque<std::pair<const Value*, Path>> queue_;
};

}  // namespace

InputUse use_of(const Value& input, const Value* other) {
  return Search(input).run(other);
}

}  // namespace relayout

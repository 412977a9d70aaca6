// Declares the walk that gives values of a graph a leading dim, and what a row of its table sees of a node.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "derive/row.h"
#include "derive/sizes.h"
#include "derive/writer.h"
#include "relayout/graph.h"

namespace relayout::derive {

/// How a batch of B values lies in one tensor.
enum class Form : uint8_t {
  stacked,   ///< [B, of the value…]
  rows,      ///< [B × N, …] of values [N, …]
  channels,  ///< [N, B × C, …] of values [N, C, …]
};

/// Writes nodes at the end of a graph that compute values for a whole batch, from those of others that are given.
class Batcher {
 public:
  /// `count`: the size of the batch.
  Batcher(Graph& graph, Sizes& sizes, Dim count) : graph_(graph), sizes_(sizes), w_(graph), count_(std::move(count)) {}
  void seed(const Value& value, Form form, const Name& name) { batched_[&value][form] = name; }
  /// A value of the whole graph whose first axis is the batch, of values whose first dim is 1.
  void seed_sample(const Value& value);
  /// Writes the nodes that these values need behind the given ones. Error{unsupported} names all nodes without a row.
  void run(const std::vector<const Value*>& wanted);
  /// "": the value is the same for the whole batch, as is what `same` returns.
  [[nodiscard]] Name stacked(const Value& value);
  [[nodiscard]] Name same(const Value& value) const;
  void set_same(const Value& value, const Name& name) { same_[&value] = name; }
  [[nodiscard]] bool is_batched(const Value& value) const { return batched_.contains(&value); }
  /// Whether a value is batched, or computed from other values than before.
  [[nodiscard]] bool is_touched(const Value& value) const { return is_batched(value) || same_.contains(&value); }
  /// A value as a batch, repeated where it is the same for all.
  [[nodiscard]] Name every(const Value& value);
  /// Whether a value in rows has a single one for each of the batch.
  [[nodiscard]] bool is_sample(const Value& value) const;
  [[nodiscard]] bool has(const Value& value, Form form) const;
  /// A batched value in a form.
  [[nodiscard]] Name in(const Value& value, Form form);
  /// The sizes of a batched value from an axis on, as those of its present form.
  [[nodiscard]] std::vector<Dim> tail(const Value& value, std::size_t axis, Form form);
  [[nodiscard]] const Dim& count() const noexcept { return count_; }
  [[nodiscard]] Writer& writer() noexcept { return w_; }

 private:
  using Forms = std::map<Form, Name>;
  void write(const Node& node);
  [[nodiscard]] Name stack(const Value& value, const Forms& forms);

  Graph& graph_;
  Sizes& sizes_;
  Writer w_;
  Dim count_;
  std::unordered_map<const Value*, Forms> batched_;
  std::unordered_map<const Value*, Name> same_;  ///< without a batch, but computed from other values than before
  const Value* sample_ = nullptr;                ///< one of those whose first axis is the batch
  std::vector<std::string> refusals_;
};

/// One node, some of whose operands are batched. Dims are those of single values; names are those of what was written.
class BatchRow : public Row {
 public:
  BatchRow(const Node& node, Sizes& sizes, Batcher& batch) : Row(node, sizes, batch.writer()), batch(batch) {}
  Batcher& batch;

  [[nodiscard]] bool has_input(std::size_t input) const { return node.input(input) != nullptr; }
  [[nodiscard]] bool is_batched(std::size_t input) const { return has_input(input) && batch.is_batched(*node.input(input)); }
  [[nodiscard]] bool has(std::size_t input, Form form) const { return is_batched(input) && batch.has(*node.input(input), form); }
  /// An operand that is the same for the whole batch; refuses a batched one.
  [[nodiscard]] Name own(std::size_t input) const;
  [[nodiscard]] Name in(std::size_t input, Form form) const { return batch.in(present(input), form); }
  [[nodiscard]] Name stacked(std::size_t input = 0) const { return is_batched(input) ? in(input, Form::stacked) : own(input); }
  /// An operand as it broadcasts with others of a higher rank.
  [[nodiscard]] Name stacked_as(std::size_t input, std::size_t rank) const;
  /// An operand in a form, repeated where it is the same for the whole batch.
  [[nodiscard]] Name every(std::size_t input, Form form = Form::stacked) const;
  /// The operands, with the first one in a form and the others as they are.
  [[nodiscard]] Names first_in(Form form) const;
  [[nodiscard]] Name like(const Names& operands, const NamedAttributes& changes = {}) const {
    return w.make_like(node, operands, 0, changes);
  }
  /// 0, 1, 2 …: the places of the batch.
  [[nodiscard]] Name places() const;
  [[nodiscard]] Name size_vector(const Dim& dim) const { return w.shape(std::vector<Dim>{dim}); }
  [[nodiscard]] Name joined(const Names& vectors) const { return w.make("Concat", vectors, {{"axis", int64_t{0}}}); }
  /// [N, B × C, …] of a value's dims as [N, B, C, …].
  [[nodiscard]] Name split_channels(const Name& channels, const Value& value) const;
  /// [N, B, C, …] of the dims of output 0 as [N, B × C, …].
  [[nodiscard]] Name joined_channels(const Name& split) const;
  void give(const Name& name, Form form = Form::stacked, std::size_t output = 0) const;
  /// All outputs of a node like this one.
  void give_all(const Names& operands, Form form, const NamedAttributes& changes = {}) const;
};

/// An operator of which some operands are batched.
struct Batch {
  std::string_view op;
  void (*write)(BatchRow& row);
};
/// The row of a node; nullptr: none.
[[nodiscard]] const Batch* find_batch(const Node& node);
using BatchRows = std::span<const Batch>;
[[nodiscard]] BatchRows movement_batches();
[[nodiscard]] BatchRows product_batches();
[[nodiscard]] BatchRows branch_batches();

}  // namespace relayout::derive

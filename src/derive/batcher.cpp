// Walks along a graph and writes each node for a whole batch by the rows of operators, or collects why it cannot.
#include "derive/batcher.h"

#include <numeric>

#include "base/interrupt.h"
#include "base/numbers.h"
#include "base/text.h"
#include "derive/writer.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/op.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout::derive {

void Batcher::seed_sample(const Value& value) {
  sample_ = &value;
  seed(value, Form::rows, value.name());
}

Name Batcher::same(const Value& value) const {
  const auto found = same_.find(&value);
  return found == same_.end() ? value.name() : found->second;
}

bool Batcher::is_sample(const Value& value) const {
  return sample_ != nullptr && sizes_.is_same(value, 0, *sample_, 0);
}

bool Batcher::has(const Value& value, Form form) const {
  const auto found = batched_.find(&value);
  return found != batched_.end() && found->second.contains(form);
}

Name Batcher::stacked(const Value& value) {
  return is_batched(value) ? in(value, Form::stacked) : Name();
}

std::vector<Dim> Batcher::tail(const Value& value, std::size_t axis, Form form) {
  const std::size_t rank = sizes_.rank(value).value_or(0), shift = form == Form::stacked ? 1 : 0;
  const Name& name = batched_.at(&value).at(form);
  std::vector<Dim> out;
  for (std::size_t i = axis; i < rank; ++i) {
    const int64_t size = sizes_.dim(value, i);
    out.push_back(size >= 0 ? Dim(size) : Dim(-1, name, i + shift));
  }
  return out;
}

namespace {

/// The first two axes exchanged.
std::vector<int64_t> first_two_exchanged(std::size_t rank) {
  std::vector<int64_t> out(rank);
  std::iota(out.begin(), out.end(), 0);
  std::swap(out.at(0), out.at(1));
  return out;
}

std::vector<Dim> joined_dims(std::vector<Dim> first, const std::vector<Dim>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

}  // namespace

Name Batcher::stack(const Value& value, const Forms& forms) {
  if (const auto rows = forms.find(Form::rows); rows != forms.end()) {
    if (is_sample(value)) return w_.unsqueeze(rows->second, {1});
    const int64_t first = sizes_.dim(value, 0);
    return w_.reshape(rows->second, joined_dims({count_, first > 0 ? Dim(first) : Dim(-1)}, tail(value, 1, Form::rows)));
  }
  // Zero: the size that the operand has there.
  const Name& channels = forms.at(Form::channels);
  const Name split = w_.reshape(channels, joined_dims({Dim(0), count_, Dim(-1)}, tail(value, 2, Form::channels)));
  return w_.transpose(split, first_two_exchanged(*sizes_.rank(value) + 1));
}

Name Batcher::in(const Value& value, Form form) {
  Forms& forms = batched_.at(&value);
  if (const auto found = forms.find(form); found != forms.end()) return found->second;
  const auto rank = sizes_.rank(value);
  if (!rank || *rank < (form == Form::rows ? 1U : form == Form::channels ? 2U : 0U)) {
    fail(ErrorKind::unsupported, "the rank of '" + value.name() + "' is not known, or too low");
  }
  if (!forms.contains(Form::stacked)) forms[Form::stacked] = stack(value, forms);
  const Name stacked = forms.at(Form::stacked);
  if (form == Form::rows) forms[form] = w_.reshape(stacked, joined_dims({Dim(-1)}, tail(value, 1, Form::stacked)));
  if (form == Form::channels) {
    const Name inner = w_.transpose(stacked, first_two_exchanged(*rank + 1));
    forms[form] = w_.reshape(inner, joined_dims({Dim(0), Dim(-1)}, tail(value, 2, Form::stacked)));
  }
  return forms.at(form);
}

Name Batcher::every(const Value& value) {
  if (is_batched(value)) return in(value, Form::stacked);
  const Name name = same(value), count = w_.shape(std::vector<Dim>{count_});
  return w_.make("Expand", {name, w_.make("Concat", {count, w_.shape(name)}, {{"axis", int64_t{0}}})});
}

void Batcher::run(const std::vector<const Value*>& wanted) {
  std::unordered_set<const Node*> needed;
  std::vector<const Value*> open = wanted;
  while (!open.empty()) {
    const Value& value = *open.back();
    open.pop_back();
    const Node* const maker = value.producer();
    if (batched_.contains(&value) || maker == nullptr || !needed.insert(maker).second) continue;
    for_each_read(*maker, [&](const Value& input) { open.push_back(&input); });
  }
  std::vector<const Node*> nodes;
  for (const Node& node : graph_.nodes()) {
    if (needed.contains(&node)) nodes.push_back(&node);
  }
  for (const Node* node : nodes) {
    check_interrupt();
    if (any_read(*node, [&](const Value& value) { return is_touched(value); })) write(*node);
  }
  if (refusals_.empty()) return;
  fail(ErrorKind::unsupported,
       "no batched form of " + counted(std::ssize(refusals_), "node") + ": " + some_of(refusals_, 3, std::identity()));
}

void Batcher::write(const Node& node) {
  w_.name_after(first_output(node)->name() + ".batch");
  BatchRow row(node, sizes_, *this);
  try {
    const auto is_batched_input = [&](const Value* value) { return value != nullptr && is_batched(*value); };
    if (!node.subgraphs().empty() && !node.is("If")) row.refuse("it runs other graphs");
    if (node.is("If") || std::ranges::any_of(node.inputs(), is_batched_input)) {
      const Batch* const entry = node.domain().empty() ? find_batch(node) : nullptr;
      if (entry == nullptr) row.refuse("no form of it with a batch is known");
      entry->write(row);
      return;
    }
    Names operands;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) operands.push_back(row.own(i));
    const Names made = w_.make_all_like(node, operands);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (node.output(i) != nullptr) same_[node.output(i)] = made[i];
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    refusals_.emplace_back(error.what());
    for (const Value* output : node.outputs()) {
      if (output != nullptr) same_[output] = output->name();
    }
  }
}

Name BatchRow::own(std::size_t input) const {
  if (!has_input(input)) return {};
  if (is_batched(input)) refuse("operand " + std::to_string(input) + " differs within the batch");
  return batch.same(*node.input(input));
}

Name BatchRow::stacked_as(std::size_t input, std::size_t rank_wanted) const {
  if (!is_batched(input)) return own(input);
  std::vector<int64_t> axes(rank_wanted - std::min(rank(input), rank_wanted));
  std::iota(axes.begin(), axes.end(), 1);
  return w.unsqueeze(in(input, Form::stacked), axes);
}

Name BatchRow::every(std::size_t input, Form form) const {
  if (is_batched(input)) return in(input, form);
  if (form == Form::stacked) return batch.every(present(input));
  std::vector<Dim> repeats(rank(input), Dim(1));
  repeats.at(form == Form::rows ? 0 : 1) = batch.count();
  return w.make("Tile", {own(input), w.shape(repeats)});
}

Names BatchRow::first_in(Form form) const {
  Names out{in(0, form)};
  for (std::size_t i = 1; i < node.inputs().size(); ++i) out.push_back(own(i));
  return out;
}

Name BatchRow::places() const {
  const Dim& count = batch.count();
  const Name limit = count.size >= 0 ? w.integer(count.size) : w.make("Squeeze", {size_vector(count)});
  return w.make("Range", {w.integer(0), limit, w.integer(1)});
}

Name BatchRow::split_channels(const Name& channels, const Value& value) const {
  std::vector<Dim> dims{0, batch.count(), -1};
  for (std::size_t i = 2; i < rank_of(&value); ++i) dims.emplace_back(sizes.dim(value, i), channels, i);
  return w.reshape(channels, dims);
}

Name BatchRow::joined_channels(const Name& split) const {
  std::vector<Dim> dims{0, -1};
  for (std::size_t i = 2; i < rank_of(node.output(0)); ++i) dims.emplace_back(sizes.dim(*node.output(0), i), split, i + 1);
  return w.reshape(split, dims);
}

void BatchRow::give(const Name& name, Form form, std::size_t output) const {
  if (node.output(output) != nullptr) batch.seed(*node.output(output), form, name);
}

void BatchRow::give_all(const Names& operands, Form form, const NamedAttributes& changes) const {
  const Names made = w.make_all_like(node, operands, changes);
  for (std::size_t i = 0; i < made.size(); ++i) give(made[i], form, i);
}

namespace {

/// Whether an elementwise node's operands may stay in a form in which all batched ones are.
bool stay_in(const BatchRow& row, Form form, std::size_t rank) {
  const std::size_t axis = form == Form::rows ? 0 : 1;
  const Value& out = *row.node.output(0);
  if (rank <= axis) return false;
  for (std::size_t i = 0; i < row.node.inputs().size(); ++i) {
    if (!row.has_input(i)) continue;
    const std::size_t own_rank = row.rank(i);
    if (row.is_batched(i)) {
      if (!row.has(i, form) || own_rank != rank || !row.sizes.is_same(row.present(i), axis, out, axis)) return false;
    } else if (own_rank + axis >= rank && row.size(i, own_rank + axis - rank) != 1) {
      return false;
    }
  }
  return true;
}

void elementwise(BatchRow& row) {
  const std::size_t count = row.node.inputs().size();
  const Traits& traits = traits_of(row.node);
  bool is_of_type_alone = true;
  for (std::size_t i = 0; i < count; ++i) {
    is_of_type_alone = is_of_type_alone && (!row.is_batched(i) || traits.reads(i) == Reads::type);
  }
  if (is_of_type_alone) row.refuse("only the type of a batch is read");
  if (row.node.is("Clip") && (row.is_batched(1) || row.is_batched(2))) {
    Name out = row.stacked_as(0, row.rank(0));
    if (row.has_input(1)) out = row.w.make("Max", {out, row.stacked_as(1, row.rank(0))});
    if (row.has_input(2)) out = row.w.make("Min", {out, row.stacked_as(2, row.rank(0))});
    return row.give(out);
  }
  const std::size_t rank = row.rank_of(row.node.output(0));
  for (const Form form : {Form::rows, Form::channels}) {
    if (!stay_in(row, form, rank)) continue;
    Names operands;
    for (std::size_t i = 0; i < count; ++i) operands.push_back(row.is_batched(i) ? row.in(i, form) : row.own(i));
    return row.give(row.like(operands), form);
  }
  Names operands;
  for (std::size_t i = 0; i < count; ++i) operands.push_back(row.has_input(i) ? row.stacked_as(i, rank) : Name());
  // The slope of PRelu has no dims of its own.
  if (row.node.is("PRelu")) operands[0] = row.every(0);
  row.give(row.like(operands));
}

constexpr Batch kElementwiseBatch{"", elementwise};

}  // namespace

const Batch* find_batch(const Node& node) {
  for (const BatchRows table : {movement_batches(), product_batches(), branch_batches()}) {
    const auto found = std::ranges::find(table, node.op_type(), &Batch::op);
    if (found != table.end()) return &*found;
  }
  return has_trait(node, Trait::elementwise) ? &kElementwiseBatch : nullptr;
}

}  // namespace relayout::derive

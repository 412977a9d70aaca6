// Keeps where the values of a plan are, copies them into other orders, and chooses who copies.

#include "base/positions.h"
#include "exec/constant_store.h"
#include "exec/inference.h"
#include "exec/kernels/kernel.h"
#include "exec/layout_guide.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {

Places::Places(const ValueFacts& facts, const LayoutGuide& guide, const LoweringSettings& settings, ReadCounts reads, StepWriter& steps)
    : facts_(facts),
      guide_(guide),
      optimized_(settings.mode == Mode::optimized),
      weights_late_(settings.weights_late),
      reads_(std::move(reads)),
      steps_(steps),
      where_(facts.states.size()) {}

/// Chooses for each operand of the group a place in the order that its consumer needs; copies it when there is none.
void Places::begin(const Group& group) {
  reads_.add(group, -1);
  std::unordered_set<ValueId> inside;
  for (const ProgramNode* node : group.nodes) inside.insert(node->output(0));
  for (const ProgramNode* node : group.nodes) {
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const ValueId value = node->inputs[i];
      if (value == ValueId::none || !facts_.is_tensor(value) || facts_.constant(value) != nullptr || inside.contains(value)) continue;
      where_[value].chosen = 0;
      if (const auto wanted = guide_.wanted(node->id, i)) choose(value, *wanted);
    }
  }
}

void Places::choose(ValueId value, const layout::AxisOrder& wanted) {
  (void)of(value);
  const auto& places = where_[value].places;
  const auto found = std::ranges::find_if(places, [&](const Place& candidate) { return follows(candidate.desc, wanted); });
  if (found != places.end()) {
    where_[value].chosen = as_size(found - places.begin());
  } else {
    (void)dense(value, wanted);
    where_[value].chosen = where_[value].places.size() - 1;
  }
}

void Places::define(ValueId value, Place place) {
  reads_.settle(value, place.buffer);
  where_[value].places.push_back(std::move(place));
}

void Places::define_elements(ValueId value, std::vector<Place> places) {
  for (const Place& place : places) reads_.settle(value, place.buffer);
  where_[value].elements = std::move(places);
}

const std::vector<Place>* Places::elements(ValueId value) const {
  const Where& at = where_[value];
  return at.elements.empty() ? nullptr : &at.elements;
}

Place Places::import_value(ValueId value) {
  const ValueState& state = facts_.state(value);
  TensorDesc desc{state.info->type, state.info->dims, {}};
  desc.strides = state.strides ? *state.strides : contiguous_strides(desc.dims);
  where_[value].imported = true;
  return steps_.import_place(value, std::move(desc));
}

bool Places::is_read_late(ValueId value) const {
  constexpr int64_t kLeastBytes = 1 << 20;
  const KnownConstant* const known = weights_late_ ? facts_.constant(value) : nullptr;
  if (known == nullptr || !known->is_stored_in_order() || known->type() == DataType::string) return false;
  return known->element_count() * static_cast<int64_t>(memory_size(known->type())) >= kLeastBytes;
}

Place Places::constant_place(ValueId value, KnownConstant& known) {
  if (!is_read_late(value)) return steps_.fixed_place(facts_.store.load(known));
  return steps_.fixed_place(ordered(known.type(), known.dims(), Order::contiguous),
                            [store = &facts_.store, known] { return store->read(known); });
}

Place Places::of(ValueId value) {
  if (where_[value].places.empty()) {
    KnownConstant* const known = facts_.constant(value);
    define(value, known != nullptr ? constant_place(value, *known) : import_value(value));
  }
  return where_[value].places[where_[value].chosen];
}

Place Places::dense(ValueId value, Order order) {
  return dense_as(value, exec::axes_of(order, facts_.info(value).dims), !optimized_);
}

Place Places::dense_inside(ValueId value, Order order) {
  return dense_as(value, exec::axes_of(order, facts_.info(value).dims), true);
}

Place Places::dense_as(ValueId value, const layout::AxisOrder& order, bool inside) {
  const Place stored = of(value);
  const TensorDesc wanted = ordered(stored.desc.type, stored.desc.dims, order);
  const auto is_wanted = [&](const TensorDesc& desc) {
    if (std::ranges::find(desc.dims, 0) != desc.dims.end()) return true;
    for (const int64_t axis : order) {
      if (element_at(desc.strides, axis) != element_at(wanted.strides, axis)) return false;
    }
    return true;
  };
  for (const Place& candidate : where_[value].places) {
    if (!is_wanted(candidate.desc)) continue;
    Place out = candidate;
    out.desc = wanted;
    return out;
  }
  if (KnownConstant* const known = facts_.constant(value)) {
    const Tensor source = facts_.store.load(*known);
    Tensor copied(wanted);
    const auto kernel = make_copy_kernel(source.desc(), copied.desc(), {});
    kernel->bind(0, source.bytes());
    kernel->bind(1, copied.bytes());
    kernel->run();
    define(value, steps_.fixed_place(copied));
    return where_[value].places.back();
  }
  // A view with gaps, or one without a planned order, only becomes dense.
  const bool turns = guide_.has_order(value) && !follows(stored.desc, order);
  const Place out = steps_.new_place(wanted);
  steps_.copy(stored, out, inside ? StepKind::inside : turns ? StepKind::reorder : StepKind::pack);
  // A copy made inside one node is not offered to other readers.
  if (!inside || !optimized_) define(value, out);
  return out;
}

bool Places::can_overwrite(const Place& place) const {
  return steps_.is_in_arena(place) && reads_.in(place.buffer) == 0;
}

SlotId Places::slot(ValueId value) {
  SlotId& slot = where_[value].slot;
  if (slot == SlotId::none) slot = steps_.new_slot(facts_.info(value).kind);
  return slot;
}

SlotId Places::read_slot(ValueId value) {
  Where& at = where_[value];
  if (at.slot == SlotId::none) {
    at.slot = steps_.import_slot(value, facts_.info(value).kind);
    at.imported = true;
  }
  return at.slot;
}

void Places::hand_over(ValueId value) {
  if (where_[value].places.empty() || where_[value].imported || facts_.constant(value) != nullptr || !guide_.has_order(value)) return;
  where_[value].chosen = 0;
  const Place contiguous = dense(value, Order::contiguous);
  const auto& places = where_[value].places;
  const auto found = std::ranges::find_if(
      places, [&](const Place& candidate) { return candidate.buffer == contiguous.buffer && candidate.offset == contiguous.offset; });
  where_[value].chosen = as_size(found - places.begin());
}

std::vector<ValueId> Places::made_for_later() const {
  std::vector<ValueId> out;
  for (const ValueId value : where_.ids()) {
    const Where& at = where_[value];
    if ((at.places.empty() && at.slot == SlotId::none) || at.imported || reads_.of(value) == 0 || facts_.constant(value) != nullptr)
      continue;
    out.push_back(value);
  }
  return out;
}

// Who copies a tensor.
namespace {

/// Copies of no more bytes use relayout's kernel: the library's reorder takes longer to start than they take in all.
constexpr int64_t kSmallCopyBytes = 16384;
/// So do copies of images of at most this many channels, which the library's reorder copies element by element.
constexpr int64_t kFewCopyChannels = 4;

/// Whether the library's reorder, which takes f32 with positive strides, is the faster one.
bool suits_library(const TensorDesc& from, const TensorDesc& to) {
  const std::size_t rank = from.dims.size();
  if (byte_count(to) <= kSmallCopyBytes || from.type != DataType::float32 || rank < 3 || rank > 6) return false;
  return from.dims[1] > kFewCopyChannels && std::ranges::all_of(from.strides, [](int64_t stride) { return stride > 0; });
}

}  // namespace

std::unique_ptr<Kernel> choose_copy(const TensorDesc& from, const TensorDesc& to, Team team) {
  if (team.library != nullptr && suits_library(from, to)) {
    MadePrimitive made = team.library->make(Reorder{from, to});
    if (made.primitive) return make_primitive_kernel(std::move(made.primitive), {{Argument::source, 0}, {Argument::destination, 0}});
  }
  return make_copy_kernel(from, to, team);
}

}  // namespace relayout::exec

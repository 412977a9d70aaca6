// Tells which dims of a graph's values are known, and which free dims are one and the same.
#include "derive/sizes.h"

#include "layout/graph_shapes.h"
#include "layout/sizes.h"
#include "model/walk.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

/// Sizes for the free dims, such that no two of them, nor simple functions of two, agree in both inferences. Small ones do not go beyond
/// tables of positions.
ShapeOptions assumed_sizes(const Graph& graph, std::size_t inference, bool is_small) {
  using Choices = std::array<std::array<int64_t, 6>, 2>;
  constexpr Choices kLarge = {{{1009, 1511, 2003, 2503, 3001, 3511}, {1277, 1801, 2309, 2801, 3307, 3803}}};
  constexpr Choices kSmall = {{{11, 13, 17, 19, 23, 29}, {29, 31, 37, 41, 43, 47}}};
  const Choices& choices = is_small ? kSmall : kLarge;
  ShapeOptions out;
  const std::map<std::string, int64_t> images = layout::image_sizes(graph);
  std::map<std::string, int64_t> given;
  std::size_t next = 0;
  for (const Value* input : graph.inputs()) {
    const auto declared = input->declared();
    if (input->initializer() != nullptr || !declared || !declared->has_shape) continue;
    Dims dims = declared->dims;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] >= 0) continue;
      const std::string name = layout::free_dim_name(*input, *declared, i);
      const auto image = images.find(name);
      const auto count = static_cast<int64_t>(given.size());
      const bool is_picture = image != images.end();
      const std::size_t round = next / choices[0].size();
      const int64_t plain = choices[inference][next % choices[0].size()] + static_cast<int64_t>(round) * 4001;
      const int64_t size = is_picture ? image->second + 32 * count + static_cast<int64_t>(inference) * (64 + 32 * count) : plain;
      const auto [entry, is_new] = given.try_emplace(name, size);
      if (is_new && !is_picture) ++next;
      dims[i] = entry->second;
    }
    out.shapes[input->name()] = std::move(dims);
  }
  return out;
}

/// The outputs of an If, of dims that both branches give.
std::optional<std::vector<std::optional<layout::Shapes::Known>>> after_if(const Node& node, layout::Shapes& shapes) {
  if (!node.is("If")) return std::nullopt;
  std::vector<std::optional<layout::Shapes::Known>> out;
  for (const auto& nested : node.subgraphs()) {
    layout::Shapes inside(*nested, {}, &shapes, after_if);
    const bool is_first = nested == node.subgraphs().front();
    for (std::size_t i = 0; i < nested->outputs().size(); ++i) {
      auto made = inside.known(*nested->outputs()[i]);
      if (made) {
        // The contents are those of one branch alone.
        made->has_contents = made->is_constant = false;
        made->datum = {};
        made->info.value = nullptr;
      }
      if (is_first) {
        out.push_back(std::move(made));
      } else if (i < out.size() && out[i] && (!made || made->info.dims != out[i]->info.dims || made->info.type != out[i]->info.type)) {
        out[i].reset();
      }
    }
  }
  return out;
}

}  // namespace

layout::Shapes Sizes::assume(const Graph& graph, std::size_t inference, const Like& like, Sizes* before) const {
  ShapeOptions sizes = assumed_sizes(graph, inference, is_small_);
  for (const auto& [input, value] : like) {
    const Dims* const dims = before->assumed_[inference].dims_of(value);
    if (dims != nullptr) sizes.shapes[input->name()] = *dims;
  }
  return layout::Shapes(graph, sizes, nullptr, after_if);
}

Sizes::Sizes(const Graph& graph, const Like& like, Sizes* before, bool is_small)
    : is_small_(is_small || (before != nullptr && before->is_small_)),
      assumed_{assume(graph, 0, like, before), assume(graph, 1, like, before)} {
  if (before == nullptr && !assumed_[0].misfit().empty()) {
    is_small_ = true;
    assumed_ = {assume(graph, 0, like, before), assume(graph, 1, like, before)};
  }
  for_each_node(graph, [&](const Node& node) { has_bounds_ = has_bounds_ || bounds_dims(node); });
}

/// Whether a size may be the smaller or larger of a free dim and a number: by a slice, or arithmetic of sizes.
bool Sizes::bounds_dims(const Node& node) {
  const Value* const out = node.output(0);
  if (out == nullptr) return false;
  if (node.is("Min") || node.is("Max") || node.is("Mod") || node.is("Clip")) return traits(type(*out)).is_integer && !is_constant(*out);
  if (!node.is("Slice")) return false;
  const PartialDims dims = constants_.dims(*out);
  for (std::size_t i = 0; dims && i < dims->size(); ++i) {
    if ((*dims)[i] < 0 && usual_dim(*out, i) >= 0) return true;
  }
  return !dims;
}

std::optional<std::vector<int64_t>> Sizes::assumed_integers(const Value& value, std::size_t inference) {
  const auto known = assumed_.at(inference).known(value);
  if (!known || !known->has_contents || known->info.type != DataType::int64) return std::nullopt;
  const Tensor all = contiguous(known->datum.tensor);
  return std::vector<int64_t>(all.data<int64_t>(), all.data<int64_t>() + all.element_count());
}

DataType Sizes::type(const Value& value) {
  if (const DatumInfo* const info = assumed_[0].find(value)) return info->type;
  return constants_.type_of(value);
}

std::optional<std::size_t> Sizes::rank(const Value& value) {
  if (const PartialDims dims = constants_.dims(value)) return dims->size();
  const Dims* const dims = assumed_[0].dims_of(&value);
  return dims == nullptr ? std::nullopt : std::optional(dims->size());
}

int64_t Sizes::dim(const Value& value, std::size_t axis) {
  const PartialDims dims = constants_.dims(value);
  const int64_t certain = dims && axis < dims->size() ? (*dims)[axis] : -1;
  return certain < 0 && !has_bounds_ ? usual_dim(value, axis) : certain;
}

int64_t Sizes::usual_dim(const Value& value, std::size_t axis) {
  const Dims* const first = assumed_[0].dims_of(&value);
  const Dims* const second = assumed_[1].dims_of(&value);
  if (first == nullptr || second == nullptr || axis >= first->size() || axis >= second->size()) return -1;
  return (*first)[axis] == (*second)[axis] ? (*first)[axis] : -1;
}

bool Sizes::is_same(const Value& a, std::size_t axis_of_a, const Value& b, std::size_t axis_of_b) {
  if (&a == &b && axis_of_a == axis_of_b) return true;
  const int64_t known_a = dim(a, axis_of_a), known_b = dim(b, axis_of_b);
  if (known_a >= 0 || known_b >= 0) return known_a == known_b;
  const auto first = assumed(a, axis_of_a), second = assumed(b, axis_of_b);
  return first && first == second;
}

std::optional<Sizes::Pair> Sizes::assumed(const Value& value, std::size_t axis) {
  Pair out{};
  for (std::size_t i = 0; i < assumed_.size(); ++i) {
    const Dims* const dims = assumed_[i].dims_of(&value);
    if (dims == nullptr || axis >= dims->size()) return std::nullopt;
    out[i] = (*dims)[axis];
  }
  return out[0] > 1 && out[0] != out[1] ? std::optional(out) : std::nullopt;
}

void Sizes::offer(const Value& value) {
  const Dims* const dims = assumed_[0].dims_of(&value);
  for (std::size_t i = 0; dims != nullptr && i < dims->size(); ++i) {
    if (const auto pair = assumed(value, i)) offered_.try_emplace(*pair, &value, i);
  }
}

std::optional<std::pair<const Value*, std::size_t>> Sizes::twin(const Value& value, std::size_t axis) {
  const auto pair = assumed(value, axis);
  const auto found = pair ? offered_.find(*pair) : offered_.end();
  return found == offered_.end() ? std::nullopt : std::optional(found->second);
}

const Value* Sizes::lasting(const Value& value) const {
  const auto found = hidden_.find(&value);
  return found == hidden_.end() ? &value : found->second;
}

bool Sizes::have_same_dims(const Value& a, const Value& b) {
  const auto rank_of_a = rank(a);
  if (!rank_of_a || rank_of_a != rank(b)) return false;
  for (std::size_t i = 0; i < *rank_of_a; ++i) {
    if (!is_same(a, i, b, i)) return false;
  }
  return true;
}

std::optional<std::vector<int64_t>> Sizes::integers(const Value& value) {
  const std::optional<Tensor> contents = constants_.value(value);
  return contents && traits(contents->type()).is_integer ? std::optional(truncated_integers_of(*contents)) : std::nullopt;
}

std::optional<double> Sizes::number(const Value& value) {
  const std::optional<Tensor> contents = constants_.value(value);
  if (!contents || contents->element_count() != 1 || contents->type() == DataType::string) return std::nullopt;
  return reals_of(*contents).front();
}

}  // namespace relayout::derive

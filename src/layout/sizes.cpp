// Checks the sizes that users give to free dims, and gives published sizes to inputs that hold images or videos.
#include "layout/sizes.h"

#include <numeric>

#include "base/positions.h"
#include "base/text.h"
#include "layout/axis_order.h"
#include "ops/op.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

/// ", only 'x', 'y' and 3 more"
std::string list_of(const std::vector<std::string>& names) {
  return names.empty() ? "" : ", only " + some_of(names, 4, quote);
}

/// The first published size of an axis after batch and channels.
std::optional<int64_t> published_size(std::size_t rank, std::size_t axis) {
  if (rank == 4) return kPublishedImages.front()[axis - 2];
  if (rank == 5) return kPublishedVideos.front()[axis - 2];
  return std::nullopt;
}

/// Axis i of a value is axis order[i] of the one that it was computed from.
struct Reordered {
  const Value* value;
  Dims order;
};

/// The result of a node that reads a value, with its axes; nothing unless it is elementwise or a Transpose.
std::optional<Reordered> passed_on(const Reordered& read, const Node& node) {
  const Value* const result = node.output(0);
  if (result == nullptr) return std::nullopt;
  if (has_trait(node, Trait::same_dims) || has_trait(node, Trait::broadcasts)) return Reordered{result, read.order};
  const auto moved = node.is("Transpose") ? permutation_of(node, read.order.size()) : std::nullopt;
  if (!moved || moved->size() != read.order.size()) return std::nullopt;  // the value was broadcast to more axes
  Reordered out{result, {}};
  for (const int64_t axis : *moved) out.order.push_back(read.order[as_size(axis)]);
  return out;
}

/// Whether a convolution reads a value, directly or through elementwise operators and Transposes that cancel.
bool feeds_convolution(const Value& start, std::size_t rank) {
  constexpr std::size_t kMostValues = 64;  // normalisation of a network's input takes a few
  Dims as_it_is(rank);
  std::iota(as_it_is.begin(), as_it_is.end(), int64_t{0});
  std::vector<Reordered> open{{&start, as_it_is}};
  std::unordered_set<const Value*> seen{&start};
  while (!open.empty()) {
    const Reordered at = std::move(open.back());
    open.pop_back();
    for (const Use& use : at.value->uses()) {
      const Node& node = *use.node;
      if (traits_of(node).convolution_weight() && use.index == 0 && at.order == as_it_is) return true;
      auto next = passed_on(at, node);
      if (next && seen.size() < kMostValues && seen.insert(next->value).second) open.push_back(std::move(*next));
    }
  }
  return false;
}

}  // namespace

SizeNames size_names(const Graph& graph) {
  SizeNames out;
  out.place = escape(graph.model().name()) + ": ";
  for (const Value* const input : graph.inputs()) {
    if (input->initializer() != nullptr) {
      out.defaults.emplace_back(input->name());
      continue;
    }
    out.inputs.emplace_back(input->name());
    const auto declared = input->declared();
    if (!declared) continue;
    const bool is_fixed = !declared->dims.empty() && std::ranges::all_of(declared->dims, [](int64_t dim) { return dim >= 0; });
    if (is_fixed && out.fixed_input.empty()) out.fixed_input = input->name(), out.fixed_dims = declared->dims;
    for (const std::string& symbol : declared->symbols) {
      if (!symbol.empty()) out.symbols.emplace_back(symbol);
    }
  }
  return out;
}

void check_input_name(std::string_view option, const std::string& name, const SizeNames& names) {
  if (std::ranges::find(names.inputs, name) != names.inputs.end()) return;
  if (std::ranges::find(names.defaults, name) != names.defaults.end()) {
    fail(ErrorKind::usage,
         names.place + std::string(option) + " " + escape(name) + ": the file has contents for this input, which are used");
  }
  fail(ErrorKind::usage,
       names.place + std::string(option) + " " + escape(name) + ": the model has no input of this name" + list_of(names.inputs),
       did_you_mean(name, names.inputs));
}

namespace {

/// What gives a model without free dims another size: "--set-shape x=4,3,224,224"; empty where that is not so.
std::string way_to_size(const SizeNames& names, int64_t size, std::string_view option) {
  if (!names.symbols.empty() || names.fixed_input.empty()) return {};
  std::string dims = std::to_string(size);
  for (const int64_t dim : std::span(names.fixed_dims).subspan(1)) dims += "," + std::to_string(dim);
  const bool changes_model = option == "--set-dim";
  return std::string(changes_model ? "" : "convert ") + "--set-shape " + shell_word(names.fixed_input + "=" + dims) +
         (changes_model ? " sets a fixed one" : " makes a model of other dims");
}

}  // namespace

void check_sizes(const ShapeOptions& sizes, const SizeNames& names, std::string_view option) {
  for (const auto& [name, dims] : sizes.shapes) check_input_name("--shape", name, names);
  for (const auto& [name, size] : sizes.dims) {
    if (std::ranges::find(names.symbols, name) != names.symbols.end()) continue;
    const std::string other = way_to_size(names, size, option);
    fail(ErrorKind::usage,
         names.place + std::string(option) + " " + escape(name) + ": no input has a free dimension of this name" + list_of(names.symbols),
         other.empty() ? did_you_mean(name, names.symbols) : other);
  }
}

bool is_unknown_dim(std::string_view symbol) {
  constexpr auto kWords = std::to_array<std::string_view>({"", "unk", "unknown", "none", "null"});
  std::string word = ascii_lower(symbol);
  std::erase_if(word, [](char c) { return (c >= '!' && c <= '@') || c == '_'; });  // punctuation and digits
  return std::ranges::find(kWords, word) != kWords.end();
}

std::string free_dim_name(const Value& input, const ShapeInfo& declared, std::size_t axis) {
  const std::string& symbol = declared.symbols[axis];
  return is_unknown_dim(symbol) ? "dim " + std::to_string(axis) + " of " + input.name() : symbol;
}

std::map<std::string, int64_t> image_sizes(const Graph& graph) {
  std::map<std::string, int64_t> out;
  for (const Value* const input : graph.inputs()) {
    const auto declared = input->declared();
    if (input->initializer() != nullptr || !declared || !feeds_convolution(*input, declared->dims.size())) continue;
    for (std::size_t axis = 2; axis < declared->dims.size(); ++axis) {
      const auto size = published_size(declared->dims.size(), axis);
      if (declared->dims[axis] < 0 && size) out.emplace(free_dim_name(*input, *declared, axis), *size);
    }
  }
  return out;
}

}  // namespace relayout::layout

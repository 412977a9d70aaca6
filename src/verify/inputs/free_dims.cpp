// Sizes of free dims for samples: `--dim`, `--shape`, which dims are batches, sequences or images by name or place, their guessed sizes,
// errors where no guess is safe (sizes that weights imply: demanded_dims.cpp).
#include "verify/inputs/free_dims.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "base/whole_number.h"
#include "layout/graph_shapes.h"
#include "layout/published_sizes.h"
#include "layout/sizes.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/inputs.h"
#include "relayout/types.h"
#include "verify/inputs/port.h"
#include "verify/inputs/roles.h"

namespace relayout {
namespace {

/// Sizes of up to three spatial axes, for even and odd samples. Those of the first attempt are unequal, so that exchanged axes show;
/// further ones suit classifiers with a fixed Flatten.
struct Sizes {
  layout::SpatialSizes even, odd;
  /// For odd samples, if requested: sizes that show rounding up, rounding down and the side of a padding. When they are halved repeatedly,
  /// up or down, each depth has an odd number on one axis and, if there are several axes, an even one on another.
  layout::SpatialSizes uneven = odd;
};
constexpr auto kLines =
    std::to_array<Sizes>({{{96}, {160}, {149}}, {{1024}, {1024}}, {{128}, {128}}, {{4096}, {4096}}, {{16000}, {16000}}, {{30}, {30}}});
/// Sizes of the first attempt, then the published ones, which are equal for all samples.
template <std::size_t kCount>
constexpr std::array<Sizes, kCount + 1> with_published(const Sizes& first, const std::array<layout::SpatialSizes, kCount>& published) {
  std::array<Sizes, kCount + 1> out{first};
  for (std::size_t i = 0; i < kCount; ++i) out[i + 1] = {published[i], published[i]};
  return out;
}
constexpr auto kPlanes = with_published({{64, 96}, {96, 160}, {107, 149}}, layout::kPublishedImages);
constexpr auto kVolumes = with_published({{16, 32, 48}, {32, 16, 48}, {21, 27, 45}}, layout::kPublishedVideos);
constexpr auto kSequences = std::to_array<Sizes>({{{11}, {16}}, {{8}, {8}}, {{128}, {128}}, {{512}, {512}}, {{77}, {77}}, {{1}, {1}}});

constexpr int64_t kBatches[] = {2, 3};
/// Sizes of dims for which there is no other clue. They differ from each other and from the usual sizes of other dims.
constexpr auto kUnlike = std::to_array<int64_t>({5, 7, 13, 17, 19, 23, 29, 31, 37, 41});
/// Sizes to try if those do not fit.
constexpr auto kDivisible = std::to_array<int64_t>({8, 64, 12, 1});
constexpr int kMaxSumDepth = 4;

int64_t pick(std::span<const Sizes> table, std::size_t position, int attempt, const FreeDims::Place& place) {
  const Sizes& sizes = table[std::min(as_size(attempt), table.size() - 1)];
  const auto& odd = place.uneven ? sizes.uneven : sizes.odd;
  return (place.sample % 2 == 0 ? sizes.even : odd)[std::min<std::size_t>(position, 2)];
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool is_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

/// Adjusts the sizes of `open` dims, node by node, until all nodes fit. Whether that succeeds.
bool fit(const Graph& graph, const InputShapes& inputs, const std::vector<std::string>& open, SizesByKey& sizes) {
  const auto place_of = [&](const SizesByKey& trial) {
    const layout::Shapes shapes(graph, {{}, inputs.with(trial)});
    const auto at = std::ranges::find_if(graph.nodes(), [&](const Node& node) { return &node == shapes.misfit_node(); });
    return std::distance(graph.nodes().begin(), at);
  };
  const auto end = std::distance(graph.nodes().begin(), graph.nodes().end());
  // Replaces all open dims of one size by a size that the misfit node reads, or by one that reshapes often divide by, and accepts the first
  // replacement with which a later node is the first misfit.
  const auto advance = [&](std::ptrdiff_t place) {
    layout::Shapes shapes(graph, {{}, inputs.with(sizes)});
    std::vector<int64_t> candidates;
    for (const Value* const input : shapes.misfit_node()->inputs()) {
      const Dims* const dims = input == nullptr ? nullptr : shapes.dims_of(input);
      if (dims != nullptr) candidates.insert(candidates.end(), dims->begin(), dims->end());
    }
    candidates.insert(candidates.end(), kDivisible.begin(), kDivisible.end());
    for (const std::string& key : open) {
      for (const int64_t size : candidates) {
        SizesByKey trial = sizes;
        for (const std::string& other : open) {
          if (sizes.at(other) == sizes.at(key)) trial.at(other) = size;
        }
        if (size == sizes.at(key) || place_of(trial) <= place) continue;
        sizes = std::move(trial);
        return true;
      }
    }
    return false;
  };
  for (std::ptrdiff_t place = place_of(sizes); place != end; place = place_of(sizes)) {
    if (!advance(place)) return false;
  }
  return true;
}

}  // namespace

const Port& tensor_port(const Port& port) {
  const Port* at = &port;
  while (!at->element.empty()) at = &at->element.front();
  return *at;
}

std::map<std::string, Dims> InputShapes::with(const SizesByKey& sizes) const {
  std::map<std::string, Dims> out;
  for (const Port& whole : ports_) {
    const auto given = given_.find(whole.name);
    const Port& port = tensor_port(whole);
    Dims dims = given != given_.end() ? given->second : port.dims;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis] < 0) dims[axis] = sizes.at(port.key(axis));
    }
    out.emplace(whole.name, std::move(dims));
  }
  return out;
}

FreeDims::FreeDims(const std::vector<Port>& ports, const std::vector<InputUse>& uses, const InputOptions& options,
                   const std::map<std::string, Dims>& shapes_of_files, const std::map<std::string, int64_t>& bound, const Graph* graph)
    : shapes_(ports) {
  for (std::size_t i = 0; i < ports.size(); ++i) add_input(ports[i], uses[i]);
  check_names(ports, options, graph);
  for (const Port& port : ports) {
    for (const auto* const shapes : {&options.shapes, &shapes_of_files}) {
      const auto found = shapes->find(port.name);
      if (found != shapes->end()) fix_shape(port, found->second);
    }
  }
  for (const auto& [symbol, value] : options.dims) {
    if (value < 0) fail(ErrorKind::usage, "--dim " + escape(symbol) + "=" + std::to_string(value) + ": a size cannot be negative");
    for (const auto& [key, free] : free_) {
      if (free.symbol == symbol) fix(key, value, free.input, free.axis);
    }
  }
  for (const auto& [key, value] : bound) fix(key, value, free_.at(key).input, free_.at(key).axis);
  if (graph != nullptr) choose(*graph);
  check_guessable();
  count_attempts();
}

void FreeDims::check_names(const std::vector<Port>& ports, const InputOptions& options, const Graph* graph) const {
  layout::SizeNames names = graph != nullptr ? layout::size_names(*graph) : layout::SizeNames();
  names.inputs.clear();
  names.symbols.clear();
  for (const Port& port : ports) names.inputs.push_back(port.name);
  for (const auto& [key, free] : free_) {
    if (!free.symbol.empty()) names.symbols.push_back(free.symbol);
  }
  layout::check_sizes({options.dims, options.shapes}, names);
  for (const auto& [name, path] : options.inputs) layout::check_input_name("--input", name, names);
}

void FreeDims::add_input(const Port& whole, const InputUse& use) {
  const Port& port = tensor_port(whole);
  const std::size_t rank = port.dims.size();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (port.dims[axis] >= 0) continue;
    const std::string& symbol = port.symbols[axis];
    Free& free = free_.try_emplace(port.key(axis)).first->second;
    if (free.input.empty()) {
      free.input = whole.name;
      free.axis = axis;
      free.symbol = symbol;
    }
    if (const auto demanded = use.dims.find(static_cast<int64_t>(axis)); demanded != use.dims.end()) {
      free.kind = Kind::fixed;
      free.value = demanded->second;
    }
    if (free.kind != Kind::unknown) continue;
    const std::string name = ascii_lower(symbol);
    const bool image = (use.role == InputRole::image || use.role == InputRole::bytes) && rank >= 3;
    if (symbol.find('+') != std::string::npos) {
      free.kind = Kind::sum;
      // NOLINTNEXTLINE(bugprone-branch-clone): a name is a better clue than a position
    } else if (contains_any(name, {"batch"}) || is_any(name, {"n", "b", "bs", "nb"})) {
      free.kind = Kind::batch;
    } else if (contains_any(name, {"seq", "len", "time", "token", "step", "frame", "past"}) || is_any(name, {"t", "l", "s"})) {
      free.kind = Kind::sequence;
    } else if (axis == 0) {
      free.kind = Kind::batch;
    } else if (axis >= 2 && rank <= 5 && (image || contains_any(name, {"height", "width", "depth"}) || is_any(name, {"h", "w", "d"}))) {
      free.kind = Kind::spatial;
      free.position = axis - 2;
      free.spatial = rank - 2;
    } else if (axis == 1 && !image && (rank == 2 || rank == 3)) {
      const bool features = rank == 2 && is_float(port.type) && use.role == InputRole::number;
      free.kind = features ? Kind::unknown : Kind::sequence;
    }
  }
}

void FreeDims::fix(const std::string& key, int64_t value, const std::string& input, std::size_t axis) {
  Free& free = free_[key];
  if (free.kind == Kind::fixed && free.value != value && !free.input.empty()) {
    fail(ErrorKind::usage, "dimension " + quote(key) + " cannot be both " + std::to_string(free.value) + " and " + std::to_string(value) +
                               " (input " + quote(input) + ", axis " + std::to_string(axis) + ")");
  }
  free.kind = Kind::fixed;
  free.value = value;
}

void FreeDims::fix_shape(const Port& whole, const Dims& dims) {
  const Port& port = tensor_port(whole);
  if (!port.has_shape) {
    shapes_.give(whole.name, dims);
    return;
  }
  const bool fits = dims.size() == port.dims.size();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (!fits || dims[axis] < 0 || (port.dims[axis] >= 0 && port.dims[axis] != dims[axis])) {
      fail(ErrorKind::usage, "shape " + to_string(dims) + " does not fit input " + quote(whole.name) + ", which is " + type_text(whole));
    }
    if (port.dims[axis] < 0) fix(port.key(axis), dims[axis], whole.name, axis);
  }
  if (!fits)
    fail(ErrorKind::usage, "shape " + to_string(dims) + " does not fit input " + quote(whole.name) + ", which is " + type_text(whole));
}

std::string FreeDims::option_for(const std::string& key, const Free& free) const {
  if (free.symbol == key) return "--dim " + shell_word(key + "=SIZE");
  const Port& port = *std::ranges::find(shapes_.ports(), free.input, &Port::name);
  std::string dims;
  const Port& tensor = tensor_port(port);
  for (std::size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    const std::string& symbol = tensor.symbols[axis];
    const std::string unknown = layout::is_unknown_dim(symbol) ? "SIZE" : symbol;
    dims += (axis == 0 ? "" : ",") + (tensor.dims[axis] >= 0 ? std::to_string(tensor.dims[axis]) : unknown);
  }
  return "--shape " + shell_word(free.input + "=" + dims);
}

void FreeDims::check_guessable() const {
  for (const Port& whole : shapes_.ports()) {
    if (shapes_.has_rank(whole)) continue;
    fail(ErrorKind::usage, "input " + quote(whole.name) + " has no declared shape, and no guess is safe",
         "give its shape: --shape " + shell_word(whole.name + "=SIZE,SIZE"));
  }
  for (const auto& [key, free] : free_) {
    if (free.kind != Kind::unknown) continue;
    const std::string which = free.symbol == key ? quote(key) + " (axis " + std::to_string(free.axis) + ")" : std::to_string(free.axis);
    fail(ErrorKind::usage, "dimension " + which + " of input " + quote(free.input) + " is free, and no guess is safe",
         "give its size: " + option_for(key, free));
  }
}

void FreeDims::count_attempts() {
  bool has_batch = false;
  std::size_t sizes = 1;
  for (const auto& [key, free] : free_) {
    has_batch = has_batch || free.kind == Kind::batch;
    if (free.kind == Kind::sequence) sizes = std::max(sizes, kSequences.size());
    if (free.kind != Kind::spatial) continue;
    sizes = std::max(sizes, free.spatial == 1 ? kLines.size() : free.spatial == 2 ? kPlanes.size() : kVolumes.size());
  }
  size_attempts_ = static_cast<int>(sizes);
  attempts_ = size_attempts_ * (has_batch ? 2 : 1);
}

void FreeDims::choose(const Graph& graph) {
  const auto is_unknown = [](const auto& entry) { return entry.second.kind == Kind::unknown; };
  const auto has_rank = [&](const Port& port) { return shapes_.has_rank(port); };
  if (std::ranges::none_of(free_, is_unknown) || !std::ranges::all_of(shapes_.ports(), has_rank)) return;
  // Guessed batches and sequences are kept first, and are chosen, too, only if that does not fit.
  for (const bool with_guesses : {false, true}) {
    const auto before = free_;
    if (choose(graph, with_guesses)) return;
    free_ = before;
  }
}

bool FreeDims::choose(const Graph& graph, bool with_guesses) {
  std::vector<std::string> open;
  for (const auto& [key, free] : free_) {
    const bool is_guess = free.kind == Kind::batch || free.kind == Kind::sequence;
    if (free.kind == Kind::unknown || (with_guesses && is_guess)) open.push_back(key);
  }
  SizesByKey sizes;
  for (const auto& [key, free] : free_) sizes[key] = free.kind == Kind::unknown ? 0 : value_of(key, free, {}, 0);
  for (std::size_t i = 0; i < open.size(); ++i) sizes[open[i]] = kUnlike[i % kUnlike.size()];
  const SizesByKey first = sizes;
  if (!fit(graph, shapes_, open, sizes)) return false;
  std::erase_if(open, [&](const std::string& key) { return free_.at(key).kind != Kind::unknown && sizes.at(key) == first.at(key); });
  for (const std::string& key : open) free_.at(key).kind = Kind::unknown;
  const auto fits = [&](int sample) { return layout::Shapes(graph, {{}, assign({sample, 2}).shapes}).misfit().empty(); };
  for (const std::string& key : open) {
    Free& free = free_.at(key);
    const auto is_like = [&](const auto& entry) { return entry.second.varies() && sizes.at(entry.first) == sizes.at(key); };
    const auto like = std::ranges::find_if(free_, is_like);
    free.kind = like != free_.end() ? Kind::like : Kind::chosen;
    if (like != free_.end()) free.other = like->first;
    free.value = sizes.at(key);
    free.odd = free.value + 1;
  }
  if (fits(0) && fits(1)) return true;
  for (const std::string& key : open) free_.at(key).odd = free_.at(key).value;
  return fits(0) && fits(1);
}

int64_t FreeDims::value_of(const std::string& key, const Free& free, const Place& place, int depth) const {
  // All attempts at sizes with batches of two and three, then all with a batch of one.
  const bool single = place.attempt >= size_attempts_;
  const int size = place.attempt % size_attempts_;
  switch (free.kind) {
    case Kind::fixed:
      return free.value;
    case Kind::batch:
      return single || (place.samples > 2 && place.sample == place.samples - 1) ? 1 : kBatches[place.sample % 2];
    case Kind::sequence:
      return pick(kSequences, 0, size, place);
    case Kind::spatial:
      if (free.spatial == 1) return pick(kLines, 0, size, place);
      return free.spatial == 2 ? pick(kPlanes, free.position, size, place) : pick(kVolumes, free.position, size, place);
    case Kind::sum:
      return evaluate_sum(key, place, depth);
    case Kind::chosen:
      return place.sample % 2 == 0 ? free.value : free.odd;
    case Kind::like:
      return value_of(free.other, free_.at(free.other), place, depth + 1);
    case Kind::unknown:
      break;
  }
  fail(ErrorKind::defect, "a free dimension without value: " + quote(key));
}

/// Evaluates "past_sequence_length + sequence_length", as exporters write it. A term that no input has counts as a sequence.
int64_t FreeDims::evaluate_sum(const std::string& key, const Place& place, int depth) const {
  int64_t sum = 0;
  std::string_view rest = key;
  while (true) {
    const std::size_t plus = rest.find('+');
    std::string_view term = rest.substr(0, plus);
    while (!term.empty() && term.front() == ' ') term.remove_prefix(1);
    while (!term.empty() && term.back() == ' ') term.remove_suffix(1);
    const auto found = free_.find(std::string(term));
    if (const auto number = whole_number(term)) {
      sum += *number;
    } else if (found != free_.end() && depth < kMaxSumDepth) {
      sum += value_of(found->first, found->second, place, depth + 1);
    } else {
      sum += pick(kSequences, 0, place.attempt % size_attempts_, place);
    }
    if (plus == std::string_view::npos) return std::max<int64_t>(sum, 0);
    rest.remove_prefix(plus + 1);
  }
}

FreeDims::Assignment FreeDims::assign(const Place& place) const {
  Assignment out;
  for (const auto& [key, free] : free_) out.dims[key] = value_of(key, free, place, 0);
  out.shapes = shapes_.with(out.dims);
  return out;
}

bool FreeDims::are_guessed() const {
  return std::ranges::any_of(free_, [](const auto& entry) { return entry.second.is_guessed(); });
}

void FreeDims::fail_of_guesses(const std::string& why) const {
  std::string names, options;
  for (const auto& [key, free] : free_) {
    if (!free.is_guessed()) continue;
    names += (names.empty() ? "" : ", ") + quote(key);
    const std::string option = option_for(key, free);
    if (options.find(option) == std::string::npos) options += (options.empty() ? "" : " ") + option;
  }
  fail(ErrorKind::usage, "no size for " + names + " was found that the model takes: " + why, "give sizes: " + options);
}

}  // namespace relayout

// Chooses the sizes of free dims for each sample, as the model's operators allow, and refuses where no guess is safe.
#include "verify/inputs/free_dims.h"

#include <set>

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "layout/graph_shapes.h"
#include "layout/sizes.h"
#include "ops/operand_roles.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/inputs.h"
#include "relayout/types.h"
#include "verify/inputs/port.h"
#include "verify/inputs/roles.h"

namespace relayout {
namespace {

/// Sizes of up to three spatial axes, for even and odd samples, which differ so that shapes written for one size show. Those of the first
/// attempt are unequal, so that exchanged axes show; further ones suit classifiers with a fixed Flatten.
struct Sizes {
  layout::SpatialSizes even, odd;
  /// For odd samples, if requested: sizes that show rounding up, rounding down and the side of a padding. When they are halved repeatedly,
  /// up or down, each depth has an odd number on one axis and, if there are several axes, an even one on another.
  layout::SpatialSizes uneven = odd;
};
constexpr auto kLines =
    std::to_array<Sizes>({{{96}, {160}, {149}}, {{1024}, {1536}}, {{128}, {192}}, {{4096}, {6144}}, {{16000}, {24000}}, {{30}, {45}}});
/// Sizes of the first attempt, then the published ones, which odd samples exceed by `step`.
template <std::size_t kCount>
constexpr std::array<Sizes, kCount + 1> with_published(const Sizes& first, const std::array<layout::SpatialSizes, kCount>& published,
                                                       const layout::SpatialSizes& step) {
  std::array<Sizes, kCount + 1> out{first};
  for (std::size_t i = 0; i < kCount; ++i) {
    layout::SpatialSizes odd = published[i];
    for (std::size_t axis = 0; axis < odd.size(); ++axis) odd[axis] += step[axis];
    out[i + 1] = {published[i], odd};
  }
  return out;
}
constexpr auto kPlanes = with_published({{64, 96}, {96, 160}, {107, 149}}, layout::kPublishedImages, {32, 32, 0});
constexpr auto kVolumes = with_published({{16, 32, 48}, {32, 16, 48}, {21, 27, 45}}, layout::kPublishedVideos, {8, 32, 32});
constexpr auto kSequences = std::to_array<Sizes>({{{11}, {16}}, {{8}, {24}}, {{128}, {64}}, {{512}, {256}}, {{77}, {55}}, {{1}, {2}}});

/// Batches of the first attempts; those of the last one suit models that pick single items by number.
constexpr int64_t kBatches[] = {2, 3}, kLargeBatches[] = {8, 11};
/// Sizes of dims for which there is no other clue. They differ from each other and from the usual sizes of other dims.
constexpr auto kUnlike = std::to_array<int64_t>({5, 7, 13, 17, 19, 23, 29, 31, 37, 41});
/// Sizes to try if those do not fit.
constexpr auto kDivisible = std::to_array<int64_t>({8, 64, 12, 1});
constexpr int kMaxSumDepth = 4;

int64_t pick(std::span<const Sizes> table, std::size_t position, int attempt, const FreeDims::Place& place) {
  const Sizes& sizes = table[std::min(as_size(attempt), table.size() - 1)];
  const auto& odd = place.uneven ? sizes.uneven : sizes.odd;
  const std::size_t axis = std::min<std::size_t>(position, 2);
  return place.of(sizes.even[axis], odd[axis]);
}

/// The size of a spatial axis. Twice the sizes of even samples would take long, and suit few models more than others.
int64_t pick_spatial(std::size_t axes, std::size_t position, int attempt, FreeDims::Place place) {
  if (place.odd == FreeDims::Odd::doubled) place.odd = FreeDims::Odd::own;
  if (axes == 1) return pick(kLines, 0, attempt, place);
  return axes == 2 ? pick(kPlanes, position, attempt, place) : pick(kVolumes, position, attempt, place);
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool is_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

/// Which node of a graph does not fit sizes, inside the graphs that an If may enter or a Loop or Scan repeats too.
class Fit {
 public:
  /// Indices of the nodes that lead to the first misfit, the outermost first; less is earlier.
  using Path = std::vector<std::ptrdiff_t>;

  Fit(const Graph& graph, const InputShapes& inputs, const SizesByKey& sizes) {
    layout::Shapes shapes(graph, {{}, inputs.with(sizes)}, nullptr, inside());
    fits_ = shapes.misfit().empty();
    if (!fits_) misfit_ = misfit_of(graph, shapes);
  }
  [[nodiscard]] bool fits() const noexcept { return fits_; }
  /// Whether all nodes fit, or the first misfit is later.
  [[nodiscard]] bool is_beyond(const Fit& other) const { return !other.fits_ && (fits_ || misfit_.path > other.misfit_.path); }
  /// Sizes that the node reads.
  [[nodiscard]] const std::vector<int64_t>& sizes() const noexcept { return misfit_.sizes; }

 private:
  struct Misfit {
    Path path;
    std::vector<int64_t> sizes;
  };

  Misfit misfit_of(const Graph& graph, layout::Shapes& shapes) {
    const Node* const node = shapes.misfit_node();
    const auto found = nested_.find(node);
    Misfit out = found != nested_.end() ? found->second : Misfit{};
    const auto at = std::ranges::find_if(graph.nodes(), [&](const Node& each) { return &each == node; });
    out.path.insert(out.path.begin(), std::distance(graph.nodes().begin(), at));
    if (found != nested_.end()) return out;
    for (const Value* const input : node->inputs()) {
      const Dims* const dims = shapes.dims_of(input);
      if (dims != nullptr) out.sizes.insert(out.sizes.end(), dims->begin(), dims->end());
    }
    return out;
  }

  using Results = std::vector<std::optional<layout::Shapes::Known>>;

  /// Follows the branches of an If that its condition, as far as it is known, may enter, and the body of a Loop or Scan.
  layout::Shapes::Inside inside() {
    return [this](const Node& node, layout::Shapes& shapes) -> std::optional<Results> {
      if (const Graph* const body = node.subgraph("body")) {
        follow(node, *body, shapes);
        return std::nullopt;
      }
      if (!node.is("If") || node.input(0) == nullptr) return std::nullopt;
      const auto condition = shapes.known(*node.input(0));
      const auto truth = condition ? condition->truth() : std::nullopt;
      Results results;
      for (const bool is_then : {true, false}) {
        const Graph* const nested = node.subgraph(is_then ? "then_branch" : "else_branch");
        if (nested == nullptr || truth.value_or(is_then) != is_then) continue;
        Results of_branch = follow(node, *nested, shapes);
        if (truth) results = std::move(of_branch);
      }
      return results;
    };
  }

  /// The results of a graph of a node, whose inputs are unknown; fails where one of its nodes does not fit.
  Results follow(const Node& node, const Graph& nested, layout::Shapes& shapes) {
    std::vector<layout::Shapes::Given> inputs;
    for (const Value* const input : nested.inputs()) inputs.push_back({input});
    layout::Shapes within(nested, {}, &shapes, inside(), inputs);
    if (!within.misfit().empty()) {
      nested_[&node] = misfit_of(nested, within);
      fail(ErrorKind::invalid, within.misfit());
    }
    Results out;
    for (const Value* const output : nested.outputs()) out.push_back(within.known(*output));
    return out;
  }

  std::unordered_map<const Node*, Misfit> nested_;  ///< by the node around it
  Misfit misfit_;
  bool fits_ = false;
};

/// Sizes from 1 on that grow by an eighth: they meet every range of sizes wider than that.
std::vector<int64_t> growing_sizes() {
  constexpr int64_t kLargest = 1 << 16;
  std::vector<int64_t> out;
  for (int64_t size = 2; size <= kLargest; size += std::max<int64_t>(size / 8, 1)) out.push_back(size);
  return out;
}

/// Adjusts the sizes of `open` dims, node by node, until all nodes fit. Whether that succeeds.
bool fit(const Graph& graph, const InputShapes& inputs, const std::vector<std::string>& open, SizesByKey& sizes) {
  constexpr int64_t kMostNodes = 500'000;  // over all trials
  const int64_t nodes = std::max<int64_t>(std::distance(graph.nodes().begin(), graph.nodes().end()), 1);
  int64_t trials = kMostNodes / nodes;
  // Replaces all open dims of one size by another and accepts the first replacement with which a later node is the first misfit.
  const auto replace = [&](Fit& now, const std::vector<int64_t>& candidates) {
    for (const std::string& key : open) {
      for (const int64_t size : candidates) {
        SizesByKey trial = sizes;
        for (const std::string& other : open) {
          if (sizes.at(other) == sizes.at(key)) trial.at(other) = size;
        }
        if (size == sizes.at(key)) continue;
        if (--trials < 0) return false;
        Fit then(graph, inputs, trial);
        if (!then.is_beyond(now)) continue;
        sizes = std::move(trial);
        now = std::move(then);
        return true;
      }
    }
    return false;
  };
  Fit now(graph, inputs, sizes);
  while (!now.fits()) {
    // Sizes that the misfit node reads, then those that reshapes often divide by, then any.
    std::vector<int64_t> candidates = now.sizes();
    candidates.insert(candidates.end(), kDivisible.begin(), kDivisible.end());
    if (!replace(now, candidates) && !replace(now, growing_sizes())) return false;
  }
  return true;
}

}  // namespace

const Port& tensor_port(const Port& port) {
  const Port* at = &port;
  while (!at->element.empty()) at = &at->element.back();
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
    : shapes_(ports), graph_(graph) {
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
  attempts_ = has_batch ? 2 * size_attempts_ + 1 : size_attempts_;
}

bool FreeDims::fits(const Place& place) const {
  const auto has_rank = [&](const Port& port) { return shapes_.has_rank(port); };
  if (graph_ == nullptr || !std::ranges::all_of(shapes_.ports(), has_rank)) return true;
  return Fit(*graph_, shapes_, assign(place).dims).fits();
}

void FreeDims::choose(const Graph& graph) {
  const auto is_unknown = [](const auto& entry) { return entry.second.kind == Kind::unknown; };
  const auto has_rank = [&](const Port& port) { return shapes_.has_rank(port); };
  if (free_.empty() || !std::ranges::all_of(shapes_.ports(), has_rank)) return;
  if (std::ranges::none_of(free_, is_unknown)) {
    count_attempts();
    for (int attempt = 0; attempt < attempts_; ++attempt) {
      if (fits({0, 2, attempt})) return;
    }
  }
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
  for (const std::string& key : open) {
    Free& free = free_.at(key);
    const auto is_like = [&](const auto& entry) { return entry.second.varies() && sizes.at(entry.first) == sizes.at(key); };
    const auto like = std::ranges::find_if(free_, is_like);
    free.kind = like != free_.end() ? Kind::like : Kind::chosen;
    if (like != free_.end()) free.other = like->first;
    free.value = free.odd = sizes.at(key);
  }
  return fits({0, 2}) && vary(open);
}

bool FreeDims::vary(const std::vector<std::string>& chosen) {
  // A size that just fits may leave one frame of a window, which shows no order or distance of frames: a small one grows first.
  constexpr int64_t kFactors[] = {4, 1, 2, 3}, kAddends[] = {1, 1, 0, 0}, kMostGrown = 256;
  // Sets the sizes of odd samples of all these dims of one size, 0: of all, where they fit.
  const auto try_sizes = [&](int64_t wanted) {
    for (std::size_t i = 0; i < std::size(kFactors); ++i) {
      const auto before = free_;
      const auto is_long = [&](const std::string& key) { return free_.at(key).value > kMostGrown; };
      if (i == 0 && std::ranges::any_of(chosen, is_long)) continue;
      for (const std::string& key : chosen) {
        Free& free = free_.at(key);
        if (wanted == 0 || free.value == wanted) free.odd = free.value * kFactors[i] + kAddends[i];
      }
      if (fits({1, 2})) return true;
      free_ = before;
    }
    return false;
  };
  if (try_sizes(0)) return true;
  std::set<int64_t> values;
  for (const std::string& key : chosen) values.insert(free_.at(key).value);
  bool is_any = false;
  for (const int64_t value : values) is_any = try_sizes(value) || is_any;
  return is_any || fits({1, 2});
}

int64_t FreeDims::value_of(const std::string& key, const Free& free, const Place& place, int depth) const {
  // All attempts at sizes with batches of two and three, then all with a batch of one, then one with large batches.
  const bool single = place.attempt >= size_attempts_, large = place.attempt >= 2 * size_attempts_;
  const int size = place.attempt % size_attempts_;
  switch (free.kind) {
    case Kind::fixed:
      return free.value;
    case Kind::batch:
      if (large) return place.of(kLargeBatches[0], kLargeBatches[1]);
      if (single) return place.of(1, 1);
      if (place.samples > 2 && place.sample == place.samples - 1 && !place.keeps_batch) return 1;
      return place.of(kBatches[0], kBatches[1]);
    case Kind::sequence:
      return pick(kSequences, 0, size, place);
    case Kind::spatial:
      return pick_spatial(free.spatial, free.position, size, place);
    case Kind::sum:
      return evaluate_sum(key, place, depth);
    case Kind::chosen:
      return place.of(free.value, free.odd);
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

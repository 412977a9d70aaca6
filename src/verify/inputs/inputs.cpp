// Makes all inputs of a sample from files or generated numbers, and refuses inputs that cannot be guessed.
#include "verify/inputs/inputs.h"

#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "ops/bounds.h"
#include "ops/loops/dtypes.h"
#include "ops/operand_roles.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/inputs.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/input_file.h"
#include "verify/inputs/port.h"
#include "verify/inputs/roles.h"

namespace relayout {
namespace {

/// Number of elements of a generated sequence.
constexpr std::size_t kSequenceLength = 3;

/// Lets ids first select the rows of their tables that differ in the other graph, where the same input reads as many tables.
void prefer_differing_rows(const Value& there, InputUse& here) {
  // This many differing rows are enough to show a difference.
  constexpr std::size_t kMost = 1024;
  const InputUse use = use_of(there);
  if (use.tables.size() != here.tables.size()) return;
  for (std::size_t k = 0; k < use.tables.size(); ++k) {
    const std::vector<int64_t> rows = differing_rows(*here.tables[k], *use.tables[k], kMost);
    here.preferred.insert(here.preferred.end(), rows.begin(), rows.end());
  }
}

/// Lets ids select rows of zeros, as of padding, early: a norm or a guard treats them apart.
void prefer_rows_of_zeros(InputUse& use) {
  constexpr std::size_t kMost = 2;
  for (const Value* const table : use.tables) {
    const std::vector<int64_t> rows = rows_of_zeros(*table, kMost);
    use.preferred.insert(use.preferred.end(), rows.begin(), rows.end());
  }
}

/// Adds the numbers at which a model decides about an input.
void add_words(const Value* input, InputUse& use) {
  if (input == nullptr) return;
  for (const double word : vocabulary_of(*input)) {
    if (std::ranges::find(use.words, word) == use.words.end()) use.words.push_back(word);
  }
}

/// Error if no value can be generated for an input that is not from a file.
void check_guessable(const InputPorts& ports, const GivenInputs& given) {
  for (std::size_t i = 0; i < ports.all().size(); ++i) {
    const std::string& name = ports.all()[i].name;
    if (given.contains(name)) continue;
    if (tensor_port(ports.all()[i]).type == DataType::undefined) {
      fail(ErrorKind::unsupported, "input " + quote(name) + " is no tensor, sequence or optional of a known type");
    }
    const InputUse& use = ports.uses()[i];
    if (use.role != InputRole::shape) continue;
    fail(ErrorKind::usage, "input " + quote(name) + " is a size or axis for " + use.consumer + ", and no guess is safe",
         "give it from a file: --input " + shell_word(name + "=FILE") + ", .npy or .pb");
  }
}

}  // namespace

InputPorts::InputPorts(const Graph& graph, const Graph* other, const InputLimits& limits) : ports_(required_inputs(graph)) {
  bool shifts_words = false;
  for (const Port& port : ports_) {
    const Value *const value = graph.find(port.name), *const there = other == nullptr ? nullptr : other->find(port.name);
    InputUse& use = uses_.emplace_back(value == nullptr ? InputUse{} : use_of(*value, there));
    if (use.rows && there != nullptr && !use_of(*there).rows) use.rows.reset();
    use.narrow = limits.narrow;
    const auto range = limits.ranges.find(port.name);
    if (range != limits.ranges.end()) use.range = range->second;
    if (there != nullptr && !use.tables.empty()) prefer_differing_rows(*there, use);
    if (there != nullptr) prefer_rows_of_zeros(use);
    add_words(value, use);
    add_words(there, use);
    if (use.words.empty()) continue;
    use.shifts_words = shifts_words;
    shifts_words = !shifts_words;
  }
}

template <typename Wanted>
std::set<std::string> InputPorts::names_of(TypeSet types, const Wanted& is_wanted) const {
  std::set<std::string> out;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i].kind == Datum::Kind::tensor && types.has(ports_[i].type) && is_wanted(uses_[i].role)) out.insert(ports_[i].name);
  }
  return out;
}

bool InputPorts::has_integers() const {
  return std::ranges::any_of(ports_, [](const Port& port) { return kIntegerTypes.has(port.type); });
}

std::set<std::string> InputPorts::plain_integers() const {
  return names_of(kIntegerTypes, [](InputRole role) { return role == InputRole::number; });
}

std::map<std::string, Bounds> InputPorts::kept_integers() const {
  std::map<std::string, Bounds> out;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const InputUse& use = uses_[i];
    if (ports_[i].kind != Datum::Kind::tensor || !kIntegerTypes.has(ports_[i].type) || use.role > InputRole::length) continue;
    const double most = use.role == InputRole::ids && use.rows ? static_cast<double>(*use.rows) : kMostSize;
    out.emplace(ports_[i].name, Bounds{-most, most - 1});
  }
  return out;
}

std::set<std::string> InputPorts::masks() const {
  return names_of(kIntegerTypes | kBooleanTypes, [](InputRole role) { return role == InputRole::mask; });
}

std::vector<std::string> InputPorts::possible_labels() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (uses_[i].fits_labels) out.push_back(ports_[i].name);
  }
  return out;
}

std::string InputPorts::empty_input() const {
  for (const Port& port : ports_) {
    const Port& tensor = tensor_port(port);
    if (!tensor.has_shape || std::ranges::find(tensor.dims, 0) == tensor.dims.end()) continue;
    return "input " + quote(port.name) + " is declared " + type_text(port) + ", which has no elements";
  }
  return {};
}

InputMaker::InputMaker(const Graph& graph, const InputOptions& options, const Graph* other, const InputLimits& limits,
                       const std::map<std::string, int64_t>& bound)
    : model_(graph.model().name()),
      fitting_(limits.any_size ? &graph : nullptr),
      ports_(graph, other, limits),
      options_(options),
      bound_(bound),
      given_(ports_.all(), options) {
  named(model_, [this] {
    dims_.push_back(dims_of_files(0));
    check_guessable(ports_, given_);
  });
}

FreeDims InputMaker::dims_of_files(int sample) const {
  std::map<std::string, Dims> shapes;
  for (const Port& port : ports_.all()) {
    const auto datum = given_.find(port, sample);
    if (datum && datum->kind == Datum::Kind::tensor) shapes.emplace(port.name, datum->tensor.dims());
  }
  return {ports_.all(), ports_.uses(), options_, shapes, bound_, fitting_};
}

void InputMaker::prepare(int samples) {
  if (given_.in_folders() == 0) return;
  for (int sample = static_cast<int>(dims_.size()); sample < samples; ++sample) {
    try {
      dims_.push_back(dims_of_files(sample));
    } catch (const Error& error) {
      std::string what = error.what();
      if (error.kind() == ErrorKind::usage) what.insert(0, escape(given_.paths(sample).begin()->second.string()) + ": ");
      fail(error.kind(), what, error.hint());
    }
  }
}

FreeDims::Assignment InputMaker::first_accepted(const std::function<void(Inputs inputs)>& run) const {
  if (given_.in_folders() > 0) fail(ErrorKind::usage, "--input takes a file here: one sample is run");
  for (int tried = 0;; ++tried) {
    FreeDims::Assignment assignment = dims().assign({0, 1, (dims().first_single() + tried) % dims().attempts()});
    try {
      run(make(assignment, 0));
      return assignment;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid) throw;
      if (tried + 1 < dims().attempts()) continue;
      refuse_guesses(error.what());
      throw;
    }
  }
}

void InputMaker::refuse_guesses(const std::string& rejection) const {
  if (!dims().are_guessed()) return;
  named(model_, [&] { dims().fail_of_guesses(rejection); });
}

std::string InputMaker::input_option() const {
  const auto made = std::ranges::find_if(ports_.all(), [this](const Port& port) { return !given_.contains(port.name); });
  return made == ports_.all().end() ? std::string() : "--input " + shell_word(made->name + "=FILE");
}

bool InputMaker::can_be_milder() const {
  return std::ranges::any_of(ports_.all(), [this](const Port& port) {
    const DataType type = tensor_port(port).type;
    return !given_.contains(port.name) && type != DataType::undefined && traits(type).is_float;
  });
}

bool InputMaker::makes_padding() const {
  for (std::size_t i = 0; i < ports_.all().size(); ++i) {
    if (ports_.uses()[i].padding && !given_.contains(ports_.all()[i].name)) return true;
  }
  return false;
}

Inputs InputMaker::make(const FreeDims::Assignment& assignment, SampleKind kind) const {
  return named(model_, [&] { return make(ports_.uses(), assignment, kind); });
}

int InputMaker::samples_for_words() const {
  const auto shapes = dims().assign({}).shapes;
  int samples = 0;
  for (std::size_t i = 0; i < ports_.all().size(); ++i) {
    const std::string& name = ports_.all()[i].name;
    if (!given_.contains(name)) samples = std::max(samples, relayout::samples_for_words(ports_.uses()[i], shapes.at(name)));
  }
  return samples;
}

Inputs InputMaker::make_with_holes(const FreeDims::Assignment& assignment) const {
  std::vector<InputUse> uses = ports_.uses();
  for (InputUse& use : uses) use.padding = false;
  return make(uses, assignment, SampleKind{});
}

Inputs InputMaker::make(const std::vector<InputUse>& uses, const FreeDims::Assignment& assignment, SampleKind kind) const {
  Inputs inputs;
  for (std::size_t i = 0; i < ports_.all().size(); ++i) {
    const Port& port = ports_.all()[i];
    if (auto datum = given_.find(port, kind.number)) {
      inputs.emplace(port.name, *std::move(datum));
      continue;
    }
    const Extent& extent = uses[i].limit;
    int64_t limit = extent.size.value_or(1);
    if (const auto other = assignment.shapes.find(extent.input); !extent.size && other != assignment.shapes.end()) {
      const auto axis = as_size(extent.axis);
      limit = axis < other->second.size() ? other->second[axis] : 1;
    }
    const Dims& dims = assignment.shapes.at(port.name);
    const DataType type = tensor_port(port).type;
    // Sequences and optionals are filled recursively, each tensor from a separate stream.
    int element = 0;
    const auto fill = [&](const auto& self, const Port& at) -> Datum {
      const std::string stream = element == 0 ? port.name : port.name + "#" + std::to_string(element);
      if (at.kind == Datum::Kind::tensor) {
        ++element;
        return make_values(type, dims, uses[i], limit, options_.seed, stream, kind);
      }
      Datum datum;
      datum.kind = at.kind;
      if (at.kind == Datum::Kind::map) {
        if (!uses[i].keys)
          fail(ErrorKind::unsupported, "input " + quote(port.name) + " is a map, and no node tells its keys (give it by --input)");
        ++element;
        return map_of(uses[i].keys, make_values(type, uses[i].keys.dims(), uses[i], limit, options_.seed, stream, kind));
      }
      const std::size_t count = at.kind == Datum::Kind::sequence ? kSequenceLength : 1;
      for (std::size_t k = 0; k < count; ++k) datum.elements.push_back(self(self, at.element.front()));
      return datum;
    };
    inputs.emplace(port.name, fill(fill, port));
  }
  return inputs;
}

}  // namespace relayout

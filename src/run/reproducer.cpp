// Cuts each node at fault out of both models, with the values of the original.
#include "relayout/reproducer.h"

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "base/times.h"
#include "exec/program.h"
#include "model/save.h"
#include "model/walk.h"
#include "passes/pass.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/extract.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/save_options.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/datum_pair.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/port.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostReproducers = 8, kMostDifferences = 8;
const char* const kTestData = "test_data_set_0";

/// The value of a main graph by its name, with a node that makes it.
const Value& made_value(const Graph& graph, const std::string& name) {
  const Value* const value = graph.find(name);
  if (value == nullptr || value->producer() == nullptr) fail(ErrorKind::unsupported, quote(name) + " is no value of the main graph");
  return *value;
}

/// Adds the names of the nearest values that both models compute and on which `value` depends.
void add_shared(const Value& value, const Graph& other, std::vector<std::string>& names, std::unordered_set<const Value*>& seen) {
  const auto add = [&](const Value& operand) {
    if (operand.initializer() != nullptr || !seen.insert(&operand).second) return;
    const Node* const producer = operand.producer();
    if (producer != nullptr && producer->is("Constant")) return;
    const Value* const twin = other.find(operand.name());
    const bool is_shared = twin != nullptr && twin->initializer() == nullptr;
    if (!is_shared && producer != nullptr) return add_shared(operand, other, names, seen);
    if (!is_shared) fail(ErrorKind::unsupported, "input " + quote(operand.name()) + " has another name in the other model");
    if (std::find(names.begin(), names.end(), operand.name()) == names.end()) names.push_back(operand.name());
  };
  for (const Value* const operand : value.producer()->inputs()) {
    if (operand != nullptr) add(*operand);
  }
  for (const Value* const captured : exec::captured_values(*value.producer())) add(*captured);
}

/// The values that two parts read: a.onnx and b.onnx of one folder.
struct Parts {
  fs::path folder;
  std::vector<std::string> names;
  std::vector<Datum> inputs;
};

ExecuteOptions execution(const VerifyOptions& options) {
  ExecuteOptions out;
  out.mode = Mode::as_written;
  out.threads = options.threads;
  out.seed = options.seed;
  out.few_runs = true;
  return out;
}

fs::path input_file(std::size_t number) {
  return fs::path(kTestData) / ("input_" + std::to_string(number) + ".pb");
}

VerifyResult judged(const Parts& parts, const VerifyOptions& given) {
  VerifyOptions options = given;
  options.save_data.clear();
  options.dims.clear();
  options.shapes.clear();
  options.inputs.clear();
  options.renames.clear();
  options.match_position = true;
  options.progress = nullptr;
  for (std::size_t i = 0; i < parts.names.size(); ++i) options.inputs[parts.names[i]] = parts.folder / input_file(i);
  return verify(parts.folder / "a.onnx", parts.folder / "b.onnx", options);
}

/// How a pair differs: other numbers, a value of another form, or nothing to compare, as b does not run.
struct Manner {
  bool is_compared = false, has_other_structure = false;
  bool operator==(const Manner&) const = default;
};

std::optional<Manner> manner_of(const VerifyResult& result) {
  if (result.outcome != Outcome::different) return std::nullopt;
  Manner out;
  for (const OutputComparison& output : result.outputs) {
    out.is_compared = out.is_compared || !output.samples.empty();
    for (const SampleMetrics& sample : output.samples) out.has_other_structure = out.has_other_structure || sample.other_structure;
  }
  return out;
}

/// Writes a model whose inputs are declared with the dims of these values; what follows from them is no longer declared.
void redeclare(const fs::path& from, const fs::path& to, const Parts& parts, const LoadOptions& load) {
  const auto model = Model::load(from, load);
  const auto edit = [&](onnx::ValueInfoProto& entry) {
    if (!entry.type().has_tensor_type() || !entry.type().tensor_type().has_shape()) return false;
    onnx::TensorShapeProto& shape = *entry.mutable_type()->mutable_tensor_type()->mutable_shape();
    const auto found = std::ranges::find(parts.names, entry.name());
    const Datum* const datum = found == parts.names.end() ? nullptr : &parts.inputs[as_size(found - parts.names.begin())];
    for (int axis = 0; axis < shape.dim_size(); ++axis) {
      shape.mutable_dim(axis)->Clear();
      if (datum != nullptr) shape.mutable_dim(axis)->set_dim_value(datum->tensor.dims()[as_size(axis)]);
    }
    return true;
  };
  for_each_graph(model->graph(), [&](Graph& graph) { graph.edit_declarations(edit); });
  save(*model, to);
}

/// Axes of inputs that shrink together.
struct Extent {
  std::vector<std::pair<std::size_t, std::size_t>> axes;  ///< number of the input, axis
  int64_t size = 0;
};

/// Axes of one size, first all of them, then those in the same place from the front, then from the back.
std::vector<Extent> extents_of(const Parts& parts) {
  std::map<std::tuple<int, std::size_t, int64_t>, Extent> found;
  for (std::size_t i = 0; i < parts.inputs.size(); ++i) {
    if (parts.inputs[i].kind != Datum::Kind::tensor) continue;
    const Dims& dims = parts.inputs[i].tensor.dims();
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis] < 2) continue;
      for (const auto& key : {std::tuple(0, std::size_t{0}, dims[axis]), {1, axis, dims[axis]}, {2, dims.size() - axis, dims[axis]}}) {
        Extent& extent = found[key];
        extent.axes.emplace_back(i, axis);
        extent.size = dims[axis];
      }
    }
  }
  std::vector<Extent> out;
  std::set<std::vector<std::pair<std::size_t, std::size_t>>> known;
  for (auto& [key, extent] : found) {
    if (known.insert(extent.axes).second) out.push_back(std::move(extent));
  }
  return out;
}

/// Reduces the dims of a pair's inputs while it differs in the same manner.
class Shrinking {
 public:
  Shrinking(Parts whole, Manner manner, const VerifyOptions& options)
      : whole_(whole), best_(std::move(whole)), manner_(manner), options_(&options) {}

  [[nodiscard]] Parts run() {
    for (bool is_smaller = true; is_smaller;) {
      is_smaller = false;
      for (const Extent& extent : extents_of(best_)) {
        if (!refused_.contains(extent.axes) && reduce(extent)) {
          is_smaller = true;
          break;  // sizes have changed
        }
        refused_.insert(extent.axes);
      }
    }
    return std::move(best_);
  }

 private:
  bool reduce(const Extent& extent) {
    for (int64_t size = 1; size < extent.size; size *= 2) {
      for (const int64_t begin : {int64_t{0}, extent.size - size}) {
        if (tries_ == kMostTries || watch_.seconds() > kMostSeconds) return false;
        if (tries(extent, begin, size)) return true;
      }
    }
    return false;
  }

  bool tries(const Extent& extent, int64_t begin, int64_t size) {
    Parts smaller = best_;
    for (const auto& [input, axis] : extent.axes) {
      const Tensor& whole = smaller.inputs[input].tensor;
      Dims dims = whole.dims();
      dims[axis] = size;
      smaller.inputs[input] = copy_of(whole.view(dims, whole.strides(), begin * whole.strides()[axis]));
    }
    smaller.folder = whole_.folder.parent_path() / ("try" + std::to_string(++tries_));
    std::error_code ignored;
    try {
      fs::create_directories(smaller.folder, ignored);
      for (const char* const name : {"a.onnx", "b.onnx"}) redeclare(whole_.folder / name, smaller.folder / name, smaller, options_->load);
      save_data_set(smaller.folder, 0, smaller.inputs, {}, smaller.names, {});
      if (manner_of(judged(smaller, *options_)) == manner_) {
        best_ = std::move(smaller);
        return true;
      }
    } catch (const Error& error) {  // that size does not fit the parts
      if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::terminated) throw;
    }
    fs::remove_all(smaller.folder, ignored);
    return false;
  }

  static constexpr int kMostTries = 60;
  static constexpr double kMostSeconds = 10;

  Parts whole_, best_;
  Manner manner_;
  const VerifyOptions* options_;
  std::set<std::vector<std::pair<std::size_t, std::size_t>>> refused_;
  int tries_ = 0;
  Stopwatch watch_;
};

/// Replaces the weights of a model; returns their names.
std::set<std::string> scramble_weights(const fs::path& path, uint64_t seed, const LoadOptions& load) {
  const auto model = Model::load(path, load);
  passes::PassContext context;
  context.options.scramble = seed;
  passes::scramble(model->graph(), context);
  SaveOptions in_place;
  in_place.in_place = true;
  save(*model, path, in_place);
  std::set<std::string> out;
  for (const Finding& finding : context.findings) out.insert(finding.node);
  return out;
}

class ReproducerWriter {
 public:
  ReproducerWriter(const VerifyResult& result, const VerifyOptions& options, std::optional<uint64_t> scramble)
      : result_(&result),
        options_(&options),
        scramble_(scramble),
        a_(Model::load(result.a, options.load)),
        b_(Model::load(result.b, options.load)) {}

  /// Writes one folder. Error{unsupported} or Error{usage} where the node cannot be cut out.
  Reproducer write(const LayerResult& layer, const fs::path& folder) {
    Reproducer out{layer.node, layer.op_type, folder, 0, 0, false, {}};
    const PrivateFolder workshop;
    Parts parts{workshop.path() / "whole", {}, {}};
    make_folder(parts.folder);
    cut(layer, parts.folder, out);
    take_values(layer, parts);
    save_data_set(parts.folder, 0, parts.inputs, {}, parts.names, {});
    VerifyResult again = judged(parts, *options_);
    if (const auto manner = manner_of(again)) {
      const fs::path whole = parts.folder;
      parts = Shrinking(std::move(parts), *manner, *options_).run();
      if (scramble_) scramble(parts);
      if (scramble_ || parts.folder != whole) again = judged(parts, *options_);
    } else if (scramble_) {
      fail(ErrorKind::unsupported, "its two parts alone do not differ, with its own weights");
    }
    out.differs = again.outcome == Outcome::different;
    if (!out.differs) out.reason = scramble_ ? "its two parts do not differ with scrambled weights" : "its two parts alone do not differ";
    finish(layer, parts, again, out);
    return out;
  }

 private:
  static void make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) fail_io(folder.string(), error.message());
  }

  void cut(const LayerResult& layer, const fs::path& folder, Reproducer& out) const {
    const Value &in_a = made_value(a_->graph(), layer.reference), &in_b = made_value(b_->graph(), layer.tensor);
    ExtractOptions cut;
    cut.load = options_->load;
    cut.keep_unread = true;
    std::unordered_set<const Value*> seen;
    add_shared(in_a, b_->graph(), cut.from, seen);
    add_shared(in_b, a_->graph(), cut.from, seen);
    if (cut.from.empty()) fail(ErrorKind::unsupported, "it depends on no value that both models have");
    cut.to = {layer.reference};
    out.nodes_a = extract(result_->a, folder / "a.onnx", cut).nodes;
    cut.to = {layer.tensor};
    out.nodes_b = extract(result_->b, folder / "b.onnx", cut).nodes;
  }

  /// Runs a on the sample that shows the difference, and keeps what the parts read.
  void take_values(const LayerResult& layer, Parts& parts) const {
    const auto part = Model::load(parts.folder / "a.onnx", options_->load);
    for (const Port& port : required_inputs(part->graph())) parts.names.push_back(port.name);
    std::map<std::string, Datum> kept;
    ExecuteOptions execute = execution(*options_);
    execute.watch = [&](const Computed& computed) {
      for (std::size_t k = 0; computed.node != nullptr && k < computed.data.size(); ++k) {
        const Value* const value = computed.node->output(k);
        if (value == nullptr || &value->graph() != &a_->graph()) continue;
        if (std::ranges::find(parts.names, value->name()) != parts.names.end()) kept[value->name()] = copy_of(computed.data[k]);
      }
    };
    Inputs given;
    const fs::path sample = options_->save_data / (std::string(kDataSetPrefix) + std::to_string(layer.sample));
    int number = 0;
    for (const Port& port : required_inputs(a_->graph())) {
      given[port.name] = read_data_file(sample / ("input_" + std::to_string(number++) + ".pb"), port.kind);
    }
    kept.insert(given.begin(), given.end());
    (void)Executor(a_->graph(), execute).run(given);
    for (const std::string& name : parts.names) {
      if (!kept.contains(name)) fail(ErrorKind::unsupported, "a run of the original does not make " + quote(name));
      parts.inputs.push_back(kept.at(name));
    }
  }

  void scramble(const Parts& parts) const {
    const std::set<std::string> of_a = scramble_weights(parts.folder / "a.onnx", *scramble_, options_->load);
    const std::set<std::string> of_b = scramble_weights(parts.folder / "b.onnx", *scramble_, options_->load);
    std::vector<std::string> alone;
    std::ranges::set_symmetric_difference(of_a, of_b, std::back_inserter(alone));
    if (!alone.empty())
      fail(ErrorKind::unsupported,
           "weight " + quote(alone.front()) + " is in one of its parts alone, so that scrambling would change what differs");
  }

  /// Puts the parts where they belong, with a's results.
  void finish(const LayerResult& layer, const Parts& parts, const VerifyResult& judged, const Reproducer& made) const {
    std::error_code error;
    fs::remove_all(parts.folder / kTestData, error);
    std::vector<Datum> results;
    const auto part = Model::load(parts.folder / "a.onnx", options_->load);
    Inputs given;
    for (std::size_t i = 0; i < parts.names.size(); ++i) given[parts.names[i]] = copy_of(parts.inputs[i]);
    for (const Datum& result : Executor(part->graph(), execution(*options_)).run(given)) results.push_back(copy_of(result));
    save_data_set(parts.folder, 0, parts.inputs, results, parts.names, {layer.reference});
    make_folder(made.folder);
    fs::copy(parts.folder, made.folder, fs::copy_options::recursive, error);
    if (error) fail_io(made.folder.string(), error.message());
    write_readme(layer, parts, judged, made);
  }

  void write_readme(const LayerResult& layer, const Parts& parts, const VerifyResult& judged, const Reproducer& made) const {
    std::string text = "Node " + quote(layer.node) + " (" + layer.op_type + ") of b.onnx computes other values of " + quote(layer.tensor) +
                       " than a.onnx.\n";
    text += layer.reason.empty() ? "" : "Verdict: " + layer.reason + ".\n";
    for (std::size_t i = 0; judged.proof && i < judged.proof->unexplained.size() && i < kMostDifferences; ++i) {
      const Unexplained& entry = judged.proof->unexplained[i];
      text += "Difference: " + entry.text + (entry.repair.text.empty() ? "" : ": " + entry.repair.text) + ".\n";
    }
    text += "\n";
    text += made.differs ? "This shows it:\n" : "The two parts alone do not show it, with the values here:\n";
    text += "  relayout verify a.onnx b.onnx --match position";
    for (std::size_t i = 0; i < parts.names.size(); ++i) text += " --input " + shell_word(parts.names[i] + "=" + input_file(i).string());
    text += "\n\n" + std::string(kTestData) + " has a.onnx's inputs and output, in the form of ONNX's backend tests.\n";
    if (scramble_) text += "Weights are random numbers like those of the original; its inputs are values of the original's run.\n";
    write_text_file(made.folder / "README.txt", text);
  }

  const VerifyResult* result_;
  const VerifyOptions* options_;
  std::optional<uint64_t> scramble_;
  std::unique_ptr<Model> a_, b_;
};

}  // namespace

std::vector<Reproducer> save_reproducers(const VerifyResult& result, const VerifyOptions& options, const fs::path& folder,
                                         std::optional<uint64_t> scramble) {
  std::vector<Reproducer> out;
  std::unique_ptr<ReproducerWriter> writer;
  for (const LayerResult& layer : result.layers) {
    if (layer.outcome != Outcome::different || out.size() == kMostReproducers) continue;
    if (!writer) {
      std::error_code ignored;
      if (fs::exists(folder, ignored)) fail(ErrorKind::usage, escape(folder.string()) + " is there already");
      writer = std::make_unique<ReproducerWriter>(result, options, scramble);
    }
    const fs::path part = folder / std::to_string(out.size() + 1);
    try {
      out.push_back(writer->write(layer, part));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::usage && error.kind() != ErrorKind::invalid) throw;
      std::error_code ignored;
      fs::remove_all(part, ignored);
      out.push_back({layer.node, layer.op_type, {}, 0, 0, false, error.what()});
    }
  }
  return out;
}

}  // namespace relayout

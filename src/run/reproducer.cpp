// Cuts each node at fault out of both models, with the values of the original.
#include "relayout/reproducer.h"

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/node.h"
#include "model/save.h"
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
#include "relayout/verify.h"
#include "run/part_pair.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/layers.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/port.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostReproducers = 8, kMostDifferences = 8, kMostDepartures = 32;
constexpr int kMostCuts = 5;  ///< wider ones: by 1, 2, 4, … values in a row

/// The value of a main graph by its name, with a node that makes it.
const Value& made_value(const Graph& graph, const std::string& name) {
  const Value* const value = graph.find(name);
  if (value == nullptr || value->producer() == nullptr) fail(ErrorKind::unsupported, quote(name) + " is no value of the main graph");
  return *value;
}

/// Gives inputs of a model other names, in order. Values within that have one of these get new ones.
void rename_inputs(const fs::path& path, const std::vector<std::string>& from, const std::vector<std::string>& to,
                   const LoadOptions& load) {
  if (from == to) return;
  const auto model = Model::load(path, load);
  Graph& graph = model->graph();
  std::vector<Value*> inputs;
  for (const std::string& name : from) inputs.push_back(graph.find(name));
  const auto make_way = [&](Value& value) {
    if (value.is_output() && !value.is_own_output())
      fail(ErrorKind::unsupported, quote(value.name()) + " has another name in the other model");
    graph.rename(value, model->unique_name(value.name() + ".renamed"));
  };
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    make_way(*inputs[i]);
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    if (Value* const other = graph.find(to[i])) make_way(*other);
    graph.rename(*inputs[i], to[i]);
  }
  SaveOptions in_place;
  in_place.in_place = true;
  save(*model, path, in_place);
}

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
        b_(Model::load(result.b, options.load)),
        common_(a_->graph(), b_->graph(), options) {}

  /// The nodes that the files alone show to be different, and those that read their results, in order: one of them is at fault where b does
  /// not run.
  [[nodiscard]] std::vector<LayerResult> departures() const {
    std::vector<LayerResult> out;
    if (!result_->proof) return out;
    const Layers layers(a_->graph(), b_->graph());
    const Suspects suspects(*result_->proof, a_->graph(), b_->graph());
    std::vector<bool> is_other;
    for (const Layer& layer : layers.all()) {
      is_other.push_back(!suspects.of(layers.region_in_b(layer)).empty() || !suspects.of(layers.region_in_a(layer)).empty());
      const auto is_other_upstream = [&](std::size_t upstream) { return upstream < is_other.size() && is_other[upstream]; };
      if (!is_other.back() && std::ranges::none_of(layers.upstream(layer), is_other_upstream)) continue;
      LayerResult& fault = out.emplace_back();
      fault.node = reported_name(*layer.b->producer());
      fault.op_type = layer.b->producer()->op_type();
      fault.tensor = layer.b->name();
      fault.reference = layer.a->name();
      if (out.size() == kMostDepartures) break;
    }
    return out;
  }

  /// Writes one folder. Error{unsupported} or Error{usage} where the node cannot be cut out.
  Reproducer write(const LayerResult& layer, const fs::path& folder) {
    Reproducer out{layer.node, layer.op_type, folder, 0, 0, false, {}};
    const PrivateFolder workshop;
    Found found = search(layer, workshop.path());
    if (found.manner) {
      const fs::path whole = found.parts.folder;
      found.parts = shrunk(std::move(found.parts), *found.manner, *options_);
      if (scramble_) scramble(found.parts);
      if (scramble_ || found.parts.folder != whole) found.verdict = judged(found.parts, *options_);
    } else if (scramble_) {
      fail(ErrorKind::unsupported, "its two parts alone do not differ, with its own weights");
    }
    out.nodes_a = found.nodes_a;
    out.nodes_b = found.nodes_b;
    out.differs = manner_of(found.verdict).has_value();
    if (!out.differs) out.reason = scramble_ ? "its two parts do not differ with scrambled weights" : "its two parts alone do not differ";
    finish(layer, found, out);
    return out;
  }

 private:
  /// Two parts, and what verify() says about them.
  struct Found {
    PartPair parts;
    std::vector<std::string> names_in_b;  ///< of the inputs, in the whole
    int64_t nodes_a = 0, nodes_b = 0;
    VerifyResult verdict;
    std::optional<Manner> manner;
  };

  static void make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) fail_io(folder.string(), error.message());
  }

  /// The least parts that differ: the node alone, or with what is upstream of it, where a value at fault has the name of a right one. Else
  /// the node alone.
  [[nodiscard]] Found search(const LayerResult& layer, const fs::path& folder) const {
    const ValuePair ends{&made_value(a_->graph(), layer.reference), &made_value(b_->graph(), layer.tensor)};
    Border border(common_, ends);
    Found least = cut(layer, ends, border, folder / "0");
    for (int tried = 0, steps = 1; !least.manner && tried < kMostCuts; ++tried, steps *= 2) {
      bool is_wider = false;
      for (int step = 0; step < steps; ++step) is_wider = border.widen() || is_wider;
      if (!is_wider) break;
      Found wider = cut(layer, ends, border, folder / std::to_string(tried + 1));
      if (wider.manner) return wider;
    }
    return least;
  }

  [[nodiscard]] Found cut(const LayerResult& layer, const ValuePair& ends, const Border& border, const fs::path& folder) const {
    Found out;
    out.parts.folder = folder;
    make_folder(folder);
    ExtractOptions of_a, of_b;
    of_a.load = of_b.load = options_->load;
    of_a.keep_unread = of_b.keep_unread = true;
    for (const ValuePair& pair : border.pairs()) {
      of_a.from.push_back(pair.a->name());
      of_b.from.push_back(pair.b->name());
    }
    of_a.to = {ends.a->name()};
    of_b.to = {ends.b->name()};
    out.nodes_a = extract(result_->a, folder / "a.onnx", of_a).nodes;
    out.nodes_b = extract(result_->b, folder / "b.onnx", of_b).nodes;
    rename_inputs(folder / "b.onnx", of_b.from, of_a.from, options_->load);
    out.parts.names = input_names(folder / "a.onnx");
    if (input_names(folder / "b.onnx") != out.parts.names)
      fail(ErrorKind::unsupported, "its inputs stand in another order in the other model");
    for (const std::string& name : out.parts.names) {
      out.names_in_b.push_back(of_b.from[as_size(std::ranges::find(of_a.from, name) - of_a.from.begin())]);
    }
    take_values(layer, out.parts);
    declare_dims(folder, out.parts, options_->load);
    save_data_set(folder, 0, out.parts.inputs, {}, out.parts.names, {});
    out.verdict = judged(out.parts, *options_);
    out.manner = manner_of(out.verdict);
    return out;
  }

  [[nodiscard]] std::vector<std::string> input_names(const fs::path& path) const {
    std::vector<std::string> out;
    for (const Port& port : required_inputs(Model::load(path, options_->load)->graph())) out.push_back(port.name);
    return out;
  }

  /// Runs a on the sample that shows the difference, and keeps what the parts read.
  void take_values(const LayerResult& layer, PartPair& parts) const {
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

  void scramble(const PartPair& parts) const {
    const std::set<std::string> of_a = scramble_weights(parts.folder / "a.onnx", *scramble_, options_->load);
    const std::set<std::string> of_b = scramble_weights(parts.folder / "b.onnx", *scramble_, options_->load);
    std::vector<std::string> alone;
    std::ranges::set_symmetric_difference(of_a, of_b, std::back_inserter(alone));
    if (!alone.empty())
      fail(ErrorKind::unsupported,
           "weight " + quote(alone.front()) + " is in one of its parts alone, so that scrambling would change what differs");
  }

  /// Puts the parts where they belong, with a's results.
  void finish(const LayerResult& layer, const Found& found, const Reproducer& made) const {
    const PartPair& parts = found.parts;
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
    write_readme(layer, found, made);
  }

  void write_readme(const LayerResult& layer, const Found& found, const Reproducer& made) const {
    const PartPair& parts = found.parts;
    const VerifyResult& judged = found.verdict;
    std::string text =
        "Node " + quote(layer.node) + " (" + layer.op_type + ") of b.onnx does not compute " + quote(layer.tensor) + " as a.onnx does.\n";
    std::string why = layer.reason.empty() ? judged.reason : layer.reason;
    const std::string place = escape((parts.folder / "b.onnx").string());
    if (const auto at = why.find(place); at != std::string::npos) why.replace(at, place.size(), "b.onnx");
    text += why.empty() ? "" : "Verdict: " + why + ".\n";
    for (std::size_t i = 0; judged.proof && i < judged.proof->unexplained.size() && i < kMostDifferences; ++i) {
      const Unexplained& entry = judged.proof->unexplained[i];
      text += "Difference: " + entry.text + (entry.repair.text.empty() ? "" : ": " + entry.repair.text) + ".\n";
    }
    text += "\n";
    text += made.differs ? "This shows it:\n" : "The two parts alone do not show it, with the values here:\n";
    text += "  relayout verify a.onnx b.onnx --match position";
    for (std::size_t i = 0; i < parts.names.size(); ++i) text += " --input " + shell_word(parts.names[i] + "=" + input_file(i).string());
    text += "\n\n" + std::string(kTestData) + " has a.onnx's inputs and output, in the form of ONNX's backend tests.\n";
    for (std::size_t i = 0; i < parts.names.size(); ++i) {
      if (parts.names[i] != found.names_in_b[i])
        text += "Input " + quote(parts.names[i]) + " of b.onnx is " + quote(found.names_in_b[i]) + " in the whole.\n";
    }
    if (scramble_) text += "Weights are random numbers like those of the original; its inputs are values of the original's run.\n";
    write_text_file(made.folder / "README.txt", text);
  }

  const VerifyResult* result_;
  const VerifyOptions* options_;
  std::optional<uint64_t> scramble_;
  std::unique_ptr<Model> a_, b_;
  CommonValues common_;
};

}  // namespace

std::vector<Reproducer> save_reproducers(const VerifyResult& result, const VerifyOptions& options, const fs::path& folder,
                                         std::optional<uint64_t> scramble) {
  std::vector<LayerResult> faults;
  std::ranges::copy_if(result.layers, std::back_inserter(faults),
                       [](const LayerResult& layer) { return layer.outcome == Outcome::different; });
  std::error_code ignored;
  const bool is_run = !faults.empty();
  if (!is_run && (result.outcome != Outcome::different || !fs::exists(options.save_data / kTestData, ignored))) return {};
  ReproducerWriter writer(result, options, scramble);
  if (!is_run) faults = writer.departures();
  if (!faults.empty() && fs::exists(folder, ignored)) fail(ErrorKind::usage, escape(folder.string()) + " is there already");
  std::vector<Reproducer> out;
  for (const LayerResult& fault : faults) {
    if (out.size() == kMostReproducers) break;
    const fs::path part = folder / std::to_string(out.size() + 1);
    try {
      out.push_back(writer.write(fault, part));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::usage && error.kind() != ErrorKind::invalid) throw;
      out.push_back({fault.node, fault.op_type, {}, 0, 0, false, error.what()});
    }
    if (is_run && !out.back().folder.empty()) continue;
    if (!is_run && out.back().differs) break;
    fs::remove_all(part, ignored);
    if (!is_run) out.pop_back();
  }
  return out;
}

}  // namespace relayout

// Cuts each node at fault out of both models, with the values of the original.
#include "relayout/reproducer.h"

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/program.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/extract.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/verify.h"
#include "verify/compare/datum_pair.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/port.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostReproducers = 8;
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

class ReproducerWriter {
 public:
  ReproducerWriter(const VerifyResult& result, const VerifyOptions& options)
      : result_(&result), options_(&options), a_(Model::load(result.a, options.load)), b_(Model::load(result.b, options.load)) {}

  /// Writes one folder. Error{unsupported} or Error{usage} where the node cannot be cut out.
  Reproducer write(const LayerResult& layer, const fs::path& folder) {
    Reproducer out{layer.node, layer.op_type, folder, 0, 0, false, {}};
    const Value &in_a = made_value(a_->graph(), layer.reference), &in_b = made_value(b_->graph(), layer.tensor);
    ExtractOptions cut;
    cut.load = options_->load;
    cut.keep_unread = true;
    std::unordered_set<const Value*> seen;
    add_shared(in_a, b_->graph(), cut.from, seen);
    add_shared(in_b, a_->graph(), cut.from, seen);
    if (cut.from.empty()) fail(ErrorKind::unsupported, "it depends on no value that both models have");
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) fail_io(folder.string(), error.message());
    cut.to = {layer.reference};
    out.nodes_a = extract(result_->a, folder / "a.onnx", cut).nodes;
    cut.to = {layer.tensor};
    out.nodes_b = extract(result_->b, folder / "b.onnx", cut).nodes;
    write_values(layer, folder);
    const VerifyResult again = verify_parts(folder);
    out.differs = again.outcome == Outcome::different;
    if (!out.differs) out.reason = "its two parts alone do not differ";
    write_readme(layer, out);
    return out;
  }

 private:
  /// Runs a on the sample that shows the difference, and keeps what the parts read and make.
  void write_values(const LayerResult& layer, const fs::path& folder) {
    const auto part = Model::load(folder / "a.onnx", options_->load);
    std::vector<std::string> names;
    for (const Value* const input : part->graph().inputs()) {
      if (input->initializer() == nullptr) names.push_back(input->name());
    }
    const std::size_t inputs = names.size();
    names.push_back(layer.reference);
    std::map<std::string, Datum> kept;
    ExecuteOptions execute;
    execute.mode = Mode::as_written;
    execute.threads = options_->threads;
    execute.seed = options_->seed;
    execute.few_runs = true;
    execute.watch = [&](const Computed& computed) {
      for (std::size_t k = 0; computed.node != nullptr && k < computed.data.size(); ++k) {
        const Value* const value = computed.node->output(k);
        if (value == nullptr || &value->graph() != &a_->graph()) continue;
        if (std::find(names.begin(), names.end(), value->name()) != names.end()) kept[value->name()] = copy_of(computed.data[k]);
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
    std::vector<Datum> data;
    for (const std::string& name : names) {
      if (!kept.contains(name)) fail(ErrorKind::unsupported, "a run of the original does not make " + quote(name));
      data.push_back(kept.at(name));
    }
    const auto middle = static_cast<std::ptrdiff_t>(inputs);
    save_data_set(folder, 0, {data.begin(), data.begin() + middle}, {data.begin() + middle, data.end()},
                  {names.begin(), names.begin() + middle}, {names.begin() + middle, names.end()});
    inputs_ = {names.begin(), names.begin() + middle};
  }

  [[nodiscard]] VerifyResult verify_parts(const fs::path& folder) const {
    VerifyOptions options = *options_;
    options.save_data.clear();
    options.dims.clear();
    options.shapes.clear();
    options.inputs.clear();
    options.renames.clear();
    options.match_position = true;
    options.progress = nullptr;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      options.inputs[inputs_[i]] = folder / kTestData / ("input_" + std::to_string(i) + ".pb");
    }
    return verify(folder / "a.onnx", folder / "b.onnx", options);
  }

  void write_readme(const LayerResult& layer, const Reproducer& made) const {
    std::string text = "Node " + quote(layer.node) + " (" + layer.op_type + ") of b.onnx computes other values of " + quote(layer.tensor) +
                       " than a.onnx.\n";
    text += layer.reason.empty() ? "" : "Verdict: " + layer.reason + ".\n";
    text += "\n";
    text += made.differs ? "This shows it:\n" : "The two parts alone do not show it, with the values here:\n";
    text += "  relayout verify a.onnx b.onnx --match position";
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      text += " --input " + shell_word(inputs_[i] + "=" + kTestData + "/input_" + std::to_string(i) + ".pb");
    }
    text += "\n\n" + std::string(kTestData) + " has a.onnx's inputs and output, in the form of ONNX's backend tests.\n";
    write_text_file(made.folder / "README.txt", text);
  }

  const VerifyResult* result_;
  const VerifyOptions* options_;
  std::unique_ptr<Model> a_, b_;
  std::vector<std::string> inputs_;  ///< of the parts
};

}  // namespace

std::vector<Reproducer> save_reproducers(const VerifyResult& result, const VerifyOptions& options, const fs::path& folder) {
  std::vector<Reproducer> out;
  std::unique_ptr<ReproducerWriter> writer;
  for (const LayerResult& layer : result.layers) {
    if (layer.outcome != Outcome::different || out.size() == kMostReproducers) continue;
    if (!writer) {
      std::error_code ignored;
      if (fs::exists(folder, ignored)) fail(ErrorKind::usage, escape(folder.string()) + " is there already");
      writer = std::make_unique<ReproducerWriter>(result, options);
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

// Finds where parts of two models begin, judges them beside each other, and makes their inputs smaller, for reproducers.

#include "run/part_pair.h"

#include <onnx/onnx_pb.h>

#include "base/positions.h"
#include "base/text.h"
#include "base/times.h"
#include "exec/program.h"
#include "model/save.h"
#include "model/walk.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/save_options.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/pairing.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/port.h"

namespace relayout {

namespace fs = std::filesystem;

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

VerifyResult judged(const PartPair& parts, const VerifyOptions& given) {
  VerifyOptions options = given;
  options.save_data.clear();
  options.dims.clear();
  options.shapes.clear();
  options.inputs.clear();
  options.renames.clear();
  options.match_position = true;
  options.outputs_only = true;
  options.layers = false;
  options.samples = 1;
  options.progress = nullptr;
  for (std::size_t i = 0; i < parts.names.size(); ++i) options.inputs[parts.names[i]] = parts.folder / input_file(i);
  return verify(parts.folder / "a.onnx", parts.folder / "b.onnx", options);
}

std::optional<Manner> manner_of(const VerifyResult& result) {
  if (result.outcome != Outcome::different) return std::nullopt;
  Manner out;
  bool is_shown = false;
  for (const OutputComparison& output : result.outputs) {
    out.is_compared = out.is_compared || !output.samples.empty();
    is_shown = is_shown || output.outcome == Outcome::different;
    for (const SampleMetrics& sample : output.samples) out.has_other_structure = out.has_other_structure || sample.other_structure;
  }
  return is_shown || !out.is_compared ? std::optional(out) : std::nullopt;
}

namespace {

void declare(const fs::path& from, const fs::path& to, const PartPair& parts, const LoadOptions& load) {
  const auto model = Model::load(from, load);
  const auto edit = [&](onnx::ValueInfoProto& entry) {
    if (!entry.type().has_tensor_type() || !entry.type().tensor_type().has_shape()) return false;
    onnx::TensorShapeProto& shape = *entry.mutable_type()->mutable_tensor_type()->mutable_shape();
    const auto found = std::ranges::find(parts.names, entry.name());
    const Datum* const datum = found == parts.names.end() ? nullptr : &parts.inputs[as_size(found - parts.names.begin())];
    if (datum != nullptr) shape.clear_dim();
    for (const int64_t size : datum == nullptr ? Dims() : datum->tensor.dims()) shape.add_dim()->set_dim_value(size);
    for (auto& dim : *shape.mutable_dim()) {
      if (datum == nullptr) dim.Clear();
    }
    return true;
  };
  for_each_graph(model->graph(), [&](Graph& graph) { graph.edit_declarations(edit); });
  SaveOptions options;
  options.in_place = from == to;
  save(*model, to, options);
}

}  // namespace

void declare_dims(const fs::path& from, const PartPair& parts, const LoadOptions& load) {
  for (const char* const name : {"a.onnx", "b.onnx"}) declare(from / name, parts.folder / name, parts, load);
}

namespace {

/// Whether a model reflects values about the last one of an axis: not every runtime does so where there are fewer than it pads.
bool reflects(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    const auto* const mode = node.is("Pad") ? node.attribute("mode") : nullptr;
    return mode != nullptr && mode->s() == "reflect";
  });
}

/// Axes of inputs that shrink together.
struct Extent {
  std::vector<std::pair<std::size_t, std::size_t>> axes;  ///< number of the input, axis
  int64_t size = 0;
};

/// Axes of one size, first all of them, then those in the same place from the front, then from the back.
std::vector<Extent> extents_of(const PartPair& parts) {
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
  Shrinking(PartPair whole, Manner manner, const VerifyOptions& options)
      : whole_(whole), best_(std::move(whole)), manner_(manner), options_(&options) {}

  [[nodiscard]] PartPair run() {
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
    PartPair smaller = best_;
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
      declare_dims(whole_.folder, smaller, options_->load);
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

  PartPair whole_, best_;
  Manner manner_;
  const VerifyOptions* options_;
  std::set<std::vector<std::pair<std::size_t, std::size_t>>> refused_;
  int tries_ = 0;
  Stopwatch watch_;
};

}  // namespace

PartPair shrunk(PartPair parts, const Manner& manner, const VerifyOptions& options) {
  if (reflects(Model::load(parts.folder / "a.onnx", options.load)->graph())) return parts;
  return Shrinking(std::move(parts), manner, options).run();
}

// Where parts begin: at values that both models have.
namespace {

/// The values of a main graph that depend on one of its values, with that.
void add_downstream(const Value& value, std::unordered_set<const Value*>& out) {
  std::unordered_set<const Value*> found{&value};
  const auto is_found = [&](const Value* operand) { return operand != nullptr && found.contains(operand); };
  for (const Node& node : value.graph().nodes()) {
    if (std::ranges::none_of(node.inputs(), is_found) && std::ranges::none_of(exec::captured_values(node), is_found)) continue;
    for (const Value* const output : node.outputs()) {
      if (output != nullptr) found.insert(output);
    }
  }
  out.insert(found.begin(), found.end());
}

}  // namespace

CommonValues::CommonValues(const Graph& a, const Graph& b, const VerifyOptions& options) {
  const std::vector<Port> of_a = required_inputs(a), of_b = required_inputs(b);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const auto renamed = options.renames.find(of_a[i].name);
    const std::string& name = renamed == options.renames.end() ? of_a[i].name : renamed->second;
    const auto found = std::ranges::find(of_b, name, &Port::name);
    const bool by_place = options.match_position || (found == of_b.end() && of_a.size() == of_b.size());
    if (by_place ? i < of_b.size() : found != of_b.end()) add(*a.find(of_a[i].name), *b.find(by_place ? of_b[i].name : found->name));
  }
  const auto partners = pair_values(a, b);
  for (const Node& node : b.nodes()) {
    for (const Value* const output : node.outputs()) {
      const auto found = partners.find(output);
      if (found != partners.end() && !found->second.channels_last) add(*found->second.value, *output);
    }
  }
  constants_ = values_out_of_reach(a);
  constants_.merge(values_out_of_reach(b));
}

void CommonValues::add(const Value& a, const Value& b) {
  twins_.emplace(&a, &b);
  twins_.emplace(&b, &a);
}

const Value* CommonValues::twin_of(const Value& value) const {
  const auto found = twins_.find(&value);
  return found != twins_.end() && twins_.at(found->second) == &value ? found->second : nullptr;
}

Border::Border(const CommonValues& common, const ValuePair& ends) : common_(&common), ends_(ends) {
  add_downstream(*ends.a, downstream_);
  add_downstream(*ends.b, downstream_);
  find();
}

bool Border::widen() {
  const std::size_t before = passed_.size();
  for (const ValuePair& pair : pairs_) {
    if (pair.a->producer() != nullptr && pair.b->producer() != nullptr) passed_.insert({pair.a, pair.b});
  }
  if (passed_.size() == before) return false;
  find();
  return true;
}

void Border::find() {
  pairs_.clear();
  std::unordered_set<const Value*> seen;
  walk(*ends_.a, seen);
  walk(*ends_.b, seen);
  std::ranges::stable_partition(pairs_, [](const ValuePair& pair) { return pair.a->producer() == nullptr; });
}

void Border::walk(const Value& end, std::unordered_set<const Value*>& seen) {
  std::vector<const Value*> open{&end};
  const bool is_in_a = &end == ends_.a;
  const auto reach = [&](const Value& operand) {
    if (!seen.insert(&operand).second || common_->is_constant(operand)) return;
    const Value* const twin = passed_.contains(&operand) ? nullptr : common_->twin_of(operand);
    if (twin != nullptr && !downstream_.contains(twin)) {
      seen.insert(twin);
      pairs_.push_back(is_in_a ? ValuePair{&operand, twin} : ValuePair{twin, &operand});
    } else if (operand.producer() != nullptr) {
      open.push_back(&operand);
    } else {
      fail(ErrorKind::unsupported, "input " + quote(operand.name()) + " has no counterpart in the other model");
    }
  };
  while (!open.empty()) {
    const Node& node = *open.back()->producer();
    open.pop_back();
    for (const Value* const operand : node.inputs()) {
      if (operand != nullptr) reach(*operand);
    }
    for (const Value* const captured : exec::captured_values(node)) reach(*captured);
  }
}

}  // namespace relayout

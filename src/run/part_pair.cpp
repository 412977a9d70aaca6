// Judges parts of two models beside each other, for reproducers, and makes their inputs smaller.
#include "run/part_pair.h"

#include <onnx/onnx_pb.h>

#include "base/positions.h"
#include "base/times.h"
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
#include "verify/inputs/data_file.h"

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

}  // namespace relayout

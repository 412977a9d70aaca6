// Adds inputs for tangents or cotangents to a model, and the derivatives of its outputs as outputs.
#include "derive/derive.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/times.h"
#include "derive/linearizer.h"
#include "derive/sizes.h"
#include "model/node.h"
#include "model/save.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/pass_options.h"

namespace relayout::derive {
namespace {

using Values = std::vector<const Value*>;

/// The values of these names; Error{usage} for one that is not there.
Values values_of(const Model& model, std::string_view option, const std::vector<std::string>& names) {
  Values out;
  for (const std::string& name : names) {
    const Value* const value = model.graph().find(name);
    if (value == nullptr) {
      std::vector<std::string> known;
      model.graph().visit_names([&](std::string_view one) { known.emplace_back(one); });
      fail(ErrorKind::usage, std::string(option) + " " + quote(name) + ": no value has this name" + did_you_mean(name, known, "; "));
    }
    if (std::ranges::find(out, value) == out.end()) out.push_back(value);
  }
  return out;
}

/// One run of a transform over a model.
class Transform {
 public:
  Transform(Model& model, const DeriveOptions& options, DeriveResult& result)
      : model_(model), graph_(model.graph()), result_(result), sizes_(std::make_unique<Sizes>(graph_)) {
    for (const Value* input : graph_.inputs()) sizes_->offer(*input);
    wrt_ = values_of(model, "--wrt", options.wrt);
    of_ = values_of(model, "--of", options.of);
    if (wrt_.empty()) add_reals(graph_.inputs(), wrt_);
    if (of_.empty()) add_reals(graph_.outputs(), of_);
    if (wrt_.empty()) fail(ErrorKind::unsupported, "no input is of floating point");
    if (of_.empty()) fail(ErrorKind::unsupported, "no output is of floating point");
    check_types("--wrt", wrt_);
    check_types("--of", of_);
  }

  void jvp() {
    const Values tangents = forward(wrt_, ".tangent", true);
    for (const Value* value : of_) give(*value, linear_->tangent(*value), ".tangent");
  }

  void vjp() {
    std::vector<std::string> cotangents;
    for (const Value* value : of_) cotangents.push_back(add_input(*value, ".cotangent", true).name());
    for (auto& [value, gradient] : backward(cotangents)) give(*value, gradient, ".gradient");
  }

  /// Forward over reverse: the tangent of the gradient.
  void hvp() {
    if (of_.size() != 1) fail(ErrorKind::usage, "a Hessian is of one output: --of names it");
    Writer w(graph_);
    w.name_after(of_.front()->name() + ".ones");
    const Name ones = w.make("Expand", {w.real(1, sizes_->type(*of_.front())), w.shape(of_.front()->name())});
    Values gradients;
    const auto made = backward({ones});
    for (const auto& [value, gradient] : made) gradients.push_back(gradient.empty() ? nullptr : graph_.find(gradient));
    sizes_ = std::make_unique<Sizes>(graph_);
    of_ = gradients;
    std::erase(of_, nullptr);
    const Values vectors = forward(wrt_, ".vector", true);
    for (std::size_t i = 0; i < made.size(); ++i) {
      give(*made[i].first, gradients[i] == nullptr ? Name() : linear_->tangent(*gradients[i]), ".hvp");
    }
  }

 private:
  void add_reals(const auto& values, Values& out) {
    for (const Value* value : values) {
      const bool is_plain = value->initializer() == nullptr || !value->is_input();
      if (is_plain && is_float(sizes_->type(*value)) && std::ranges::find(out, value) == out.end()) out.push_back(value);
    }
  }

  void check_types(std::string_view option, const Values& values) {
    for (const Value* value : values) {
      const DataType type = sizes_->type(*value);
      if (is_float(type)) continue;
      fail(type == DataType::undefined ? ErrorKind::unsupported : ErrorKind::usage,
           std::string(option) + " " + quote(value->name()) + " is of type " + std::string(name_of(type)) + ", not of floating point");
    }
  }

  /// An entry with the type and the dims of a value.
  onnx::ValueInfoProto entry_of(const Value& value, const std::string& name) {
    onnx::ValueInfoProto out;
    if (value.info() != nullptr && (value.is_model_input() || value.is_own_output())) {
      *out.mutable_type() = value.info()->type();
    } else {
      auto& type = *out.mutable_type()->mutable_tensor_type();
      type.set_elem_type(static_cast<int>(sizes_->type(value)));
      const auto rank = sizes_->rank(value);
      for (std::size_t i = 0; rank && i < *rank; ++i) {
        auto& dim = *type.mutable_shape()->add_dim();
        const int64_t size = sizes_->dim(value, i);
        const auto twin = sizes_->twin(value, i);
        if (size >= 0) {
          dim.set_dim_value(size);
        } else if (twin && twin->first->declared()) {
          dim.set_dim_param(twin->first->declared()->symbols.at(twin->second));
        }
      }
      if (rank) type.mutable_shape();
    }
    out.set_name(name);
    return out;
  }

  const Value& add_input(const Value& like, std::string_view suffix, bool is_shown) {
    const onnx::ValueInfoProto entry = entry_of(like, model_.unique_name(like.name() + std::string(suffix)));
    // A value of this name without a source: that of a node which is gone again.
    Node& node = graph_.insert_before(graph_.nodes().begin(), node_message("Constant", {}, {entry.name()}));
    Value& made = *node.output(0);
    (void)graph_.detach(made, model_.unique_name(entry.name() + ".source"));
    graph_.erase(node);
    graph_.add_input(made, entry.type());
    if (is_shown) result_.inputs.push_back(made.name());
    return made;
  }

  /// Writes the tangents of `of_` by new inputs, which are returned.
  Values forward(const Values& wrt, std::string_view suffix, bool is_shown) {
    linear_.emplace(graph_, *sizes_);
    Values out;
    for (const Value* value : wrt) {
      out.push_back(&add_input(*value, suffix, is_shown));
      linear_->seed(*value, out.back()->name());
    }
    linear_->run(of_);
    return out;
  }

  /// The gradient by each of `wrt_`, "" for zero, of the products of `of_` and their cotangents.
  std::vector<std::pair<const Value*, Name>> backward(const std::vector<std::string>& cotangents) {
    const Values tangents = forward(wrt_, ".tangent", false);
    Sizes::Like sources;
    for (std::size_t i = 0; i < wrt_.size(); ++i) sources.emplace_back(tangents[i], wrt_[i]);
    Transposer transposer(graph_, sources, *sizes_);
    for (std::size_t i = 0; i < of_.size(); ++i) {
      const Name tangent = linear_->tangent(*of_[i]);
      if (!tangent.empty()) transposer.seed(*graph_.find(tangent), cotangents[i]);
    }
    transposer.run();
    std::vector<std::pair<const Value*, Name>> out;
    for (std::size_t i = 0; i < wrt_.size(); ++i) out.emplace_back(wrt_[i], transposer.cotangent(*tangents[i]));
    transposer.erase_linear();
    for (const Value* tangent : tangents) graph_.erase_input(const_cast<Value&>(*tangent));
    return out;
  }

  /// Makes a derivative an output: NAME.tangent has the dims of NAME.
  void give(const Value& like, Name derivative, std::string_view suffix) {
    Writer w(graph_);
    const std::string name = model_.unique_name(like.name() + std::string(suffix));
    w.name_after(name);
    if (derivative.empty()) {
      derivative = w.make("Expand", {w.real(0, sizes_->type(like)), w.shape(like.name())});
      result_.zeros.push_back(name);
    }
    w.make_named(derivative, name);
    const onnx::TypeProto type = entry_of(like, name).type();
    std::vector<std::pair<Value*, const onnx::TypeProto*>> outputs;
    for (Value* output : graph_.outputs()) outputs.emplace_back(output, nullptr);
    outputs.emplace_back(graph_.find(name), &type);
    graph_.set_outputs(outputs);
    result_.outputs.push_back(name);
  }

  Model& model_;
  Graph& graph_;

  DeriveResult& result_;
  std::unique_ptr<Sizes> sizes_;
  std::optional<Linearizer> linear_;
  Values wrt_, of_;
};

void simplify(Model& model) {
  std::vector<const passes::Pass*> chosen;
  for (const std::string_view name : {"remove-unused", "remove-identity", "fold-constants"}) chosen.push_back(passes::find_pass(name));
  passes::PassContext context;
  context.options.simplify = true;
  passes::run_passes(model, chosen, context);
  passes::run_passes(model, std::array{chosen.front()}, context);
}

}  // namespace

void transform(Model& model, Derivative what, const DeriveOptions& options, DeriveResult& result) {
  raise_opset(model, kLeastOpset);
  enter_calls(model);
  Transform run(model, options, result);
  switch (what) {
    case Derivative::jvp:
      run.jvp();
      break;
    case Derivative::vjp:
      run.vjp();
      break;
    case Derivative::hvp:
      run.hvp();
      break;
  }
  simplify(model);
}

}  // namespace relayout::derive

namespace relayout {

DeriveResult differentiate(Derivative what, const std::filesystem::path& input, const std::filesystem::path& output,
                           const DeriveOptions& options) {
  const Stopwatch watch;
  DeriveResult result;
  result.input = input;
  result.output = output;
  const auto count = [](const Model& model) {
    int64_t nodes = 0;
    for_each_node(model, [&](const Node&) { ++nodes; });
    return nodes;
  };
  auto model = Model::load(input, options.load);
  result.nodes_before = count(*model);
  try {
    derive::transform(*model, what, options, result);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::usage) throw;
    throw Error(error.kind(), escape(input.string()) + ": " + error.what(), error.hint());
  }
  result.nodes_after = count(*model);
  result.bytes = save(*model, output, options.save).bytes;
  result.seconds = watch.seconds();
  return result;
}

}  // namespace relayout

// Merges models: the parts of an ensemble side by side or as one net with stacked weights, and two models in a row.
#include "relayout/merge.h"

#include "base/positions.h"
#include "base/text.h"
#include "base/times.h"
#include "derive/batcher.h"
#include "derive/derive.h"
#include "derive/graft.h"
#include "derive/linearizer.h"
#include "derive/sizes.h"
#include "derive/structure.h"
#include "derive/writer.h"
#include "model/origin.h"
#include "model/save.h"
#include "model/tensor_data.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

using Models = std::vector<std::unique_ptr<Model>>;

/// The declared type and dims of a value in words, for errors.
std::string declared_of(const Value& value) {
  return quote(value.name()) + " " + declared_text(value.info());
}

/// Whether one value may take the place of another by what is declared: equal types, and dims that are equal where both are known.
bool may_stand_for(const Value& a, const Value& b) {
  const auto one = a.declared(), other = b.declared();
  if (!one || !other) return true;
  if (one->type != other->type) return false;
  if (!one->has_shape || !other->has_shape) return true;
  if (one->dims.size() != other->dims.size()) return false;
  for (std::size_t i = 0; i < one->dims.size(); ++i) {
    if (one->dims[i] >= 0 && other->dims[i] >= 0 && one->dims[i] != other->dims[i]) return false;
  }
  return true;
}

std::vector<const Value*> plain_inputs(const Model& model) {
  std::vector<const Value*> out;
  for (const Value* input : model.graph().inputs()) {
    if (input->initializer() == nullptr) out.push_back(input);
  }
  return out;
}

void check_interfaces(const Model& a, const Model& b) {
  const auto check = [&](std::string_view what, const auto& of_a, const auto& of_b) {
    if (of_a.size() != of_b.size()) fail(ErrorKind::usage, "parts of an ensemble have the same " + std::string(what) + "s");
    for (const Value* value : of_a) {
      const auto other = std::ranges::find(of_b, value->name(), &Value::name);
      if (other == of_b.end()) fail(ErrorKind::usage, std::string(what) + " " + quote(value->name()) + " is not one of every part");
      if (!may_stand_for(*value, **other)) {
        fail(ErrorKind::usage,
             std::string(what) + " " + declared_of(*value) + " is " + declared_text((*other)->info()) + " in another part");
      }
    }
  };
  check("input", plain_inputs(a), plain_inputs(b));
  check("output", a.graph().outputs(), b.graph().outputs());
}

/// Tensors of equal dims along an axis of one.
struct Stack {
  Name name;
  int64_t axis = 0;
};

/// What several tensors of equal dims become: given one by one, or in a stack.
class Combiner {
 public:
  Combiner(Writer& w, Names parts) : w_(w), parts_(std::move(parts)) {}
  Combiner(Writer& w, Stack stack) : w_(w), stacked_(std::move(stack.name)), axis_(stack.axis) {}

  Name result(Combine how) {
    using enum Combine;
    switch (how) {
      case mean:
        return mean_of(parts_, stacked_);
      case sum:
        return parts_.empty() ? w_.reduce("ReduceSum", stacked_, {axis_}, false) : w_.make("Sum", parts_);
      case max:
        return parts_.empty() ? w_.reduce("ReduceMax", stacked_, {axis_}, false) : w_.make("Max", parts_);
      case stack:
        return stacked();
      case vote:
        return most_voted();
      case variance:
        return spread();
      case deviation:
        return w_.make("Sqrt", {spread()});
    }
    return {};
  }

 private:
  Name mean_of(const Names& parts, const Name& stacked) {
    return parts.empty() ? w_.reduce("ReduceMean", stacked, {axis_}, false) : w_.make("Mean", parts);
  }

  Name stacked() {
    if (!stacked_.empty()) return stacked_;
    Names rows;
    for (const Name& part : parts_) rows.push_back(w_.unsqueeze(part, {0}));
    return w_.make("Concat", rows, {{"axis", int64_t{0}}});
  }

  Name spread() {
    const Name mean = mean_of(parts_, stacked_);
    const auto square = [&](const Name& value) {
      const Name distance = w_.make("Sub", {value, mean});
      return w_.make("Mul", {distance, distance});
    };
    Names squares;
    for (const Name& part : parts_) squares.push_back(square(part));
    return mean_of(squares, parts_.empty() ? square(stacked_) : Name());
  }

  /// [E, N, C, …] → the votes [E, N, …] → how many each class has [N, C, …] → [N, …]
  Name most_voted() {
    const Name all = stacked();
    const Name votes = w_.make("ArgMax", {all}, {{"axis", int64_t{2}}, {"keepdims", int64_t{0}}});
    const Name classes = w_.make("Gather", {w_.shape(all), w_.integer(2)});
    const Name marks = w_.make("OneHot", {votes, classes, w_.integers({0, 1})}, {{"axis", int64_t{2}}});
    const Name counts = w_.reduce("ReduceSum", marks, {0}, false);
    return w_.make("ArgMax", {counts}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  }

  Writer& w_;
  Names parts_;
  Name stacked_;
  int64_t axis_ = 0;
};

std::string_view suffix_of(Combine how) {
  return std::ranges::find(kCombinations, how, &decltype(kCombinations)::value_type::second)->first;
}

/// The entry of an output that combines `count` of them.
onnx::TypeProto combined_type(const onnx::TypeProto& part, Combine how, int64_t count) {
  onnx::TypeProto out = part;
  if (how != Combine::stack && how != Combine::vote) return out;
  auto& tensor = *out.mutable_tensor_type();
  const bool has_shape = part.tensor_type().has_shape();
  tensor.mutable_shape()->clear_dim();
  if (how == Combine::vote) tensor.set_elem_type(onnx::TensorProto_DataType_INT64);
  if (how == Combine::stack) tensor.mutable_shape()->add_dim()->set_dim_value(count);
  for (int i = 0; i < part.tensor_type().shape().dim_size(); ++i) {
    if (how == Combine::stack || i != 1) *tensor.mutable_shape()->add_dim() = part.tensor_type().shape().dim(i);
  }
  if (!has_shape) tensor.clear_shape();
  return out;
}

void check_type(const Value& output, Combine how) {
  const auto declared = output.declared();
  if (!declared || declared->type == DataType::undefined) {
    fail(ErrorKind::unsupported, "output " + quote(output.name()) + " is no tensor of a declared type");
  }
  const bool wants_reals = how != Combine::stack && how != Combine::max && how != Combine::sum;
  if (wants_reals && !is_float(declared->type)) {
    fail(ErrorKind::usage, "output " + declared_of(output) + " is not of floating point, and has no " + std::string(suffix_of(how)));
  }
  if (how == Combine::vote && declared->has_shape && declared->dims.size() < 2) {
    fail(ErrorKind::usage, "output " + declared_of(output) + " has no classes along axis 1");
  }
}

/// Replaces an output of a model by combinations of what it and its counterparts compute.
class Outputs {
 public:
  Outputs(Model& model, const ModelMergeOptions& options, int64_t count)
      : graph_(model.graph()), model_(model), options_(options), count_(count) {
    for (const Value* output : graph_.outputs()) {
      for (const Combine how : options_.combine) check_type(*output, how);
      if (output->producer() == nullptr) fail(ErrorKind::unsupported, "output " + quote(output->name()) + " is not computed");
    }
  }

  /// Frees the names of the outputs for the results; returns those of what the model computes.
  Names move(const std::string& prefix) {
    Names out;
    for (Value* output : graph_.outputs()) {
      Value& own = graph_.detach(*output, model_.unique_name(prefix + "/" + output->name()));
      graph_.replace_uses(*output, own);
      out.push_back(own.name());
    }
    return out;
  }

  /// `parts`: of output `index`, one by one or stacked.
  template <class Parts>
  void give(std::size_t index, const Parts& parts) {
    const Value& output = *graph_.outputs().at(index);
    const std::string name = output.name();
    const onnx::TypeProto type = output.info()->type();
    for (const Combine how : options_.combine) {
      Writer w(graph_);
      const bool is_first = how == options_.combine.front();
      const std::string own = is_first ? name : model_.unique_name(name + "." + std::string(suffix_of(how)));
      w.name_after(own);
      const Name made = Combiner(w, parts).result(how);
      w.make_named(made, own);
      const onnx::TypeProto entry = combined_type(type, how, count_);
      if (is_first) {
        graph_.edit_declarations([&](onnx::ValueInfoProto& one) {
          if (one.name() != name) return false;
          *one.mutable_type() = entry;
          return true;
        });
      } else {
        added_.emplace_back(own, entry);
      }
    }
  }

  void finish() {
    std::vector<std::pair<Value*, const onnx::TypeProto*>> all;
    for (Value* output : graph_.outputs()) all.emplace_back(output, nullptr);
    for (const auto& [name, type] : added_) all.emplace_back(graph_.find(name), &type);
    graph_.set_outputs(all);
  }

 private:
  Graph& graph_;
  Model& model_;
  const ModelMergeOptions& options_;
  int64_t count_;
  std::vector<std::pair<std::string, onnx::TypeProto>> added_;
};

void put_side_by_side(Models& models, const std::vector<std::string>& prefixes, const ModelMergeOptions& options) {
  Model& all = *models.front();
  Outputs outputs(all, options, std::ssize(models));
  const std::size_t count = all.graph().outputs().size();
  std::vector<std::string> names;
  for (const Value* output : all.graph().outputs()) names.push_back(output->name());
  std::vector<Names> parts(count);
  const Names own = outputs.move(prefixes.front());
  for (std::size_t k = 0; k < count; ++k) parts[k].push_back(own[k]);
  for (std::size_t i = 1; i < models.size(); ++i) {
    GraftedNames bound;
    for (const Value* input : plain_inputs(*models[i])) bound[input->name()] = input->name();
    const GraftedNames made = graft(all, *models[i], prefixes[i], Naming::prefixed, bound);
    for (std::size_t k = 0; k < count; ++k) parts[k].push_back(made.at(names[k]));
  }
  for (std::size_t k = 0; k < count; ++k) outputs.give(k, parts[k]);
  outputs.finish();
}

Tensor contents_of(const Model& model, const Value& value) {
  if (value.initializer() != nullptr) return value.initializer()->load();
  const Node& node = *value.producer();
  return node.constant_data() != nullptr ? node.constant_data()->load() : load_tensor(model, node.attribute("value")->t());
}

/// The contents of a constant in all models, one after the other; nothing where they are all the same.
std::optional<TensorData> stacked_contents(const Models& models, const Value& value, const std::vector<Counterparts>& counterparts) {
  const Tensor first = contiguous(contents_of(*models.front(), value));
  if (first.type() == DataType::string || traits(first.type()).bits < 8) return std::nullopt;
  const auto bytes_of = [](const Tensor& tensor) {
    return std::span(tensor.bytes(), as_size(tensor.element_count() * traits(tensor.type()).bits / 8));
  };
  std::vector<std::byte> all(bytes_of(first).begin(), bytes_of(first).end());
  bool differs = false;
  for (std::size_t i = 1; i < models.size(); ++i) {
    const Tensor other = contiguous(contents_of(*models[i], *counterparts[i - 1].at(&value)));
    differs = differs || !std::ranges::equal(bytes_of(first), bytes_of(other));
    all.insert(all.end(), bytes_of(other).begin(), bytes_of(other).end());
  }
  if (!differs) return std::nullopt;
  Dims dims = first.dims();
  dims.insert(dims.begin(), std::ssize(models));
  return TensorData(first.type(), std::move(dims), Bytes::owned(std::move(all)));
}

/// An output of all nets. Channels that only are summed up, or compared, stay where they are.
Stack stack_of(Batcher& batch, const Value& value, const std::vector<Combine>& combine) {
  constexpr std::array kReductions = {Combine::mean, Combine::sum, Combine::max};
  const bool is_reduced =
      std::ranges::all_of(combine, [&](Combine how) { return std::ranges::find(kReductions, how) != kReductions.end(); });
  if (!is_reduced || !batch.has(value, Form::channels)) return {.name = batch.stacked(value)};
  std::vector<Dim> dims{0, batch.count(), -1};
  for (const Dim& dim : batch.tail(value, 2, Form::channels)) dims.push_back(dim);
  return {.name = batch.writer().reshape(batch.in(value, Form::channels), dims), .axis = 1};
}

/// One net with the weights of all; the difference, if they are not of equal structure.
std::string stack_weights(Models& models, const std::string& prefix, const ModelMergeOptions& options) {
  Model& all = *models.front();
  Graph& graph = all.graph();
  std::vector<Counterparts> counterparts(models.size() - 1);
  for (std::size_t i = 1; i < models.size(); ++i) {
    std::string why = structural_difference(graph, models[i]->graph(), counterparts[i - 1]);
    if (!why.empty()) return why;
  }
  Outputs outputs(all, options, std::ssize(models));
  std::vector<const Value*> constants;
  for (const Initializer& one : graph.initializers()) constants.push_back(one.value);
  for (const Node& node : graph.nodes()) {
    if (node.is("Constant")) constants.push_back(node.output(0));
  }
  const std::vector<const Value*> wanted(graph.outputs().begin(), graph.outputs().end());
  open_nodes(graph, constants, wanted);
  Sizes sizes(graph);
  Batcher batch(graph, sizes, Dim(std::ssize(models)));
  for (const Value* value : constants) {
    if (!counterparts.front().contains(value)) continue;
    auto contents = stacked_contents(models, *value, counterparts);
    if (!contents) continue;
    if (!is_float(contents->type())) return "contents of " + quote(value->name());
    const Value& stacked = graph.add_initializer(all.unique_name(value->name() + ".stacked"), std::move(*contents));
    batch.seed(*value, Form::stacked, stacked.name());
  }
  batch.run(wanted);
  std::vector<Stack> stacked;
  for (const Value* value : wanted) stacked.push_back(stack_of(batch, *value, options.combine));
  const Names own = outputs.move(prefix);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!stacked[i].name.empty()) {
      outputs.give(i, stacked[i]);
    } else {
      outputs.give(i, Names(models.size(), own[i]));
    }
  }
  outputs.finish();
  simplify(all);
  return "";
}

/// The outputs of the first model that inputs of the second read.
std::vector<std::pair<std::string, std::string>> links(const Model& first, const Model& second, const ModelMergeOptions& options) {
  if (!options.map.empty()) return options.map;
  std::vector<std::pair<std::string, std::string>> out;
  const auto inputs = plain_inputs(second);
  const auto& outputs = first.graph().outputs();
  for (const Value* output : outputs) {
    if (std::ranges::find(inputs, output->name(), &Value::name) != inputs.end()) out.emplace_back(output->name(), output->name());
  }
  if (out.empty() && outputs.size() == 1 && inputs.size() == 1) out.emplace_back(outputs.front()->name(), inputs.front()->name());
  if (out.empty()) fail(ErrorKind::usage, "no input of the second model has the name of an output of the first: --map OUT=IN pairs them");
  return out;
}

void put_in_a_row(Model& first, Model& second, const std::string& prefix, const ModelMergeOptions& options) {
  Graph& graph = first.graph();
  GraftedNames bound;
  const auto inputs = plain_inputs(second);
  const auto check = [&](const std::string& out, const std::string& in) {
    const std::string link = "--map " + quote(out + "=" + in) + ": ";
    const auto output = std::ranges::find(graph.outputs(), out, &Value::name);
    const auto input = std::ranges::find(inputs, in, &Value::name);
    if (output == graph.outputs().end()) fail(ErrorKind::usage, link + "the first model has no such output");
    if (input == inputs.end()) fail(ErrorKind::usage, link + "the second model has no such input");
    if (may_stand_for(**output, **input)) return;
    fail(ErrorKind::usage, link + declared_of(**output) + " does not fit " + declared_of(**input));
  };
  for (const auto& [out, in] : links(first, second, options)) {
    check(out, in);
    if (!bound.emplace(in, out).second) fail(ErrorKind::usage, "--map names input " + quote(in) + " twice");
  }
  for (const Value* input : inputs) {
    if (bound.contains(input->name())) continue;
    const std::string own =
        first.unique_name(input->name()) == input->name() ? input->name() : first.unique_name(prefix + "/" + input->name());
    add_graph_input(first, own, input->info()->type());
    bound[input->name()] = own;
  }
  const GraftedNames made = graft(first, second, prefix, Naming::kept, bound);
  std::vector<std::pair<Value*, const onnx::TypeProto*>> outputs;
  for (const Value* output : second.graph().outputs()) {
    Value* const value = graph.find(made.at(output->name()));
    const bool is_there = std::ranges::find(outputs, value, &std::pair<Value*, const onnx::TypeProto*>::first) != outputs.end();
    if (value->is_input() || is_there)
      fail(ErrorKind::unsupported, "output " + quote(output->name()) + " is not computed by the second model");
    outputs.emplace_back(value, value->is_own_output() ? nullptr : &output->info()->type());
  }
  graph.set_outputs(outputs);
  passes::PassContext context;
  context.options.simplify = true;
  passes::run_passes(first, std::array{passes::find_pass("remove-unused")}, context);
}

/// Loads the models, merges them by `merge`, and saves the first.
template <class Merge>
ModelMergeResult merge_files(const std::vector<std::filesystem::path>& parts, const std::filesystem::path& output,
                             const ModelMergeOptions& options, const Merge& merge) {
  const Stopwatch watch;
  ModelMergeResult result;
  result.parts = parts;
  result.output = output;
  Models models;
  std::vector<std::string> prefixes;
  for (const auto& part : parts) {
    models.push_back(Model::load(part, options.load));
    prefixes.push_back(part.stem().string());
  }
  for (auto& model : models) {
    // What other domains compose is entered where it is to be batched.
    enter_calls(*model, options.batched);
    if (model != models.front()) agree_on_opsets(*models.front(), *model);
  }
  // The first may have been raised for the last.
  for (auto& model : models) raise_opset(*model, models.front()->opset(""));
  result.difference = merge(models, prefixes);
  if (!result.difference.empty()) return result;
  const Graph& graph = models.front()->graph();
  for (const Value* input : graph.inputs()) result.inputs.push_back(input->name());
  for (const Value* value : graph.outputs()) result.outputs.push_back(value->name());
  result.nodes = std::ssize(graph.nodes());
  result.bytes = save(*models.front(), output, options.save).bytes;
  result.seconds = watch.seconds();
  return result;
}

}  // namespace
}  // namespace relayout::derive

namespace relayout {

ModelMergeResult merge_ensemble(const std::vector<std::filesystem::path>& parts, const std::filesystem::path& output,
                                const ModelMergeOptions& options) {
  if (parts.size() < 2) fail(ErrorKind::usage, "an ensemble has two parts or more");
  return derive::merge_files(parts, output, options, [&](derive::Models& models, const std::vector<std::string>& prefixes) {
    for (const auto& model : models) derive::check_interfaces(*models.front(), *model);
    if (!options.batched) {
      derive::put_side_by_side(models, prefixes, options);
      return std::string();
    }
    for (auto& model : models) derive::raise_opset(*model, derive::kLeastOpset);
    return derive::stack_weights(models, prefixes.front(), options);
  });
}

ModelMergeResult merge_chain(const std::filesystem::path& first, const std::filesystem::path& second, const std::filesystem::path& output,
                             const ModelMergeOptions& options) {
  return derive::merge_files({first, second}, output, options, [&](derive::Models& models, const std::vector<std::string>& prefixes) {
    derive::put_in_a_row(*models.front(), *models.back(), prefixes.back(), options);
    return std::string();
  });
}

}  // namespace relayout

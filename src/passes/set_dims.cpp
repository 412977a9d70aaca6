// Gives dims of inputs other sizes, or makes them free, with the declarations and constants that hold the old ones.
//
//     float[1, 3, 224, 224] x                        float[N, 3, 224, 224] x
//     p = GlobalAveragePool (x)                      p = GlobalAveragePool (x)
//     y = Reshape (p, [1, 3])                        y = Reshape (p, [0, 3])
//     float[1, 3] y                                  float[N, 3] y

#include <tuple>

#include "base/positions.h"
#include "base/text.h"
#include "layout/graph_shapes.h"
#include "layout/sizes.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "passes/size_walk.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// The changes to a graph, or why there are none.
struct SizeChange {
  std::vector<SizedOperand> operands;
  /// Dims of values that change: the new ones, −1 for those that vary with the size; `follows` for those that are it.
  struct Declared {
    Dims dims;
    std::vector<bool> follows;
  };
  std::unordered_map<const Value*, Declared> declared;
  const Node* obstacle = nullptr;  ///< the node that fixes the size; nullptr: none
  std::string why = {};
};

/// The target of a Reshape whose result has these dims for two sizes: those that vary are copied (0) or inferred (−1).
std::optional<std::vector<int64_t>> free_target(const Node& node, std::vector<int64_t> target, const Dims& data, const Dims& result,
                                                const std::vector<std::size_t>& varying) {
  const bool copies = Attributes(node).integer("allowzero", 0) == 0;
  for (const std::size_t axis : varying) {
    if (target[axis] <= 0) continue;
    const bool is_copy = copies && axis < data.size() && data[axis] == result[axis];
    if (!is_copy && std::ranges::count(target, -1) > 0) return std::nullopt;
    target[axis] = is_copy ? 0 : -1;
  }
  return target;
}

/// The dims that a target gives to data.
Dims reshaped(const Node& node, const std::vector<int64_t>& target, const Dims& data) {
  Dims out = target;
  const bool copies = Attributes(node).integer("allowzero", 0) == 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && copies && i < data.size()) out[i] = data[i];
  }
  const auto inferred = std::ranges::find(out, -1);
  if (inferred == out.end()) return out;
  *inferred = 1;
  const int64_t others = element_count(out);
  *inferred = others > 0 ? element_count(data) / others : 0;
  return out;
}

class Follower {
 public:
  Follower(const Graph& graph, const NewSize& change) : graph_(graph), change_(change) {}

  static constexpr int64_t kMore = 3, kFar = 997;

  SizeChange run(Parts parts) {
    SizeChange out;
    const int64_t first = change_.size.value_or(2 * change_.old_size);
    const SizeWalk walk = walk_size(graph_, change_, parts, first);
    // Other sizes show that nothing depends on the first by coincidence.
    const int64_t base = change_.size ? change_.old_size + *change_.size : change_.old_size, more = kMore * base;
    std::optional<SizeWalk> second;
    if (parts == Parts::apart || !change_.size) {
      second = walk_size(graph_, change_, parts, more);
      (void)walk_size(graph_, change_, parts, kFar * base);
    }
    for (const auto& [node, operand] : walk.operands) add_operand(*node, operand, walk, out);
    for (const auto& [value, dims] : walk.dims)
      declare(*value, dims, walk, second && second->dims.contains(value) ? second->dims.at(value) : dims, first, more, out);
    return out;
  }

 private:
  void add_operand(const Node& node, SizedOperand operand, const SizeWalk& walk, SizeChange& out) const {
    if (!operand.scales.empty()) {
      if (change_.size) operand = {&node, 3, operand.contents, {}};
      return out.operands.push_back(std::move(operand));
    }
    if (!node.is("Reshape")) return out.operands.push_back(std::move(operand));
    const auto target = walk.old->integers(*node.input(1));
    const Dims& result = walk.old->dims_of(node.output(0)) != nullptr ? *walk.old->dims_of(node.output(0)) : operand.contents;
    const std::vector<std::size_t> varying = moving_axes(result, operand.contents);
    std::vector<int64_t> contents = *target;
    const auto data = walk.dims.find(node.input(0));
    const Dims dims = data != walk.dims.end() ? data->second : input_dims(*node.input(0), walk);
    if (change_.size) {
      for (const std::size_t axis : varying) contents[axis] = contents[axis] > 0 ? operand.contents[axis] : contents[axis];
    } else {
      const auto free = free_target(node, contents, dims, operand.contents, varying);
      if (!free) throw Refused{&node, "its target shape would have two free dims"};
      contents = *free;
    }
    if (reshaped(node, contents, dims) != operand.contents) throw Refused{&node, "its target shape infers another dim"};
    if (contents != *target) out.operands.push_back({&node, 1, std::move(contents), {}});
  }

  [[nodiscard]] Dims input_dims(const Value& value, const SizeWalk& walk) const {
    Dims dims = *walk.old->dims_of(&value);
    for (const auto& [input, axis] : change_.axes) {
      if (input == &value) dims[axis] = change_.size.value_or(2 * change_.old_size);
    }
    return dims;
  }

  void declare(const Value& value, const Dims& dims, const SizeWalk& walk, const Dims& others, int64_t first, int64_t more,
               SizeChange& out) const {
    const Dims& old = *walk.old->dims_of(&value);
    SizeChange::Declared declared{dims, std::vector<bool>(dims.size(), false)};
    for (const std::size_t axis : moving_axes(old, dims)) {
      declared.follows[axis] = old[axis] == change_.old_size && dims[axis] == first && others[axis] == more;
      if (!change_.size) declared.dims[axis] = -1;
    }
    out.declared.emplace(&value, std::move(declared));
  }

  const Graph& graph_;
  const NewSize& change_;
};

/// Follows a size through a graph from its inputs. Where all nodes keep the parts of the size apart, as samples of a batch, each part of
/// the results is what the graph computes from this part alone. Otherwise nodes that are defined for any size may mix the parts, as
/// convolutions do along an image, and constants are changed where only one reading of them is possible.
SizeChange follow_size(const Graph& graph, const NewSize& change) {
  SizeChange refused;
  const auto attempt = [&](Parts parts) -> std::optional<SizeChange> {
    try {
      return Follower(graph, change).run(parts);
    } catch (const Refused& why) {
      if (refused.obstacle != nullptr && change.axes.front().second == 0) return std::nullopt;
      refused.obstacle = why.node;
      refused.why = why.why;
      return std::nullopt;
    }
  };
  if (auto apart = attempt(Parts::apart)) return *apart;
  // One element along an axis may stand for anything.
  if (change.old_size > 1) {
    if (auto mixed = attempt(Parts::mixed)) return *mixed;
  }
  return refused;
}

/// Calls `edit` for the shape of each tensor that a type consists of.
void for_each_shape(onnx::TypeProto& type, const std::function<void(onnx::TensorShapeProto&)>& edit) {
  if (type.has_tensor_type() && type.tensor_type().has_shape()) edit(*type.mutable_tensor_type()->mutable_shape());
  if (type.has_sequence_type()) for_each_shape(*type.mutable_sequence_type()->mutable_elem_type(), edit);
  if (type.has_optional_type()) for_each_shape(*type.mutable_optional_type()->mutable_elem_type(), edit);
}

/// Gives every free dim of a name its size, in nested graphs too.
void set_symbol(Graph& graph, const std::string& symbol, int64_t size) {
  for_each_graph(graph, [&](Graph& nested) {
    nested.edit_declarations([&](onnx::ValueInfoProto& entry) {
      bool changed = false;
      for_each_shape(*entry.mutable_type(), [&](onnx::TensorShapeProto& shape) {
        for (auto& dim : *shape.mutable_dim()) {
          if (dim.dim_param() != symbol) continue;
          dim.set_dim_value(size);
          changed = true;
        }
      });
      return changed;
    });
  });
}

/// Writes one dim of a declaration: a size, a name, or −1 without a name for a dim that is not known.
void set_dim(onnx::TensorShapeProto::Dimension& dim, int64_t size, const std::string& symbol) {
  if (size >= 0) {
    dim.set_dim_value(size);
  } else if (!symbol.empty()) {
    dim.set_dim_param(symbol);
  } else {
    dim.clear_value();
  }
}

/// A dim of an input that is to change.
struct Request {
  const Value* input;
  std::size_t axis;
  std::optional<int64_t> size;  ///< nothing: free
  std::string symbol;
  std::string option;  ///< as the user wrote it
};

/// Dims that change together.
struct Group {
  NewSize change;
  std::string symbol, option;
};

/// Reads the options, in terms of the given model.
class Requests {
 public:
  explicit Requests(Graph& graph) : graph_(graph), names_(layout::size_names(graph)) {}

  void read(const DimEdits& edits) {
    layout::check_sizes({edits.sizes, {}}, names_, "--set-dim");
    for (const auto& [symbol, size] : edits.sizes) symbols_[symbol] = size;
    for (const auto& [name, dims] : edits.shapes) read_shape(name, dims);
    for (const auto& [place, symbol] : edits.free) read_free(place.first, place.second, symbol);
  }

  /// Sizes for free dims, by name.
  [[nodiscard]] const std::map<std::string, int64_t>& symbols() const { return symbols_; }
  /// Free dims without a name that get a size.
  [[nodiscard]] const std::vector<Request>& nameless() const { return nameless_; }

  /// Fixed dims that change, those together that have one name, or one axis and one size.
  [[nodiscard]] std::vector<Group> groups() const {
    std::vector<Group> out;
    for (const Request& request : fixed_) {
      const int64_t old_size = request.input->declared()->dims[request.axis];
      const auto found = std::ranges::find_if(out, [&](const Group& group) {
        const bool same = group.symbol == request.symbol && group.change.size == request.size && group.change.old_size == old_size;
        return same && (!request.symbol.empty() || group.change.axes.front().second == request.axis);
      });
      Group& group = found != out.end() ? *found : out.emplace_back(Group{{{}, old_size, request.size}, request.symbol, request.option});
      group.change.axes.emplace_back(request.input, request.axis);
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& hint = "") const {
    fail(ErrorKind::usage, names_.place + what, hint);
  }

  void read_shape(const std::string& name, const Dims& dims) {
    layout::check_input_name("--set-shape", name, names_);
    const Value& input = *graph_.find(name);
    const std::string option = "--set-shape " + escape(name) + "=" + to_string(dims);
    const auto declared = input.declared();
    if (!declared || !declared->has_shape) refuse(option + ": the input declares no shape");
    if (declared->dims.size() != dims.size()) refuse(option + ": the input has " + std::to_string(declared->dims.size()) + " dims");
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0 || declared->dims[i] == dims[i]) continue;
      if (declared->dims[i] >= 0) {
        fixed_.push_back({&input, i, dims[i], {}, option});
      } else if (layout::is_unknown_dim(declared->symbols[i])) {
        nameless_.push_back({&input, i, dims[i], {}, option});
      } else if (symbols_.try_emplace(declared->symbols[i], dims[i]).first->second != dims[i]) {
        refuse(option + ": dim " + quote(declared->symbols[i]) + " gets another size elsewhere");
      }
    }
  }

  void read_free(const std::string& name, int64_t given, const std::string& symbol) {
    layout::check_input_name("--free-dim", name, names_);
    const Value& input = *graph_.find(name);
    const std::string option = "--free-dim " + escape(name) + ":" + std::to_string(given) + "=" + escape(symbol);
    const auto declared = input.declared();
    if (!declared || !declared->has_shape) refuse(option + ": the input declares no shape");
    const auto rank = std::ssize(declared->dims);
    const auto axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank) refuse(option + ": the input has " + std::to_string(rank) + " dims");
    const auto at = as_size(axis);
    if (declared->symbols[at] == symbol) return;
    if (declared->dims[at] < 0) {
      refuse(option + ": the dim is free already" + (declared->symbols[at].empty() ? "" : ", as " + quote(declared->symbols[at])));
    }
    if (std::ranges::count(names_.symbols, symbol) > 0) refuse(option + ": the model has a dim of this name");
    if (declared->dims[at] == 0) refuse(option + ": the dim has no elements");
    std::erase_if(fixed_, [&](const Request& request) { return request.input == &input && request.axis == at; });
    fixed_.push_back({&input, at, std::nullopt, symbol, option});
  }

  Graph& graph_;
  layout::SizeNames names_;
  std::map<std::string, int64_t> symbols_;
  std::vector<Request> fixed_, nameless_;
};

TensorData integers(const std::vector<int64_t>& values, DataType type) {
  const auto pack = [&]<class T>(T) {
    std::vector<T> narrow;
    for (const int64_t value : values) narrow.push_back(static_cast<T>(value));
    return TensorData(type, {std::ssize(values)}, Bytes::owned({reinterpret_cast<const char*>(narrow.data()), narrow.size() * sizeof(T)}));
  };
  return type == DataType::int32 ? pack(int32_t{}) : pack(int64_t{});
}

void apply_operand(const SizedOperand& operand, PassContext& context) {
  Node& node = writable(*operand.node);
  if (!operand.scales.empty()) {
    Value* const sizes = node.input(3);
    node.graph().set_input(node, 3, nullptr);
    release(*sizes, context);
    const std::string_view bytes{reinterpret_cast<const char*>(operand.scales.data()), operand.scales.size() * sizeof(float)};
    TensorData scales(DataType::float32, {std::ssize(operand.scales)}, Bytes::owned(bytes));
    return set_constant_input(node, 2, std::move(scales), reported_name(node) + ".scales", context);
  }
  const DataType type = context.constants.type_of(*node.input(operand.input));
  set_constant_input(node, operand.input, integers(operand.contents, type), {}, context);
}

/// Writes the new dims of all values into their declarations.
void declare(Graph& graph, const Group& group, const SizeChange& change) {
  std::map<std::string, const SizeChange::Declared*> by_name;
  for (const auto& [value, declared] : change.declared) by_name.emplace(value->name(), &declared);
  const auto& axes = group.change.axes;
  graph.edit_declarations([&](onnx::ValueInfoProto& entry) {
    if (!entry.type().has_tensor_type() || !entry.type().tensor_type().has_shape()) return false;
    auto& shape = *entry.mutable_type()->mutable_tensor_type()->mutable_shape();
    bool changed = false;
    for (const auto& [input, axis] : axes) {
      if (entry.name() != input->name()) continue;
      set_dim(*shape.mutable_dim(static_cast<int>(axis)), group.change.size.value_or(-1), group.symbol);
      changed = true;
    }
    const auto found = by_name.find(entry.name());
    if (found == by_name.end() || std::ssize(found->second->dims) != shape.dim_size()) return changed;
    for (std::size_t i = 0; i < found->second->dims.size(); ++i) {
      auto& dim = *shape.mutable_dim(static_cast<int>(i));
      const int64_t size = found->second->dims[i];
      const bool follows = found->second->follows[i];
      if (!dim.has_dim_value() || (size == dim.dim_value() && !follows)) continue;
      set_dim(dim, size, follows ? group.symbol : "");
      changed = true;
    }
    return changed;
  });
}

/// Error{unsupported} with the node that fixes a size.
[[noreturn]] void refuse_size(const Graph& graph, const std::string& option, const Node& node, std::string why) {
  const std::string place = "node " + node.label();
  if (why.starts_with(place + ": ")) why.erase(0, place.size() + 2);  // a misfit names its node
  fail(ErrorKind::unsupported, escape(graph.model().name()) + ": " + option + ": " + place + " fixes the size: " + why);
}

SizeChange follow(const Graph& graph, const Group& group) {
  SizeChange change = follow_size(graph, group.change);
  if (change.obstacle != nullptr) refuse_size(graph, group.option, *change.obstacle, change.why);
  return change;
}

void apply_group(Graph& graph, const Group& group, const SizeChange& change, PassContext& context) {
  for (const SizedOperand& operand : change.operands) apply_operand(operand, context);
  declare(graph, group, change);
  context.constants.clear();  // remembers the old dims
}

/// Refuses sizes that a node cannot take, and declares the dims of outputs where all of them are known now.
void settle_outputs(Graph& graph, const std::string& option) {
  layout::Shapes shapes(graph);
  if (!shapes.assumed().empty()) return;
  if (const Node* const node = shapes.misfit_node()) refuse_size(graph, option, *node, shapes.misfit());
  std::map<std::string, Dims> known;
  for (const Value* const output : graph.outputs()) {
    if (const Dims* const dims = shapes.dims_of(output)) known.emplace(output->name(), *dims);
  }
  graph.edit_declarations([&](onnx::ValueInfoProto& entry) {
    const auto found = known.find(entry.name());
    if (found == known.end() || !entry.type().has_tensor_type() || !entry.type().tensor_type().has_shape()) return false;
    auto& shape = *entry.mutable_type()->mutable_tensor_type()->mutable_shape();
    if (std::ssize(found->second) != shape.dim_size()) return false;
    bool changed = false;
    for (int i = 0; i < shape.dim_size(); ++i) {
      if (shape.dim(i).has_dim_value()) continue;
      shape.mutable_dim(i)->set_dim_value(found->second[as_size(i)]);
      changed = true;
    }
    return changed;
  });
}

}  // namespace

void set_dims(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function() || !context.options.dims.any()) return;
  Requests requests(graph);
  requests.read(context.options.dims);
  const std::vector<Group> groups = requests.groups();
  std::string last;
  for (const auto& [symbol, size] : requests.symbols()) {
    last = "dim " + quote(symbol) + " = " + std::to_string(size);
    apply_one({"dim", symbol}, context, [&] { set_symbol(graph, symbol, size); });
  }
  for (const Request& request : requests.nameless()) {
    last = request.option;
    apply_one({"dim", request.input->name() + ":" + std::to_string(request.axis)}, context, [&] {
      graph.edit_declarations([&](onnx::ValueInfoProto& entry) {
        if (entry.name() != request.input->name()) return false;
        auto& shape = *entry.mutable_type()->mutable_tensor_type()->mutable_shape();
        set_dim(*shape.mutable_dim(static_cast<int>(request.axis)), *request.size, {});
        return true;
      });
    });
  }
  context.constants.clear();  // remembers the old dims
  for (const Group& group : groups) {
    last = group.option;
    const auto& [input, axis] = group.change.axes.front();
    const SizeChange change = follow(graph, group);
    const std::string subject = input->name() + ":" + std::to_string(axis);
    apply_one({"dim", subject}, context, [&] { apply_group(graph, group, change, context); });
  }
  if (!last.empty()) settle_outputs(graph, last);
}

}  // namespace relayout::passes

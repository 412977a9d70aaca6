#include "support/shrink.h"

#include <set>

#include "model/float_elements.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

void add_reads(const GraphProto& graph, std::set<std::string>& reads) {
  for (const NodeProto& node : graph.node()) {
    reads.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      add_reads(attribute.g(), reads);
      for (const auto& output : attribute.g().output()) reads.insert(output.name());
    }
  }
}

/// Removes nodes, initializers and inputs without consumers.
void remove_dead(ModelProto& model) {
  GraphProto& graph = *model.mutable_graph();
  for (bool changed = true; changed;) {
    changed = false;
    std::set<std::string> reads;
    add_reads(graph, reads);
    for (const auto& output : graph.output()) reads.insert(output.name());
    for (int i = graph.node_size(); i-- > 0;) {
      if (std::ranges::any_of(graph.node(i).output(), [&](const auto& name) { return reads.contains(name); })) continue;
      graph.mutable_node()->DeleteSubrange(i, 1);
      changed = true;
    }
    for (int i = graph.initializer_size(); !changed && i-- > 0;) {
      if (!reads.contains(graph.initializer(i).name())) graph.mutable_initializer()->DeleteSubrange(i, 1);
    }
    for (int i = graph.input_size(); !changed && i-- > 0;) {
      if (!reads.contains(graph.input(i).name())) graph.mutable_input()->DeleteSubrange(i, 1);
    }
  }
}

void replace_reads(GraphProto& graph, const std::string& from, const std::string& to) {
  for (NodeProto& node : *graph.mutable_node()) {
    std::ranges::replace(*node.mutable_input(), from, to);
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) replace_reads(*attribute.mutable_g(), from, to);
    }
  }
}

class Shrinker {
 public:
  Shrinker(ModelProto model, const std::function<bool(const ModelProto&)>& fails) : model_(std::move(model)), fails_(fails) {}

  ModelProto run() {
    // Shapes of outputs are declared for the whole network; without them more of it can be removed.
    ModelProto undeclared = model_;
    for (auto& output : *undeclared.mutable_graph()->mutable_output()) output.mutable_type()->mutable_tensor_type()->clear_shape();
    accept(std::move(undeclared));
    for (bool smaller = true; smaller;) {
      smaller = cut_outputs();
      smaller |= bypass_nodes();
      smaller |= drop_details();
      smaller |= flatten_values();
    }
    return std::move(model_);
  }

 private:
  bool accept(ModelProto candidate) {
    remove_dead(candidate);
    if (candidate.graph().output_size() == 0 || candidate.ByteSizeLong() == model_.ByteSizeLong() || !fails_(candidate)) return false;
    model_ = std::move(candidate);
    return true;
  }

  /// Keeps one value alone as output, or removes one output.
  bool cut_outputs() {
    std::vector<std::string> names;
    for (const NodeProto& node : model_.graph().node()) names.push_back(node.output(0));
    const auto alone = [&](const std::string& name) {
      ModelProto candidate = model_;
      const auto type = candidate.graph().output(0).type();
      candidate.mutable_graph()->clear_output();
      auto& output = *candidate.mutable_graph()->add_output();
      output.set_name(name);
      *output.mutable_type() = type;
      return accept(std::move(candidate));
    };
    for (const std::string& name : names) {
      if (model_.graph().output_size() == 1 && model_.graph().output(0).name() == name) break;
      if (alone(name)) return true;
    }
    bool smaller = false;
    for (int i = model_.graph().output_size(); model_.graph().output_size() > 1 && i-- > 0;) {
      ModelProto candidate = model_;
      candidate.mutable_graph()->mutable_output()->DeleteSubrange(i, 1);
      smaller |= accept(std::move(candidate));
    }
    return smaller;
  }

  /// Makes the consumers of a node read one of its operands instead.
  bool bypass_nodes() {
    bool smaller = false;
    for (int i = model_.graph().node_size(); i-- > 0;) {
      i = std::min(i, model_.graph().node_size() - 1);
      if (i < 0) break;
      const NodeProto node = model_.graph().node(i);
      for (const std::string& input : node.input()) {
        if (input.empty()) continue;
        ModelProto candidate = model_;
        replace_reads(*candidate.mutable_graph(), node.output(0), input);
        if (!accept(std::move(candidate))) continue;
        smaller = true;
        break;
      }
    }
    return smaller;
  }

  /// Removes attributes and trailing inputs.
  bool drop_details() {
    bool smaller = false;
    for (int i = 0; i < model_.graph().node_size(); ++i) {
      for (int k = model_.graph().node(i).attribute_size(); k-- > 0 && i < model_.graph().node_size();) {
        ModelProto candidate = model_;
        candidate.mutable_graph()->mutable_node(i)->mutable_attribute()->DeleteSubrange(k, 1);
        smaller |= accept(std::move(candidate));
      }
      if (i < model_.graph().node_size() && model_.graph().node(i).input_size() > 1) {
        ModelProto candidate = model_;
        candidate.mutable_graph()->mutable_node(i)->mutable_input()->RemoveLast();
        smaller |= accept(std::move(candidate));
      }
    }
    return smaller;
  }

  /// Replaces random constants by ones, which are easier to read. The size stays, so each is tried once.
  bool flatten_values() {
    for (int i = 0; i < model_.graph().initializer_size(); ++i) {
      const auto& tensor = model_.graph().initializer(i);
      const auto type = static_cast<DataType>(tensor.data_type());
      if (!is_scalable(type) || !flat_.insert(tensor.name()).second) continue;
      const Dims dims(tensor.dims().begin(), tensor.dims().end());
      const std::vector<double> ones(static_cast<std::size_t>(element_count(dims)), 1.0);
      ModelProto candidate = model_;
      candidate.mutable_graph()->mutable_initializer(i)->set_raw_data(from_doubles(type, dims, ones).load().bytes(),
                                                                      ones.size() * memory_size(type));
      if (fails_(candidate)) model_ = std::move(candidate);
    }
    return false;
  }

  ModelProto model_;
  const std::function<bool(const ModelProto&)>& fails_;
  std::set<std::string> flat_;
};

}  // namespace

ModelProto shrink(ModelProto model, const std::function<bool(const ModelProto&)>& fails) {
  return Shrinker(std::move(model), fails).run();
}

std::string described(const ModelProto& model) {
  return to_text(*Model::from_bytes(model.SerializeAsString()));
}

}  // namespace relayout::test

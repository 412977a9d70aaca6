// Outlines a main graph for drawings and tables: its nodes with their work, or the scopes of their names.

#include "inspect/outline.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/numbers.h"
#include "base/positions.h"
#include "inspect/model_macs.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "relayout/graph.h"
#include "relayout/inspect.h"
#include "relayout/types.h"

namespace relayout {

namespace {

constexpr std::size_t kMostBoxes = 300;

/// Begins and ends of consecutive nodes that share a box.
using Runs = std::vector<std::pair<std::size_t, std::size_t>>;

/// The first `depth` parts of a node's name, which exporters separate by '/' or, without any, by '.'. The last part names the node.
std::string scope_of(const std::string& name, std::size_t depth) {
  const char separator = name.find('/') != std::string::npos ? '/' : '.';
  std::size_t end = 0;
  for (std::size_t part = 0; part < depth; ++part) {
    const std::size_t next = name.find(separator, end + 1);
    if (next == std::string::npos) break;
    end = next;
  }
  return name.substr(0, end);
}

Runs runs_of(const std::vector<std::string>& scopes) {
  Runs out;
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    const bool continues = i > 0 && scopes[i] == scopes[i - 1];
    if (continues) ++out.back().second;
    if (!continues) out.emplace_back(i, i + 1);
  }
  return out;
}

/// Runs of equal lengths, where names have no scopes.
Runs equal_runs(std::size_t nodes) {
  const std::size_t length = (nodes + kMostBoxes - 1) / kMostBoxes;
  Runs out;
  for (std::size_t begin = 0; begin < nodes; begin += length) out.emplace_back(begin, std::min(nodes, begin + length));
  return out;
}

/// "Conv 3 · Relu 2 · …", the most frequent first, as many as a box has room for.
std::string content_of(const std::map<std::string, int64_t>& counts) {
  constexpr std::size_t kRoom = 24;
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater{}, &std::pair<std::string, int64_t>::second);
  std::string out;
  for (const auto& [op, count] : sorted) {
    const std::string one = op + (count == 1 ? "" : " " + format_count(count));
    if (!out.empty() && out.size() + one.size() > kRoom) return out + " · …";
    out += (out.empty() ? "" : " · ") + one;
  }
  return out;
}

/// Builds the boxes of a graph.
class Outliner {
 public:
  Outliner(const Graph& graph, std::vector<NodeSummary> nodes) : graph_(graph) {
    out_.nodes = std::move(nodes);
    std::size_t at = 0;
    for (const Node& node : graph.nodes()) {
      const NodeSummary& summary = out_.nodes.at(at++);
      if (node.is("Constant")) continue;
      nodes_.push_back(&node);
      summaries_.push_back(&summary);
    }
  }

  GraphOutline outline(const std::vector<PortSummary>& inputs, const std::vector<PortSummary>& outputs) {
    const Runs runs = choose_runs();
    std::size_t at = 0;
    for (const Value* const input : graph_.inputs()) {
      if (input->initializer() != nullptr) continue;
      box_of_[input] = out_.boxes.size();
      add_port(inputs.at(at++), GraphBox::Kind::input);
    }
    for (const auto& [begin, end] : runs) add_box(begin, end);
    link();
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const auto maker = box_of_.find(graph_.outputs()[i]);
      if (maker != box_of_.end()) out_.links.emplace_back(maker->second, out_.boxes.size());
      add_port(outputs.at(i), GraphBox::Kind::output);
    }
    return std::move(out_);
  }

 private:
  Runs choose_runs() {
    Runs each;
    for (std::size_t i = 0; i < nodes_.size(); ++i) each.emplace_back(i, i + 1);
    if (nodes_.size() <= kMostBoxes) return each;
    constexpr std::size_t kDeepest = 12;
    for (std::size_t depth = kDeepest; depth > 0; --depth) {
      std::vector<std::string> scopes;
      for (const NodeSummary* const summary : summaries_) scopes.push_back(scope_of(summary->node, depth));
      Runs runs = runs_of(scopes);
      if (runs.size() > kMostBoxes || runs.size() < 2) continue;
      out_.depth = depth;
      return runs;
    }
    return equal_runs(nodes_.size());
  }

  void add_port(const PortSummary& port, GraphBox::Kind kind) { out_.boxes.push_back({kind, port.name, port.type, port.shape, 0}); }

  void add_box(std::size_t begin, std::size_t end) {
    GraphBox box;
    std::map<std::string, int64_t> counts;
    for (std::size_t i = begin; i < end; ++i) {
      ++counts[summaries_[i]->op_type];
      box.macs = checked_add(box.macs, summaries_[i]->macs.value_or(0)).value_or(box.macs);
      box.parameters += summaries_[i]->parameters;
      for (const Value* const output : nodes_[i]->outputs()) {
        if (output != nullptr) box_of_[output] = out_.boxes.size();
      }
    }
    box.nodes = static_cast<int64_t>(end - begin);
    box.name = end - begin == 1 ? summaries_[begin]->node : name_of_run(begin, end);
    box.content = content_of(counts);
    box.dims = summaries_[end - 1]->dims;
    out_.boxes.push_back(std::move(box));
    for (std::size_t i = begin; i < end; ++i) of_node_.push_back(out_.boxes.size() - 1);
  }

  [[nodiscard]] std::string name_of_run(std::size_t begin, std::size_t end) const {
    std::string scope = scope_of(summaries_[begin]->node, out_.depth);
    if (!scope.empty() && scope == scope_of(summaries_[end - 1]->node, out_.depth)) return scope;
    return summaries_[begin]->node + " … " + summaries_[end - 1]->node;
  }

  void link() {
    std::set<std::pair<std::size_t, std::size_t>> known;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for_each_read(*nodes_[i], [&](const Value& value) {
        const auto made = box_of_.find(&value);
        if (made == box_of_.end() || made->second == of_node_[i]) return;
        if (known.emplace(made->second, of_node_[i]).second) out_.links.emplace_back(made->second, of_node_[i]);
      });
    }
  }

  const Graph& graph_;
  std::vector<const Node*> nodes_;
  std::vector<const NodeSummary*> summaries_;
  std::vector<std::size_t> of_node_;  ///< the box of each node
  std::unordered_map<const Value*, std::size_t> box_of_;
  GraphOutline out_;
};

}  // namespace

GraphOutline outline_of(const Graph& graph, const std::vector<PortSummary>& inputs, const std::vector<PortSummary>& outputs,
                        std::vector<NodeSummary> nodes) {
  return Outliner(graph, std::move(nodes)).outline(inputs, outputs);
}

// Lists the nodes of a main graph with their work and the stored numbers that they read.
namespace {

std::optional<int64_t> bytes_of_results(const NodeWork& work) {
  int64_t out = 0;
  for (std::size_t i = 0; i < work.results.size(); ++i) {
    const auto bytes = work.results[i] ? bytes_in_memory(work.types[i], *work.results[i]) : std::nullopt;
    const auto sum = bytes ? checked_add(out, *bytes) : std::nullopt;
    if (!sum) return std::nullopt;
    out = *sum;
  }
  return out;
}

}  // namespace

std::vector<NodeSummary> list_nodes(const std::vector<NodeWork>& nodes) {
  std::vector<NodeSummary> out;
  std::unordered_set<const Value*> read;
  Constants constants;
  for (const NodeWork& work : nodes) {
    const Node& node = *work.node;
    NodeSummary one{reported_name(node),
                    node.domain().empty() ? node.op_type() : std::string(node.domain()) + ":" + node.op_type(),
                    "",
                    work.macs,
                    0,
                    0,
                    bytes_of_results(work)};
    if (!work.results.empty() && work.results.front()) one.dims = to_string(*work.results.front());
    for_each_read(node, [&](const Value& value) {
      const bool is_stored = value.initializer() != nullptr || (value.producer() != nullptr && value.producer()->is("Constant"));
      if (!is_stored || !read.insert(&value).second) return;
      if (const Initializer* const initializer = value.initializer(); initializer != nullptr && initializer->data) {
        one.parameters += element_count(initializer->data->dims());
        one.bytes += initializer->data->byte_size();
        return;
      }
      const auto found = constants.find(value);
      const auto* const constant = std::get_if<Constant>(&found);
      if (constant == nullptr || constant->strings) return;
      one.parameters += element_count(constant->dims);
      one.bytes += constant->data.byte_size();
    });
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace relayout

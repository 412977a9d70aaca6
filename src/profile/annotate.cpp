// Writes what a profile measured into the metadata of a model's nodes, for viewers.
#include <onnx/onnx_pb.h>

#include <cstdio>

#include "base/numbers.h"
#include "base/text.h"
#include "model/node.h"
#include "model/save.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/profile.h"

namespace relayout {
namespace {

constexpr int64_t kNodesHaveMetadata = 10;  ///< IR version of 2024-03-25
constexpr int64_t kInputsMayBeGiven = 4;    ///< before it, initializers must be inputs; from it on, those are defaults

/// Raises the IR version to one whose nodes may hold metadata; returns the previous version.
int64_t raise_version(Model& model) {
  const int64_t had = model.ir_version();
  if (had < kInputsMayBeGiven) {
    fail(ErrorKind::unsupported, escape(model.name()) + ": IR version " + std::to_string(had) + " has no metadata of nodes (" +
                                     std::to_string(kNodesHaveMetadata) +
                                     " has), and in a later one its initializers would be defaults of inputs");
  }
  if (had < kNodesHaveMetadata) model.message().set_ir_version(kNodesHaveMetadata);
  return had;
}

/// Adds an entry, or replaces that of an earlier annotation.
void set_entry(onnx::NodeProto& node, const std::string& key, const std::string& value) {
  for (auto& entry : *node.mutable_metadata_props()) {
    if (entry.key() != key) continue;
    entry.set_value(value);
    return;
  }
  auto* const entry = node.add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

/// Rows of the model's own nodes. The time within a function or a nested graph counts for the node that calls it.
std::vector<ProfileRow> rows_of_nodes(const Profile& profile) {
  std::vector<ProfileRow> out;
  std::unordered_map<std::string_view, std::size_t> numbers;
  for (const ProfileRow& row : profile.rows) {
    const bool is_inner = !row.callers.empty();
    if (row.is_executor() || (row.kind != StepKind::node && !is_inner)) continue;
    const std::string& name = is_inner ? row.callers.front() : row.node;
    const auto [entry, is_new] = numbers.try_emplace(name, out.size());
    if (is_new) {
      ProfileRow& whole = out.emplace_back(row);
      if (!is_inner) continue;
      whole.node = name;
      whole.absorbed.clear();
      whole.implementation = "function";
    } else if (is_inner) {
      out[entry->second].us += row.us;
      out[entry->second].share += row.share;
    }
  }
  return out;
}

void describe(onnx::NodeProto& node, const ProfileRow& row) {
  set_entry(node, "relayout.time_us", fixed(row.us, 3));
  set_entry(node, "relayout.share", fixed(row.share, 5));
  set_entry(node, "relayout.layout", row.layout);
  set_entry(node, "relayout.implementation", row.implementation);
}

/// The row of a node, and whether the node is absorbed there.
struct Fate {
  const ProfileRow* row = nullptr;
  bool is_absorbed = false;
};

}  // namespace

AnnotatedVersion annotate(const std::filesystem::path& model, const Profile& profile, const std::filesystem::path& output,
                          const LoadOptions& load) {
  std::unordered_map<std::string_view, Fate> fates;
  const std::vector<ProfileRow> rows = rows_of_nodes(profile);
  for (const ProfileRow& row : rows) {
    fates.try_emplace(row.node, Fate{&row, false});
    for (const std::string& name : row.absorbed) fates.try_emplace(name, Fate{&row, true});
  }
  const auto loaded = Model::load(model, load);
  const int64_t had = raise_version(*loaded);
  Graph& graph = loaded->graph();
  for (Node& node : graph.nodes()) {
    const auto fate = fates.find(reported_name(node));
    if (fate == fates.end()) continue;
    if (fate->second.is_absorbed) {
      set_entry(graph.edit(node), "relayout.absorbed_by", fate->second.row->node);
    } else {
      describe(graph.edit(node), *fate->second.row);
    }
  }
  (void)save(*loaded, output);
  return {had, loaded->ir_version()};
}

}  // namespace relayout

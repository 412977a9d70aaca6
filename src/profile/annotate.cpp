// Writes what was measured into the model's nodes as metadata, which viewers of graphs show beside attributes.
#include <onnx/onnx_pb.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>

#include "exec/plan.h"
#include "model/save.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/profile.h"

namespace relayout {
namespace {

/// Replaces an entry of an earlier annotation.
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

std::string fixed(double value, const char* format) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

void describe(onnx::NodeProto& node, const ProfileRow& row) {
  set_entry(node, "relayout.time_us", fixed(row.us, "%.3f"));
  set_entry(node, "relayout.share", fixed(row.share, "%.5f"));
  set_entry(node, "relayout.layout", row.layout);
  set_entry(node, "relayout.implementation", row.implementation);
}

/// What happened to a node of this name.
struct Fate {
  const ProfileRow* row = nullptr;
  bool is_absorbed = false;
};

}  // namespace

void annotate(const std::filesystem::path& model, const Profile& profile, const std::filesystem::path& output, const LoadOptions& load) {
  std::unordered_map<std::string_view, Fate> fates;
  for (const ProfileRow& row : profile.rows) {
    if (row.kind != StepKind::node || row.is_executor()) continue;
    fates.try_emplace(row.node, Fate{&row, false});
    for (const std::string& name : row.absorbed) fates.try_emplace(name, Fate{&row, true});
  }
  const auto loaded = Model::load(model, load);
  Graph& graph = loaded->graph();
  for (Node& node : graph.nodes()) {
    const auto fate = fates.find(name_of(node));
    if (fate == fates.end()) continue;
    if (fate->second.is_absorbed) {
      set_entry(graph.edit(node), "relayout.absorbed_by", fate->second.row->node);
    } else {
      describe(graph.edit(node), *fate->second.row);
    }
  }
  (void)save(*loaded, output);
}

}  // namespace relayout

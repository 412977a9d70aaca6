// The metadata that --stamp writes into a converted model: `relayout.version` and `relayout.passes`.
#include "convert/stamp.h"

#include <onnx/onnx_pb.h>

#include <string>
#include <utility>
#include <vector>

#include "relayout/model.h"
#include "relayout/version.h"

namespace relayout {

void stamp(Model& model, const std::vector<std::string>& passes) {
  std::string names;
  for (const std::string& name : passes) names += (names.empty() ? "" : ",") + name;
  const std::pair<std::string, std::string> entries[] = {{"relayout.version", kVersion}, {"relayout.passes", names}};
  for (const auto& [key, value] : entries) {
    onnx::StringStringEntryProto* entry = nullptr;
    for (auto& existing : *model.message().mutable_metadata_props()) {
      if (existing.key() == key) entry = &existing;
    }
    if (entry == nullptr) entry = model.message().add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
}

}  // namespace relayout

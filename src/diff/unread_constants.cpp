// Finds initializers that no node reads and that the other model has under another name, which `diff` does not list as added.
#include "diff/unread_constants.h"

#include <cstdint>
#include <string_view>

#include "diff/fingerprints.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

bool is_unread(const Initializer& initializer) {
  const Value& value = *initializer.value;
  return initializer.data != nullptr && value.uses().empty() && !value.is_output() && !value.is_overridable();
}

}  // namespace

UnreadConstants::UnreadConstants(proof::Sides& sides) : sides_(sides) {
  const Graph& b = sides.b.model().graph();
  for (const Initializer& initializer : sides.a.model().graph().initializers()) {
    if (is_unread(initializer) && b.find(initializer.value->name()) == nullptr) {
      of_a_[fingerprint_of(*initializer.data)].push_back(initializer.value);
    }
  }
}

bool UnreadConstants::take(std::string_view name_in_b) {
  const Value* const value = sides_.b.model().graph().find(name_in_b);
  const Initializer* const initializer = value != nullptr ? value->initializer() : nullptr;
  if (initializer == nullptr || !is_unread(*initializer)) return false;
  const auto found = of_a_.find(fingerprint_of(*initializer->data));
  if (found == of_a_.end() || found->second.empty()) return false;
  const auto difference = sides_.tensor_difference({found->second.back()}, {value});
  if (!difference || difference->values > 0) return false;
  found->second.pop_back();
  return true;
}

}  // namespace relayout

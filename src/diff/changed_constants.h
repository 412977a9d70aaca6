#pragma once

#include "diff/change_list.h"
#include "proof/account.h"
#include "proof/sides.h"

namespace relayout {

/// Lists a constant of both models that is the subject of an issue, with the number of its values that differ and by how much.
void list_changed_constant(proof::Sides& sides, const proof::Issue& issue, ChangeList& changes);

}  // namespace relayout

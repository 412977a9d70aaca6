#pragma once

#include "diff/change_list.h"
#include "diff/unexplained_changes.h"
#include "proof/account.h"
#include "proof/sides.h"

namespace relayout {

/// Lists the changes that the proof accounts for, with their reasons: folds, nodes that only one model has and that are not in `listed`,
/// constants in a different order. A node of the second model without an account is listed as added, one of the first as removed.
void list_explained(proof::Sides& sides, const proof::Account& account, const ListedNodes& listed, ChangeList& changes);

}  // namespace relayout

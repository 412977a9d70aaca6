// Offers sizes to a model until it takes some.
#include "verify/size_search.h"

#include "verify/inputs/free_dims.h"

namespace relayout {

FreeDims::Assignment SizeSearch::find(const FreeDims& dims, int sample, const Trial& runs) {
  FreeDims::Assignment sizes;
  bool found = false;
  const auto offer = [&](bool uneven) {
    sizes = dims.assign({sample, samples_, attempt_, uneven});
    found = runs(sizes);
  };
  do {
    offer(takes_uneven_);
    if (!found && takes_uneven_ && sample % 2 == 1) offer(takes_uneven_ = false);
  } while (!found && !has_found_ && ++attempt_ < dims.attempts());
  if (!found && !has_found_) attempt_ = 0;
  has_found_ = has_found_ || found;
  return sizes;
}

}  // namespace relayout

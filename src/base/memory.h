#pragma once

namespace relayout {

/// Gives memory that was freed back to the system, so that the peak of what follows does not come on top of it.
void give_back_memory();

}  // namespace relayout

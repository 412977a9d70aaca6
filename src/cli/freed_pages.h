#pragma once

namespace relayout::cli {

/// From this call on, jemalloc (if linked) retains freed pages. Every run of a model allocates and frees weights, and a page that is
/// returned to the system and mapped again costs more than reading it. Conversions seldom reuse memory, so retained pages would only
/// accumulate there.
void keep_freed_pages() noexcept;

}  // namespace relayout::cli

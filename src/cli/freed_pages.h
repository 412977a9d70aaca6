#pragma once

namespace relayout::cli {

/// From here on what is freed stays with the program, where jemalloc is its allocator. Weights come and go with every run of a model, and
/// each page that the system takes back and hands out anew costs more than reading it. A conversion allocates little twice: there pages
/// that stay only add up.
void keep_freed_pages() noexcept;

}  // namespace relayout::cli

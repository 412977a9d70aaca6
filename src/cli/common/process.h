#pragma once

#include <string>
#include <vector>

#include "report/json.h"

namespace relayout::cli {

/// "relayout 0.1.0 (ONNX 1.17.0, oneDNN 3.7.2, AVX-512)": the versions at build time and the CPU's instruction set. Does not load oneDNN.
[[nodiscard]] std::string version_line();
/// The versions and the instruction set as a document.
[[nodiscard]] Json version_json();

/// The path with which a child process starts this program: its file, or the launcher that started it. Error{io} when neither is known.
[[nodiscard]] std::string own_program();

/// The facts besides files and options on which results depend: the builds of the program and of its libraries, and the processor as oneDNN
/// may use it.
[[nodiscard]] std::vector<std::string> program_facts();

/// From this call on, jemalloc (if linked) retains freed pages. Every run of a model allocates and frees weights, and a page that is
/// returned to the system and mapped again costs more than reading it. Conversions seldom reuse memory, so retained pages would only
/// accumulate there.
void keep_freed_pages() noexcept;

}  // namespace relayout::cli

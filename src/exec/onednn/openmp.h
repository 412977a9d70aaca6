#pragma once

#include "exec/primitives.h"

namespace relayout::exec::onednn {

/// Sets the threads for all parallel work from now on, the library's internal work included.
void use_threads_of(const ThreadSource& source);
/// Threads for primitives made and work started from now on by the calling thread.
void set_library_threads(int threads);
/// Runs work(context, i) for i in [0, count) on the threads that the library uses.
void run_library_parts(int count, void (*work)(void*, int), void* context);

}  // namespace relayout::exec::onednn

// Runs oneDNN's parallel regions on the program's own threads.
// Debian's oneDNN is built for GCC's OpenMP, of which it calls seven functions. This module defines them; as it is opened before libgomp,
// oneDNN gets its definitions. Everything is left to the OpenMP runtime where the environment sets how OpenMP's threads wait or where they
// are bound, and where oneDNN was bound to another runtime (a program that has libgomp itself, a build for another runtime).
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "exec/onednn/common.h"
#include "exec/primitives.h"

namespace relayout::exec::onednn {
namespace {

/// Functions of the OpenMP runtime; null where there is none.
struct OpenMpRuntime {
  template <class F>
  static F* find(const char* name) {
    return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
  }
  void (*parallel)(void (*)(void*), void*, unsigned, unsigned) = find<void(void (*)(void*), void*, unsigned, unsigned)>("GOMP_parallel");
  void (*barrier)() = find<void()>("GOMP_barrier");
  int (*max_threads)() = find<int()>("omp_get_max_threads");
  int (*count)() = find<int()>("omp_get_num_threads");
  int (*number)() = find<int()>("omp_get_thread_num");
  int (*is_parallel)() = find<int()>("omp_in_parallel");
  void (*set_threads)(int) = find<void(int)>("omp_set_num_threads");
};

const OpenMpRuntime& runtime_functions() {
  static const OpenMpRuntime kRuntime;
  return kRuntime;
}

bool environment_decides() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  return std::ranges::any_of(
      std::initializer_list<const char*>{"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"}, is_set);
}

ThreadSource threads;  // set once, before any work
bool uses_runtime = false;

/// Rank of the calling thread in the parallel region of which it runs a part.
struct Member {
  int number = 0, count = 1;
  bool is_inside = false;
};
thread_local Member member;
thread_local int wanted_threads = 1;

/// A parallel region as the compiler generates it: a function that every thread calls with the same argument.
struct Region {
  void (*work)(void*);
  void* data;
  int count;

  static void run_part(void* opaque, int part) {
    const auto& region = *static_cast<const Region*>(opaque);
    const Member before = member;
    member = {part, region.count, true};
    region.work(region.data);
    member = before;
  }
};

}  // namespace

void use_threads_of(const ThreadSource& source) {
  threads = source;
  uses_runtime = environment_decides() && runtime_functions().parallel != nullptr;
}

void set_library_threads(int count) {
  wanted_threads = count;
  if (runtime_functions().set_threads != nullptr) runtime_functions().set_threads(count);
}

void run_library_parts(int count, void (*work)(void*, int), void* context) {
  if (!uses_runtime) return threads.run(count, work, context);
  struct Shared {
    int count;
    void (*work)(void*, int);
    void* context;
  } shared{count, work, context};
  const auto part = [](void* opaque) {
    const auto& all = *static_cast<const Shared*>(opaque);
    const OpenMpRuntime& runtime = runtime_functions();
    for (int i = runtime.number(); i < all.count; i += runtime.count()) all.work(all.context, i);
  };
  runtime_functions().parallel(part, &shared, static_cast<unsigned>(count), 0);
}

}  // namespace relayout::exec::onednn

using relayout::exec::onednn::member;
using relayout::exec::onednn::runtime_functions;

// NOLINTBEGIN(readability-identifier-naming): OpenMP's names.
extern "C" {

#define RELAYOUT_OPENMP __attribute__((visibility("default")))

RELAYOUT_OPENMP void GOMP_parallel(void (*work)(void*), void* data, unsigned count, unsigned flags) {
  using namespace relayout::exec::onednn;
  if (uses_runtime) return runtime_functions().parallel(work, data, count, flags);
  const int wanted = count == 0 ? wanted_threads : static_cast<int>(count);
  Region region{work, data, member.is_inside ? 1 : threads.reserve(wanted)};
  region.count = std::min(region.count, wanted);
  threads.run(region.count, Region::run_part, &region);
}

RELAYOUT_OPENMP void GOMP_barrier() {
  if (!member.is_inside) {
    if (runtime_functions().barrier != nullptr) runtime_functions().barrier();
  } else if (member.count > 1) {
    relayout::exec::onednn::threads.meet();
  }
}

RELAYOUT_OPENMP int omp_get_thread_num() {
  return member.is_inside || runtime_functions().number == nullptr ? member.number : runtime_functions().number();
}

RELAYOUT_OPENMP int omp_get_num_threads() {
  return member.is_inside || runtime_functions().count == nullptr ? member.count : runtime_functions().count();
}

RELAYOUT_OPENMP int omp_in_parallel() {
  return member.is_inside || runtime_functions().is_parallel == nullptr ? static_cast<int>(member.count > 1)
                                                                        : runtime_functions().is_parallel();
}

RELAYOUT_OPENMP int omp_get_max_threads() {
  return relayout::exec::onednn::wanted_threads;
}

RELAYOUT_OPENMP void omp_set_num_threads(int count) {
  relayout::exec::onednn::set_library_threads(count);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

// Tells what this program is: its versions, its file, by which it starts itself again, and what its results depend on.
#include "cli/common/process.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <initializer_list>

#include "base/machine.h"
#include "base/text.h"
#include "relayout/error.h"
#include "relayout/version.h"
#include "report/json.h"

/// Declared weak, because the program may be built without jemalloc.
extern "C" [[gnu::weak]] int mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value, std::size_t new_size);

namespace relayout::cli {
namespace {

/// The largest instruction set from which oneDNN's kernels may choose.
std::string cpu_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0) {
    std::string isa = "AVX-512";
    if (__builtin_cpu_supports("avx512vnni") != 0) isa += " VNNI";
    if (__builtin_cpu_supports("avx512bf16") != 0) isa += " BF16";
    return isa;
  }
  if (__builtin_cpu_supports("avx2") != 0) return "AVX2";
  if (__builtin_cpu_supports("avx") != 0) return "AVX";
  if (__builtin_cpu_supports("sse4.1") != 0) return "SSE4.1";
  return "x86-64";
#elif defined(__aarch64__)
  return "AArch64";
#else
  return "generic";
#endif
}

}  // namespace

std::string version_line() {
  return std::string("relayout ") + kVersion + " (ONNX " RELAYOUT_ONNX_VERSION ", oneDNN " RELAYOUT_ONEDNN_VERSION ", " + cpu_isa() + ")";
}

Json version_json() {
  Json out = Json().set("schema", "relayout.version/1").set("version", kVersion).set("onnx", RELAYOUT_ONNX_VERSION);
  return std::move(out.set("onednn", RELAYOUT_ONEDNN_VERSION).set("isa", cpu_isa()));
}

// The file by which this program is started. An installed tree may contain a loader and a C library. A launcher then runs `ld.so --argv0
// LAUNCHER PROGRAM …`: /proc/self/exe is the loader, and only argv[0] names the launcher.
std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) fail(ErrorKind::io, "/proc/self/exe: " + error.message());
  const bool is_loader = getauxval(AT_BASE) == 0;  // else it is the address at which the kernel mapped the loader
  if (!is_loader) return path.string();
  const std::string launcher = program_invocation_name;
  if (launcher.starts_with('/') && access(launcher.c_str(), X_OK) == 0) return launcher;
  fail(ErrorKind::io,
       "cannot start itself again: " + escape(path.string()) + " runs it as " + quote(launcher) + ", which is no program's path",
       "start it by its launcher, or with ld.so's --argv0 and the absolute path of one");
}

// What results depend on besides files and options.
namespace {

/// The build id among the notes of one segment; empty when there is none.
std::string build_id_in(const char* at, std::size_t size) {
  constexpr std::size_t kAlign = 4;
  const auto aligned = [](std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note{};
    std::memcpy(&note, at, sizeof note);
    const std::size_t name = aligned(note.n_namesz), text = aligned(note.n_descsz);
    if (name > size - sizeof note || text > size - sizeof note - name) return {};
    const char* const begin = at + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(begin, note.n_namesz) == std::string_view("GNU\0", 4)) {
      return {begin + name, note.n_descsz};
    }
    const std::size_t step = sizeof note + name + text;
    at += step;
    size -= step;
  }
  return {};
}

int add_build_id(dl_phdr_info* object, std::size_t /*size*/, void* out) {
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* const notes =
        reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);  // NOLINT(*-reinterpret-cast,*-int-to-ptr)
    std::string id = build_id_in(notes, segment.p_memsz);
    if (!id.empty()) static_cast<std::vector<std::string>*>(out)->push_back(std::move(id));
  }
  return 0;
}

}  // namespace

std::vector<std::string> program_facts() {
  std::vector<std::string> ids;
  dl_iterate_phdr(add_build_id, &ids);
  // Sorted, because the order of loaded libraries is not guaranteed.
  std::ranges::sort(ids);
  std::vector<std::string> out{version_json().dump()};
  for (const char* const name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) out.push_back(environment(name));
  out.insert(out.end(), ids.begin(), ids.end());
  return out;
}

// Memory that jemalloc retains.
void keep_freed_pages() noexcept {
  if (mallctl == nullptr) return;
  ssize_t never = -1;
  // The settings of future arenas and of the initial one. A version of jemalloc that does not know them costs only time.
  for (const char* const name : {"arenas.dirty_decay_ms", "arena.0.dirty_decay_ms"}) {
    static_cast<void>(mallctl(name, nullptr, nullptr, &never, sizeof never));
  }
}

}  // namespace relayout::cli

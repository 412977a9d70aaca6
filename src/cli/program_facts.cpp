// Facts about program and processor by which caches tell whether an earlier result is valid: version, instruction set, oneDNN's variables,
// build ids of all loaded libraries.
#include "cli/program_facts.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "cli/version.h"

namespace relayout::cli {
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

}  // namespace relayout::cli

// The class of instructions available to kernels; layouts are planned for it even when nothing is run.
#include "base/instruction_set.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

namespace relayout {
namespace {

InstructionSet of_processor() {
#if defined(__x86_64__) || defined(__i386__)
  const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                          __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  if (has_avx512) return InstructionSet::avx512;
  return __builtin_cpu_supports("avx2") != 0 ? InstructionSet::avx2 : InstructionSet::sse41;
#else
  return InstructionSet::avx2;
#endif
}

}  // namespace

InstructionSet instruction_set_of(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "sse41" || lower == "avx") return InstructionSet::sse41;
  return lower.starts_with("avx2") ? InstructionSet::avx2 : InstructionSet::avx512;
}

InstructionSet instruction_set() {
  static const InstructionSet kHere = [] {
    const char* limit = std::getenv("ONEDNN_MAX_CPU_ISA");
    if (limit == nullptr) limit = std::getenv("DNNL_MAX_CPU_ISA");
    return limit == nullptr ? of_processor() : std::min(of_processor(), instruction_set_of(limit));
  }();
  return kHere;
}

}  // namespace relayout

// The instruction set of kernels and layout plans (sse41, avx2 or avx512): the processor's, limited by ONEDNN_MAX_CPU_ISA or
// DNNL_MAX_CPU_ISA. Layouts are planned for it even when nothing is run.
#include "base/instruction_set.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"

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
  const std::string lower = ascii_lower(name);
  if (lower == "sse41" || lower == "avx") return InstructionSet::sse41;
  return lower.starts_with("avx2") ? InstructionSet::avx2 : InstructionSet::avx512;
}

InstructionSet instruction_set() {
  static const InstructionSet kHere = [] {
    std::string limit = environment("ONEDNN_MAX_CPU_ISA");
    if (limit.empty()) limit = environment("DNNL_MAX_CPU_ISA");
    return limit.empty() ? of_processor() : std::min(of_processor(), instruction_set_of(limit));
  }();
  return kHere;
}

}  // namespace relayout

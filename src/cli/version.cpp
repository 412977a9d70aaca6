// Text and JSON of --version: the versions of relayout, ONNX and oneDNN, and the name of the processor's instruction set.
#include "cli/version.h"

#include <string>
#include <utility>

#include "relayout/version.h"
#include "report/json.h"

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
  Json out = Json::object();
  out.set("schema", "relayout.version/1").set("version", kVersion).set("onnx", RELAYOUT_ONNX_VERSION);
  return std::move(out.set("onednn", RELAYOUT_ONEDNN_VERSION).set("isa", cpu_isa()));
}

}  // namespace relayout::cli

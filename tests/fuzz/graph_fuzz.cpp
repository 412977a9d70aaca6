// Fuzzes the choices that make a valid graph: it passes through passes, planner and executor, and all modes give the same bits.

#include <cstdio>
#include <cstdlib>

#include "base/log.h"
#include "support/random_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  relayout::set_log_level(relayout::LogLevel::quiet);
  const std::string fault = relayout::test::find_fault(relayout::test::RandomGraph(std::span(data, size)));
  if (fault.empty()) return 0;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::abort();
}

// The machine that a profile records: processor name (/proc/cpuinfo), instruction set, versions of relayout and oneDNN, threads, processors
// that this process may use, load.
#include "profile/context.h"

#include <stdlib.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <thread>

#include "base/cpus.h"
#include "relayout/execute.h"
#include "relayout/profile.h"
#include "relayout/version.h"

namespace relayout {
namespace {

/// The name of the first processor as Linux reports it, or "unknown".
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

}  // namespace

ProfileContext current_context(int threads) {
  const LibraryInfo library = onednn_info();
  ProfileContext context;
  context.cpu = processor_name();
  context.isa = library.isa;
  context.relayout = kVersion;
  context.onednn = library.version;
  context.threads = threads;
  context.processors = static_cast<int>(std::thread::hardware_concurrency());
  context.affinity = affinity_cpus();
  context.quota = quota_cpus();
  context.load = load_average();
  return context;
}

}  // namespace relayout

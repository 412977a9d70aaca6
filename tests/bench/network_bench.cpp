// Whole networks of RELAYOUT_MODELS, in turns in one run: processor time at one thread of each layout choice, and time on the clock of two
// threads against one. Ratios are medians over rounds, each within its round, so that what else the machine does falls on both sides.
//   cmake/dev bench network [REGEX [ROUNDS [BUSY]]]        BUSY: processes that compete for the processors
//   ONEDNN_MAX_CPU_ISA=AVX2 cmake/dev bench network        the same as on an older processor
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "support/paths.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;

constexpr double kRoundSeconds = 0.05;

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// One way to run a model, with its times round by round.
struct Runner {
  const char* name;
  int threads;
  LayoutChoice layout;
  std::unique_ptr<Executor> executor = nullptr;
  std::vector<double> wall = {}, processor = {};
};

/// Processes that compute while they live.
class Competitors {
 public:
  explicit Competitors(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        volatile bool computes = true;
        while (computes) {
        }
      }
      if (child > 0) children_.push_back(child);
    }
  }
  ~Competitors() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  Competitors(const Competitors&) = delete;
  Competitors& operator=(const Competitors&) = delete;

 private:
  std::vector<pid_t> children_;
};

/// Numbers between −0.5 and 0.5 in every input; free dims are 1.
Inputs inputs_of(const Graph& graph) {
  Inputs out;
  for (const Value* const input : graph.inputs()) {
    if (input->initializer() != nullptr) continue;
    const auto declared = input->declared();
    Dims dims = declared->dims;
    for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
    Tensor tensor(DataType::float32, dims);
    for (int64_t i = 0; i < tensor.element_count(); ++i) tensor.data<float>()[i] = static_cast<float>(i * 2654435761 % 1000) / 1000 - 0.5F;
    out.emplace(input->name(), Datum(std::move(tensor)));
  }
  return out;
}

void measure(Runner& runner, const Inputs& inputs, int runs) {
  const double wall = seconds_of(CLOCK_MONOTONIC), processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < runs; ++i) (void)runner.executor->run(inputs);
  runner.wall.push_back((seconds_of(CLOCK_MONOTONIC) - wall) / runs);
  runner.processor.push_back((seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor) / runs);
}

double ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i] / b[i]);
  return median(std::move(out));
}

void bench(const fs::path& file, int rounds, int busy) {
  const auto model = Model::load(file);
  const Inputs inputs = inputs_of(model->graph());
  std::array<Runner, 4> runners{{{"automatic", 1, LayoutChoice::automatic},
                                 {"always", 1, LayoutChoice::always},
                                 {"never", 1, LayoutChoice::never},
                                 {"two", 2, LayoutChoice::automatic}}};
  for (Runner& runner : runners) {
    ExecuteOptions options;
    options.threads = runner.threads;
    options.layout = runner.layout;
    runner.executor = std::make_unique<Executor>(model->graph(), options);
    measure(runner, inputs, 2);
    measure(runner, inputs, 1);
  }
  const int runs = static_cast<int>(std::clamp(kRoundSeconds / runners[0].wall.back(), 1.0, 1000.0));
  for (Runner& runner : runners) runner.wall.clear(), runner.processor.clear();
  const Competitors competitors(busy);
  for (int round = 0; round < rounds; ++round) {
    for (Runner& runner : runners) measure(runner, inputs, runs);
  }
  auto& [automatic, always, never, two] = runners;
  const double best = std::max(ratio(automatic.processor, always.processor), ratio(automatic.processor, never.processor));
  std::printf("%-22s %9.2f %9.2f %9.2f %7.2f %9.2f %9.2f %7.2f %7.2f\n", file.parent_path().filename().c_str(),
              median(automatic.processor) * 1e3, median(always.processor) * 1e3, median(never.processor) * 1e3, best,
              median(automatic.wall) * 1e3, median(two.wall) * 1e3, ratio(two.wall, automatic.wall),
              ratio(two.processor, automatic.processor));
  std::fflush(stdout);
}

int bench_all(const std::regex& pattern, int rounds, int busy) {
  const char* const given = std::getenv("RELAYOUT_MODELS");
  const char* const home = std::getenv("HOME");
  const fs::path folder = given != nullptr ? fs::path(given) : fs::path(home == nullptr ? "" : home) / ".cache/relayout/models";
  const auto info = onednn_info();
  std::printf("oneDNN %s, %s; medians of %d rounds, %d busy processes beside\n", info.version.c_str(), info.isa.c_str(), rounds, busy);
  std::printf("%-22s %29s %7s %19s %7s %7s\n", "", "processor ms at one thread", "", "wall ms", "", "");
  std::printf("%-22s %9s %9s %9s %7s %9s %9s %7s %7s\n", "", "automatic", "always", "never", "ratio", "1 thread", "2 threads", "ratio",
              "cpu");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path file = entry.path() / "model.onnx";
    if (fs::exists(file) && std::regex_search(entry.path().filename().string(), pattern)) files.push_back(file);
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) bench(file, rounds, busy);
  return 0;
}

}  // namespace
}  // namespace relayout::test

int main(int argc, char** argv) {
  try {
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
    return relayout::test::bench_all(std::regex(argc > 1 ? argv[1] : ""), std::max(rounds, 1), argc > 3 ? std::atoi(argv[3]) : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}

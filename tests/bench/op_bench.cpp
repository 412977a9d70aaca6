// Measures operators at the shapes of well-known networks (tests/support/network_cases.cpp): processor time of one run at one thread, in
// turns with ONNX Runtime if RELAYOUT_PYTHON names a Python that has it.
//   RELAYOUT_PYTHON=PYTHON cmake/dev bench op [REGEX]

#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <regex>

#include "bench/peer.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "support/op_cases.h"
#include "support/paths.h"
#include "support/temporary_folder.h"
#include "verify/inputs/data_file.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 7;
constexpr double kRoundSeconds = 0.01;

double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Row {
  std::string name, op, implementation;
  double ours = 0;
  std::optional<double> theirs;
  std::string refusal;  ///< of the peer
};

/// The number of runs that take about a round.
int runs_of(double seconds) {
  return static_cast<int>(std::clamp(kRoundSeconds / std::max(seconds, 1e-9), 1.0, 1000.0));
}

double time_of(Executor& executor, const Inputs& inputs, int runs) {
  const double start = processor_time();
  for (int i = 0; i < runs; ++i) (void)executor.run(inputs);
  return (processor_time() - start) / runs;
}

/// Writes a model in the form of ONNX's backend test. Types of outputs are left to inference.
void save(const OpCase& one, const std::vector<Tensor>& data, const fs::path& folder) {
  fs::create_directories(folder);
  onnx::ModelProto message = message_of(one);
  for (onnx::ValueInfoProto& output : *message.mutable_graph()->mutable_output()) output.clear_type();
  std::ofstream(folder / "model.onnx", std::ios::binary) << message.SerializeAsString();
  std::vector<Datum> inputs;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!data[i] || one.inputs[i].constant) continue;
    inputs.emplace_back(data[i]);
    names.push_back("x" + std::to_string(i));
  }
  save_data_set(folder, 0, inputs, {}, names, {});
}

Row measure(const OpCase& one, Peer* peer, const fs::path& folder) {
  const auto model = model_of(one);
  const std::vector<Tensor> data = data_of(one);
  const Inputs inputs = inputs_of(one, data);
  ExecuteOptions options;
  options.threads = 1;
  Executor executor(model->graph(), options);
  (void)executor.run(inputs);
  Row row{one.name, one.op, {}, 0, std::nullopt, {}};
  for (const auto& step : executor.plan_info().steps) row.implementation += (row.implementation.empty() ? "" : " ") + step.implementation;
  const int runs = runs_of(time_of(executor, inputs, 2));
  int their_runs = 0;
  if (peer != nullptr) {
    save(one, data, folder);
    row.refusal = peer->ask("load " + (folder / "model.onnx").string());
    if (row.refusal == "ok") {
      row.refusal.clear();
      their_runs = runs_of(std::strtod(peer->ask("run 2").c_str(), nullptr));
    }
  }
  row.ours = time_of(executor, inputs, runs);
  for (int round = 0; round < kRounds; ++round) {
    row.ours = std::min(row.ours, time_of(executor, inputs, runs));
    if (their_runs == 0) continue;
    const double theirs = std::strtod(peer->ask("run " + std::to_string(their_runs)).c_str(), nullptr);
    row.theirs = std::min(row.theirs.value_or(theirs), theirs);
  }
  return row;
}

void print(const Row& row) {
  std::printf("%-28s %-22s %10.1f", row.name.c_str(), row.op.c_str(), row.ours * 1e6);
  if (row.theirs) {
    std::printf(" %12.1f %6.2f", *row.theirs * 1e6, row.ours / *row.theirs);
  } else {
    std::printf(" %12s %6s", "-", "-");
  }
  std::printf("  %s\n", row.refusal.empty() ? row.implementation.c_str() : row.refusal.c_str());
  std::fflush(stdout);
}

int bench(const std::regex& pattern) {
  const TemporaryFolder folder;
  const char* const python = std::getenv("RELAYOUT_PYTHON");
  std::optional<Peer> peer;
  if (python != nullptr) peer.emplace(std::vector<std::string>{python, source_folder() + "/tests/bench/peer_time.py", "onnxruntime"});
  const std::string version = peer ? peer->answer() : "";
  if (peer && version.empty()) peer.reset();
  std::printf(peer ? "ONNX Runtime %s, one thread, minima of %d rounds in turns\n"
                   : "no ONNX Runtime%s (RELAYOUT_PYTHON names a Python that has it), one thread, minima of %d rounds\n",
              version.c_str(), kRounds);
  std::printf("%-28s %-22s %10s %12s %6s  %s\n", "", "", "us", "theirs us", "ratio", "implementation");
  std::vector<Row> rows;
  int number = 0;
  for (const OpCase& one : network_cases()) {
    if (!std::regex_search(one.name + " " + one.op, pattern)) continue;
    rows.push_back(measure(one, peer ? &*peer : nullptr, folder.path() / std::to_string(number++)));
    print(rows.back());
  }
  std::erase_if(rows, [](const Row& row) { return !row.theirs; });
  if (rows.empty()) return 0;
  const auto slowest = std::ranges::max_element(rows, {}, [](const Row& row) { return row.ours / *row.theirs; });
  std::printf("%zu compared, the slowest is %s: %.2f x\n", rows.size(), slowest->name.c_str(), slowest->ours / *slowest->theirs);
  return 0;
}

}  // namespace
}  // namespace relayout::test

int main(int argc, char** argv) {
  try {
    return relayout::test::bench(std::regex(argc > 1 ? argv[1] : ""));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}

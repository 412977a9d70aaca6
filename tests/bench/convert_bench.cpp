// Measures relayout convert against cp of the same file, in rotating rounds of one run: the ratio of times, and peak memory.
//   cmake/dev bench convert [--rounds N] [MODEL…]     default: 15 rounds, resnet50 of the model set when it is there, else the demo model
// Each child is a process of its own, as a user starts it; cp is the system's. "cold" drops the source from the page cache first.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Run {
  double seconds = 0;
  double peak_mib = 0;
};

/// Starts a program, waits for it, and returns its time and peak memory.
Run run(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  if (posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error("cannot start " + command[0]);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) throw std::runtime_error(command[0] + " " + command[1] + " failed");
  return {elapsed.count(), static_cast<double>(usage.ru_maxrss) / 1024};
}

void drop_from_cache(const fs::path& file) {
  const int handle = open(file.c_str(), O_RDONLY);
  if (handle < 0) return;
  fdatasync(handle);
  posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED);
  close(handle);
}

/// An operation to time, and its untimed preparation.
struct Contestant {
  std::string name;
  std::function<void()> prepare;
  std::vector<std::string> command;
  std::vector<Run> runs;

  [[nodiscard]] double median() const {
    std::vector<double> times;
    for (const Run& one : runs) times.push_back(one.seconds);
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
  [[nodiscard]] double minimum() const {
    return std::min_element(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.seconds < b.seconds; })->seconds;
  }
  [[nodiscard]] double peak() const {
    return std::max_element(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.peak_mib < b.peak_mib; })->peak_mib;
  }
};

const Contestant& named(const std::vector<Contestant>& contestants, const std::string& name) {
  return *std::find_if(contestants.begin(), contestants.end(), [&](const Contestant& one) { return one.name == name; });
}

/// Times all operations in rotating order and prints each next to cp.
void compare(const std::string& title, std::vector<Contestant> contestants, int rounds) {
  std::vector<std::string> names;
  for (const Contestant& one : contestants) names.push_back(one.name);
  for (int round = 0; round < rounds; ++round) {
    std::rotate(contestants.begin(), contestants.begin() + 1, contestants.end());
    for (Contestant& one : contestants) {
      one.prepare();
      one.runs.push_back(run(one.command));
    }
  }
  const double base = named(contestants, "cp").median();
  std::printf("%s, %d rounds\n", title.c_str(), rounds);
  for (const std::string& name : names) {
    const Contestant& one = named(contestants, name);
    std::printf("  %-22s minimum %8.1f ms   median %8.1f ms   %5.2f x cp   peak %6.1f MiB\n", name.c_str(), one.minimum() * 1e3,
                one.median() * 1e3, one.median() / base, one.peak());
  }
}

/// New target, replaced target and cold source, for one model.
void bench(const fs::path& model, int rounds) {
  const fs::path folder = fs::temp_directory_path() / ("relayout-bench-" + std::to_string(getpid()));
  const fs::path target = folder / "converted.onnx", copy = folder / "copy.onnx";
  fs::create_directories(folder);
  const auto fresh = [&] {
    fs::remove_all(folder);
    fs::create_directories(folder);
  };
  const auto cold = [&] {
    fresh();
    drop_from_cache(model);
  };
  const auto convert = [&](const char* threads) {
    return std::vector<std::string>{RELAYOUT_PROGRAM, "convert", model, "-o", target, "--threads", threads, "--quiet"};
  };
  const std::vector<std::string> cp = {"cp", model, copy};
  const std::string name = model.parent_path().filename().string() + " (" + std::to_string(fs::file_size(model) / 1000) + " kB)";
  for (const auto& [title, prepare] : {std::pair<std::string, std::function<void()>>{"new target", fresh}, {"cold source", cold}}) {
    compare(name + ", " + title,
            {{"cp", prepare, cp, {}}, {"convert, 2 threads", prepare, convert("2"), {}}, {"convert, 1 thread", prepare, convert("1"), {}}},
            rounds);
  }
  fresh();
  run(cp);
  run(convert("2"));
  compare(name + ", replaced target", {{"cp", [] {}, cp, {}}, {"convert, 2 threads", [] {}, convert("2"), {}}}, rounds);
  fs::remove_all(folder);
}

fs::path default_model() {
  const char* models = std::getenv("RELAYOUT_MODELS");
  const char* home = std::getenv("HOME");
  const fs::path cache = models != nullptr ? fs::path(models) : fs::path(home != nullptr ? home : "") / ".cache/relayout/models";
  const fs::path large = cache / "resnet50/model.onnx";
  return fs::exists(large) ? large : fs::path(RELAYOUT_SOURCE_DIR "/testdata/resnet18_eighth/model.onnx");
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 15;
  std::vector<fs::path> models;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else {
      models.emplace_back(argv[i]);
    }
  }
  if (models.empty()) models.push_back(default_model());
  try {
    for (const fs::path& model : models) bench(fs::absolute(model), rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
  return 0;
}

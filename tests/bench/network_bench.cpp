// Measures whole networks of RELAYOUT_MODELS, in turns in one run: processor time at one thread of each layout choice and of other
// runtimes, and wall-clock time at two threads. Ratios are taken within a round and are medians over rounds, so that other load on the
// machine affects all of them. A round in which the host of a virtual machine took processors away is measured again, after a pause. Where
// rounds scatter, more are added. Folders within RELAYOUT_MODELS are kinds (real; those of tests/peers/kinds.py), each with means.
//   cmake/dev bench network [--as-avx2] [--one] [--json FILE] [REGEX [ROUNDS [BUSY]]]
//   ROUNDS                   at least; up to four times as many until the 95 % intervals against other runtimes are narrower than 0.1
//   BUSY                     processes that compete for the processors
//   --one                    one thread and the automatic layout alone
//   --as-avx2                all runtimes see a processor without AVX-512, where this one can hide it
//   RELAYOUT_PYTHON=PYTHON   a Python that has onnxruntime, openvino or both, to compare with; f32, threads as they wait
// "ratio" after auto, always and never: automatic over the faster of the other two; 1 where their steps are the same.

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "base/times.h"
#include "bench/peer.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/estimate.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "support/paths.h"
#include "verify/inputs/data_file.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;

constexpr double kRoundSeconds = 0.05;
/// The largest part of a round for which the host may take one processor away: one to two ticks of the clock that counts it.
constexpr double kMostStolen = 0.03;
/// Rounds measured again, and rounds added where they scatter, per requested round.
constexpr int kMostRepeats = 3, kMostAdded = 3;
/// The widest 95 % interval of a ratio against another runtime that needs no more rounds.
constexpr double kWidestInterval = 0.1;

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Seconds since its start, summed over processors, for which the host of this virtual machine ran something else: column "steal" of
/// /proc/stat. Zero where the system does not count them.
double stolen_seconds() {
  std::ifstream file("/proc/stat");
  std::string word;
  double ticks = 0;
  file >> word;
  for (int column = 0; column < 8; ++column) file >> ticks;
  return file ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : 0;
}

/// Seconds of one run.
struct Time {
  double processor = 0, clock = 0;
};

/// One way to run a model, with its times round by round.
struct Runner {
  std::string name;
  int threads;
  std::function<Time(int runs)> measure;
  std::string plan = {};  ///< of relayout's runners: the steps
  std::vector<Time> times = {};

  [[nodiscard]] double of(const Time& time) const { return threads == 1 ? time.processor : time.clock; }
  [[nodiscard]] double median() const {
    std::vector<double> values;
    for (const Time& time : times) values.push_back(of(time));
    return median_of(values);
  }
};

/// Processes that keep processors busy while they exist.
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

/// Another runtime in a process of its own, for each number of threads.
struct OtherRuntime {
  std::string name;
  int threads;
  std::string version = {};
  std::unique_ptr<Peer> process = nullptr;

  /// If it does not start, the version is empty.
  void start() {
    const std::string script = source_folder() + "/tests/bench/peer_time.py";
    process = std::make_unique<Peer>(std::vector<std::string>{std::getenv("RELAYOUT_PYTHON"), script, name, std::to_string(threads)});
    version = process->answer();
  }
  /// A model that crashes the runtime gets no time; the process is started again for the next model.
  bool load(const fs::path& file) {
    const std::string answer = process->ask("load " + file.string());
    if (answer.empty()) start();
    return answer == "ok";
  }
};

std::vector<OtherRuntime> other_runtimes(int most_threads) {
  std::vector<OtherRuntime> out;
  if (std::getenv("RELAYOUT_PYTHON") == nullptr) return out;
  for (const char* const name : {"onnxruntime", "openvino"}) {
    for (const int threads : {1, 2}) {
      if (threads > most_threads) continue;
      OtherRuntime runtime{name, threads};
      runtime.start();
      if (runtime.version.empty()) continue;
      if (threads == 1) std::printf("%s %s\n", name, runtime.version.c_str());
      out.push_back(std::move(runtime));
    }
  }
  return out;
}

/// The stored inputs beside a model. Without them: numbers between −0.5 and 0.5 in every input of floats, zeros in others; free dims are 1.
Inputs inputs_of(const Graph& graph, const fs::path& folder) {
  Inputs out;
  for (const Value* const input : graph.inputs()) {
    if (input->initializer() != nullptr) continue;
    const fs::path stored = folder / "test_data_set_0" / ("input_" + std::to_string(out.size()) + ".pb");
    if (fs::exists(stored)) {
      out.emplace(input->name(), read_data_file(stored));
      continue;
    }
    const auto declared = input->declared();
    Dims dims = declared->dims;
    for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
    Tensor tensor(declared->type, dims);
    if (tensor.type() == DataType::float32) {
      for (int64_t i = 0; i < tensor.element_count(); ++i)
        tensor.data<float>()[i] = static_cast<float>(i * 2654435761 % 1000) / 1000 - 0.5F;
    } else {
      std::fill_n(tensor.bytes(), tensor.element_count() * static_cast<int64_t>(memory_size(tensor.type())), std::byte{0});
    }
    out.emplace(input->name(), Datum(std::move(tensor)));
  }
  return out;
}

std::string words_of(const PlanInfo& plan) {
  std::string out;
  for (const StepInfo& step : plan.steps) out += step.node + " " + step.op_type + " " + step.implementation + " " + step.layout + "\n";
  return out;
}

Runner own_runner(const char* name, int threads, LayoutChoice layout, const Graph& graph, const Inputs& inputs) {
  ExecuteOptions options;
  options.threads = threads;
  options.layout = layout;
  const auto executor = std::make_shared<Executor>(graph, options);
  (void)executor->run(inputs);
  const auto measure = [executor, &inputs](int runs) {
    const double processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID), clock = seconds_of(CLOCK_MONOTONIC);
    for (int i = 0; i < runs; ++i) (void)executor->run(inputs);
    return Time{(seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor) / runs, (seconds_of(CLOCK_MONOTONIC) - clock) / runs};
  };
  return {name, threads, measure, words_of(executor->plan_info())};
}

Runner other_runner(const OtherRuntime& other) {
  return {other.name, other.threads, [process = other.process.get()](int runs) {
            const std::string answer = process->ask("run " + std::to_string(runs));
            char* rest = nullptr;
            const double processor = std::strtod(answer.c_str(), &rest);
            return Time{processor, std::strtod(rest, nullptr)};
          }};
}

/// Median over rounds of the ratio a / b, taken within each round.
Estimate ratio(const Runner& a, const Runner& b) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.times.size(); ++i) out.push_back(a.of(a.times[i]) / b.of(b.times[i]));
  return estimate(std::move(out));
}

/// Whether the rounds agree on each ratio against another runtime.
bool is_settled(const std::vector<Runner>& runners) {
  return std::ranges::all_of(runners, [&](const Runner& other) {
    if (!other.plan.empty()) return true;
    const auto own =
        std::ranges::find_if(runners, [&](const Runner& one) { return one.name == "automatic" && one.threads == other.threads; });
    const Estimate found = ratio(*own, other);
    return found.interval && found.interval->high - found.interval->low <= kWidestInterval;
  });
}

class Bench {
 public:
  Bench(int rounds, int busy, bool one) : rounds_(rounds), busy_(busy), one_(one), others_(other_runtimes(one ? 1 : 2)) {
    std::printf("oneDNN %s, %s; medians of %d rounds or more, %d busy processes beside\n", onednn_info().version.c_str(),
                onednn_info().isa.c_str(), rounds, busy);
    std::printf("%-26s|%-71s|%s\n", "", " processor ms at one thread", " clock ms at two threads");
    std::printf("%-26s|%8s %8s %8s %6s %8s %8s %6s %13s |%8s %6s %8s %8s %6s\n", "", "auto", "always", "never", "ratio", "ORT", "OpenVINO",
                "ratio", "95 %", "two", "2 / 1", "ORT", "OpenVINO", "ratio");
  }

  void add(const fs::path& file, const fs::path& name) {
    kind_ = name.has_parent_path() ? name.parent_path().string() + ": " : "";
    const auto model = Model::load(file);
    const Inputs inputs = inputs_of(model->graph(), file.parent_path());
    std::vector<Runner> runners;
    using enum LayoutChoice;
    runners.push_back(own_runner("automatic", 1, automatic, model->graph(), inputs));
    if (!one_) {
      runners.push_back(own_runner("always", 1, always, model->graph(), inputs));
      runners.push_back(own_runner("never", 1, never, model->graph(), inputs));
      runners.push_back(own_runner("automatic", 2, automatic, model->graph(), inputs));
    }
    for (OtherRuntime& other : others_) {
      if (other.load(file)) runners.push_back(other_runner(other));
    }
    measure(runners);
    print(name.string(), runners);
  }

  void print_means() const {
    if (means_.empty()) return;
    for (const auto& [title, ratios] : means_) {
      double sum = 0;
      for (const double one : ratios) sum += std::log(one);
      std::printf("%s: geometric mean %.3f of %zu, largest %.2f\n", title.c_str(), std::exp(sum / static_cast<double>(ratios.size())),
                  ratios.size(), std::ranges::max(ratios));
    }
    std::printf("%d rounds; %d were measured again because the host took processors away, %d were kept in spite of it\n", measured_,
                repeated_, disturbed_);
  }
  [[nodiscard]] const nlohmann::json& document() const { return document_; }

 private:
  void measure(std::vector<Runner>& runners) {
    for (Runner& runner : runners) (void)runner.measure(2);
    const int runs = static_cast<int>(std::clamp(kRoundSeconds / runners[0].measure(1).clock, 1.0, 1000.0));
    const Competitors competitors(busy_);
    int repeats = kMostRepeats * rounds_;
    const int most_rounds = (1 + kMostAdded) * rounds_;
    for (int round = 0; round < rounds_ || (round < most_rounds && !is_settled(runners));) {
      const double stolen = stolen_seconds(), begin = seconds_of(CLOCK_MONOTONIC);
      for (Runner& runner : runners) runner.times.push_back(runner.measure(runs));
      const bool was_disturbed = stolen_seconds() - stolen > kMostStolen * (seconds_of(CLOCK_MONOTONIC) - begin);
      if (!was_disturbed || repeats == 0) {
        disturbed_ += was_disturbed ? 1 : 0;
        ++round, ++measured_;
        continue;
      }
      for (Runner& runner : runners) runner.times.pop_back();
      --repeats, ++repeated_;
      sleep(1);
    }
  }

  /// The largest ratio over several runners, which is that to the fastest.
  static std::optional<Estimate> largest(const Runner& a, const std::vector<const Runner*>& rest) {
    std::optional<Estimate> out;
    for (const Runner* const one : rest) {
      const Estimate found = ratio(a, *one);
      if (!out || found.median > out->median) out = found;
    }
    return out;
  }

  /// At least 1 where one of the others runs the same steps.
  static std::optional<Estimate> over_other_plans(const Runner& automatic, const std::vector<const Runner*>& others) {
    std::vector<const Runner*> different;
    for (const Runner* const one : others) {
      if (one->plan != automatic.plan) different.push_back(one);
    }
    const auto out = largest(automatic, different);
    const bool is_among_them = different.size() < others.size();
    return is_among_them && (!out || out->median < 1) ? estimate(std::vector<double>(automatic.times.size(), 1.0)) : out;
  }

  void print(const std::string& name, const std::vector<Runner>& runners) {
    const auto find = [&](const char* wanted, int threads) -> const Runner* {
      const auto found = std::ranges::find_if(runners, [&](const Runner& one) { return one.name == wanted && one.threads == threads; });
      return found == runners.end() ? nullptr : &*found;
    };
    const auto peers = [&](int threads) {
      std::vector<const Runner*> out;
      for (const char* const peer : {"onnxruntime", "openvino"}) {
        if (const Runner* const one = find(peer, threads)) out.push_back(one);
      }
      return out;
    };
    const auto cell = [](const Runner* runner) { return runner == nullptr ? std::nan("") : runner->median() * 1e3; };
    const Runner& one = runners[0];
    const Runner *const two = find("automatic", 2), *const always = find("always", 1), *const never = find("never", 1);
    const auto layout = one_ ? std::nullopt : over_other_plans(one, {always, never}), peer_one = largest(one, peers(1)),
               peer_two = one_ ? std::nullopt : largest(*two, peers(2));
    std::vector<double> clocks;
    for (std::size_t i = 0; !one_ && i < one.times.size(); ++i) clocks.push_back(two->times[i].clock / one.times[i].clock);
    const double both = one_ ? std::nan("") : median_of(clocks);
    const auto value = [](const std::optional<Estimate>& estimate) { return estimate ? estimate->median : std::nan(""); };
    const auto bound = [](const std::optional<Estimate>& estimate, bool low) {
      return !estimate || !estimate->interval ? std::nan("") : low ? estimate->interval->low : estimate->interval->high;
    };
    std::printf("%-26s|%8.2f %8.2f %8.2f %6.2f %8.2f %8.2f %6.2f %6.2f-%6.2f |%8.2f %6.2f %8.2f %8.2f %6.2f\n", name.c_str(), cell(&one),
                cell(always), cell(never), value(layout), cell(find("onnxruntime", 1)), cell(find("openvino", 1)), value(peer_one),
                bound(peer_one, true), bound(peer_one, false), cell(two), both, cell(find("onnxruntime", 2)), cell(find("openvino", 2)),
                value(peer_two));
    std::fflush(stdout);
    note("automatic against the better of always and never", value(layout));
    note("one thread against the better runtime", value(peer_one));
    note("two threads against one", both);
    note("two threads against the better runtime", value(peer_two));
    nlohmann::json row{{"model", name}, {"rounds", one.times.size()}};
    if (!one_) row["two_over_one"] = both;
    for (const Runner& runner : runners) row["seconds"][runner.name + "_" + std::to_string(runner.threads)] = runner.median();
    const auto add = [&](const char* key, const std::optional<Estimate>& estimate) {
      if (estimate) row[key] = {{"median", estimate->median}, {"low", bound(estimate, true)}, {"high", bound(estimate, false)}};
    };
    add("automatic_over_best_layout", layout);
    add("one_over_best_runtime", peer_one);
    add("two_over_best_runtime", peer_two);
    document_.push_back(std::move(row));
  }

  void note(const std::string& of_all, double value) {
    if (std::isnan(value)) return;
    const std::string title = kind_ + of_all;
    const auto found = std::ranges::find(means_, title, &std::pair<std::string, std::vector<double>>::first);
    if (found == means_.end()) {
      means_.push_back({title, {value}});
    } else {
      found->second.push_back(value);
    }
  }

  int rounds_, busy_;
  bool one_;                          ///< one thread and the automatic layout alone
  int measured_ = 0;                  ///< rounds of all networks
  int repeated_ = 0, disturbed_ = 0;  ///< rounds that the host disturbed: measured again, and kept
  std::vector<OtherRuntime> others_;
  std::string kind_;  ///< of the network, for the means
  std::vector<std::pair<std::string, std::vector<double>>> means_;
  nlohmann::json document_ = nlohmann::json::array();
};

int bench_all(const std::regex& pattern, int rounds, int busy, bool one, const fs::path& json) {
  const char* const given = std::getenv("RELAYOUT_MODELS");
  const char* const home = std::getenv("HOME");
  const fs::path folder = given != nullptr ? fs::path(given) : fs::path(home == nullptr ? "" : home) / ".cache/relayout/models";
  std::vector<fs::path> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink)) {
    const fs::path name = entry.path().parent_path().lexically_relative(folder);
    if (entry.path().filename() == "model.onnx" && std::regex_search(name.string(), pattern)) names.push_back(name);
  }
  std::ranges::sort(names);
  Bench bench(rounds, busy, one);
  for (const fs::path& name : names) {
    try {
      bench.add(folder / name / "model.onnx", name);
    } catch (const Error& error) {
      std::printf("%-26s| %s\n", name.c_str(), error.what());
    }
  }
  bench.print_means();
  if (!json.empty()) std::ofstream(json) << bench.document().dump(1) << '\n';
  return 0;
}

/// Starts the program again with a preloaded library that hides AVX-512 from it and its children; returns if the library is loaded already.
void start_again_as_avx2(char** argv) {
#ifdef RELAYOUT_AS_AVX2
  constexpr const char* kVariable = "LD_PRELOAD";
  const char* const loaded = std::getenv(kVariable);
  if (loaded != nullptr && std::string_view(loaded) == RELAYOUT_AS_AVX2) return;
  setenv(kVariable, RELAYOUT_AS_AVX2, 1);
  execv("/proc/self/exe", argv);
#else
  (void)argv;
#endif
  throw std::runtime_error("cannot hide AVX-512 here");
}

}  // namespace
}  // namespace relayout::test

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a runtime that ended has no answer
  try {
    std::vector<std::string> words(argv + 1, argv + argc);
    const auto take_flag = [&](const char* name) { return std::erase(words, name) > 0; };
    if (take_flag("--as-avx2")) relayout::test::start_again_as_avx2(argv);
    const bool one = take_flag("--one");
    std::string json;
    if (words.size() > 1 && words[0] == "--json") {
      json = words[1];
      words.erase(words.begin(), words.begin() + 2);
    }
    const auto number = [&](std::size_t index, int otherwise) { return words.size() > index ? std::stoi(words[index]) : otherwise; };
    return relayout::test::bench_all(std::regex(words.empty() ? "" : words[0]), std::max(number(1, 11), 1), number(2, 0), one, json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}

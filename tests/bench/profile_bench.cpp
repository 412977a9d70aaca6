// Measures the cost of noting the steps of a run: profiled over plain runs of the same executor, in turn, by processor and wall-clock time.
//   cmake/dev bench profile [PAIRS [MODEL.onnx…]]
// Without models: mobilenet_v2 and squeezenet1_1 of the model cache. One thread.
#include <cstdio>
#include <cstdlib>

#include "base/times.h"
#include "profile/subject.h"
#include "relayout/error.h"
#include "relayout/estimate.h"
#include "relayout/profile.h"
#include "support/model_cache.h"

namespace relayout {
namespace {

constexpr int kRounds = 10;

/// Each round renews the executor; the order within pairs alternates.
std::vector<std::vector<double>> measure(Subject& subject, int pairs, TimeKind clock) {
  std::vector<std::vector<double>> rounds(kRounds);
  for (std::vector<double>& ratios : rounds) {
    subject.renew();
    for (int i = 0; i < 3; ++i) (void)subject.warm_up();
    for (int i = 0; i < pairs / kRounds; ++i) {
      const bool plain_first = i % 2 == 0;
      Subject::Time plain, profiled;
      if (plain_first) plain = subject.measure(Subject::Noting::nothing);
      profiled = subject.measure(Subject::Noting::steps);
      if (!plain_first) plain = subject.measure(Subject::Noting::nothing);
      ratios.push_back(profiled.of(clock) / plain.of(clock));
    }
  }
  return rounds;
}

void print(const std::filesystem::path& model, int pairs) {
  ProfileOptions options;
  options.threads = 1;
  Subject subject(model, options);
  for (const TimeKind clock : {TimeKind::processor, TimeKind::wall}) {
    const Estimate ratio = estimate_ratio(measure(subject, pairs, clock));
    std::printf("%-40s %-5s %.4f (%.4f … %.4f at 95 %%), %d pairs\n", model.parent_path().filename().c_str(),
                std::string(to_string(clock)).c_str(), ratio.median, ratio.interval->low, ratio.interval->high, pairs);
  }
}

int run(int count, char** words) {
  const int pairs = count > 1 ? std::max(kRounds, std::atoi(words[1])) : 200;
  std::vector<std::filesystem::path> models(words + std::min(count, 2), words + count);
  if (models.empty()) models = {test::cached_model("mobilenet_v2"), test::cached_model("squeezenet1_1")};
  for (const std::filesystem::path& model : models) {
    if (!model.empty()) print(model, pairs);
  }
  return 0;
}

}  // namespace
}  // namespace relayout

int main(int count, char** words) {
  try {
    return relayout::run(count, words);
  } catch (const relayout::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return relayout::exit_code(error.kind());
  }
}

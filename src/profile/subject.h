#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profile/trace.h"
#include "relayout/execute.h"
#include "relayout/model.h"
#include "relayout/profile.h"

namespace relayout {

/// This process on this machine, now. `threads`: the threads of the executor.
[[nodiscard]] ProfileContext current_context(int threads);

/// One model ready to be timed: its inputs, and an executor with a plan for them.
class Subject {
 public:
  /// Loads the model, finds inputs that it accepts, and runs it once. Errors name the file.
  Subject(const std::filesystem::path& path, const ProfileOptions& options);

  /// Runs once without recording; returns the nanoseconds.
  int64_t warm_up();
  struct Time {
    int64_t wall = 0, processor = 0;  ///< nanoseconds
    [[nodiscard]] double of(TimeKind kind) const { return static_cast<double>(kind == TimeKind::wall ? wall : processor); }
  };
  enum class Noting : uint8_t { steps, nothing };
  /// One measured run. `nothing`: runs as for a caller of the library and records nothing.
  Time measure(Noting noting = Noting::steps);
  /// Replaces the executor by a new one in other memory.
  void renew();
  /// All measurements, with rows by this clock.
  [[nodiscard]] Profile result(TimeKind clock = TimeKind::wall);
  [[nodiscard]] const Recorder& recorder() const noexcept { return *recorder_; }
  [[nodiscard]] const Model& model() const noexcept { return *model_; }

 private:
  void find_inputs();
  void open();
  void note_inner();

  std::string name_;
  const ProfileOptions* options_;
  std::unique_ptr<Model> model_;
  Inputs inputs_;
  std::map<std::string, int64_t> assumed_;  ///< sizes of free dims
  ProfileContext context_;
  std::unique_ptr<Executor> executor_;
  PlanInfo plan_;
  std::unique_ptr<Recorder> recorder_;
  StepTimes times_;
  double load_us_ = 0, plan_us_ = 0, first_us_ = 0;
};

}  // namespace relayout

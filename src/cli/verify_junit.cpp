// `verify --junit`: test cases for the interface, each output and sample, and the verdict; when each fails, is skipped or is an error; the
// judged model as the file of all annotations (`--github`).
#include "cli/verify_junit.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "cli/verification_failure.h"
#include "cli/verify_losses.h"
#include "cli/verify_words.h"
#include "relayout/proof.h"
#include "relayout/verify.h"
#include "relayout/version.h"
#include "report/junit.h"

namespace relayout::cli {
namespace {

/// A case of a model that is judged on its own.
JunitCase verify_case(const std::string& name, const std::string& judged) {
  return judged_case("relayout.verify." + std::filesystem::path(judged).stem().string(), name, judged);
}

/// Builds the cases of one pair of models.
class PairSuite {
 public:
  PairSuite(const VerifyResult& result, bool allow_inconclusive) : result_(result), allow_inconclusive_(allow_inconclusive) {
    suite_.name = "relayout verify " + result.a + " " + result.b;
    suite_.timestamp = junit_now();
  }

  JunitSuite make() {
    add_properties();
    add_interface();
    for (const OutputComparison& output : result_.outputs) add_output(output);
    add_whole();
    // The time is that of all outputs together.
    if (!suite_.cases.empty()) suite_.cases.back().seconds = result_.seconds;
    return std::move(suite_);
  }

 private:
  JunitCase& add(const std::string& name) { return suite_.cases.emplace_back(verify_case(name, result_.b)); }

  void add_properties() {
    suite_.properties = {{"relayout", std::string(kVersion)},
                         {"oneDNN", result_.onednn + (result_.isa.empty() ? "" : ", " + result_.isa)},
                         {"seed", std::to_string(result_.seed)},
                         {"samples", std::to_string(result_.samples)},
                         {"bound", std::to_string(kFloorFactor) + " × floor, at least the least bound of the type"}};
    if (result_.proof) suite_.properties.emplace_back("proved", result_.proof->proved ? "yes" : "no");
    if (!result_.lossy.empty()) suite_.properties.emplace_back("loss", result_.lossy);
    for (const std::string& sentence : loss_sentences(result_)) suite_.properties.emplace_back("loss by node", sentence);
  }

  void add_interface() {
    JunitCase& one = add("interface");
    for (const InterfaceDifference& difference : result_.interface) {
      if (difference.remark) continue;
      one.status = JunitCase::Status::failed;
      (one.message.empty() ? one.message : one.details) += (one.details.empty() ? "" : "\n") + sentence(difference, result_);
    }
  }

  void add_output(const OutputComparison& output) {
    for (const SampleMetrics& metrics : output.samples) {
      JunitCase& one = add(output.name + " sample " + std::to_string(metrics.sample));
      if (metrics.outcome == Outcome::different) {
        one.status = JunitCase::Status::failed;
        one.message = metrics.reason;
        one.details = output.hint;
      } else if (output.outcome == Outcome::inconclusive) {
        set_inconclusive(one, output.reason);
      }
    }
    // The outputs differ for a reason outside the samples: missing, or declared differently.
    const auto is_different = [](const SampleMetrics& metrics) { return metrics.outcome == Outcome::different; };
    if (!output.samples.empty() && (output.outcome != Outcome::different || std::ranges::any_of(output.samples, is_different))) return;
    if (output.samples.empty() && output.outcome == Outcome::same) return;
    JunitCase& one = add(output.name);
    if (output.outcome == Outcome::different) {
      one.status = JunitCase::Status::failed;
      one.message = output.reason;
      one.details = output.hint;
    } else {
      set_inconclusive(one, output.reason);
    }
  }

  void set_inconclusive(JunitCase& one, const std::string& reason) const {
    one.status = allow_inconclusive_ ? JunitCase::Status::skipped : JunitCase::Status::failed;
    one.message = "inconclusive: " + reason;
  }

  /// Adds the overall verdict, with the details that belong to no output.
  void add_whole() {
    JunitCase& one = add("verdict");
    if (const auto failure = failure_of(result_)) {
      one.status = JunitCase::Status::error;
      one.message = failure->line();
    } else if (result_.outcome == Outcome::different) {
      one.status = JunitCase::Status::failed;
      one.message = verdict_reason(result_);
    } else if (result_.outcome == Outcome::inconclusive) {
      set_inconclusive(one, verdict_reason(result_));
    }
    for (const std::string& sentence : loss_sentences(result_)) one.details += (one.details.empty() ? "" : "\n") + sentence;
    if (const LayerResult* const wrong = first_wrong(result_)) {
      one.details = std::string(divergence_title(result_)) + ": " + layer_label(*wrong) + ": " + wrong->reason;
    }
    if (!result_.proof) return;
    for (const Unexplained& entry : result_.proof->unexplained) one.details += (one.details.empty() ? "" : "\n") + entry.text;
  }

  const VerifyResult& result_;
  bool allow_inconclusive_;
  JunitSuite suite_;
};

}  // namespace

JunitCase judged_case(std::string class_name, std::string name, const std::string& judged) {
  JunitCase out;
  out.class_name = std::move(class_name);
  out.name = std::move(name);
  out.file = judged;
  return out;
}

JunitSuite junit_suite(const VerifyResult& result, bool allow_inconclusive) {
  return PairSuite(result, allow_inconclusive).make();
}

JunitSuite junit_suite(const DataResult& result) {
  JunitSuite suite{"relayout verify " + result.model, junit_now(), {{"relayout", std::string(kVersion)}}, {}};
  for (const DataCase& stored : result.cases) {
    JunitCase& one = suite.cases.emplace_back(verify_case(stored.name, result.model));
    one.seconds = stored.seconds;
    one.message = stored.message.empty() ? stored.status : stored.message;
    if (stored.status == "unsupported") {
      one.status = JunitCase::Status::error;
    } else if (stored.status != "passed") {
      one.status = JunitCase::Status::failed;
    }
  }
  return suite;
}

JunitSuite junit_suite(const std::string& model, const Failure& failure) {
  JunitSuite suite{"relayout verify " + model, junit_now(), {{"relayout", std::string(kVersion)}}, {}};
  JunitCase& one = suite.cases.emplace_back(verify_case("verdict", model));
  one.status = JunitCase::Status::error;
  one.message = failure.line();
  one.details = "exit " + std::to_string(failure.code);
  return suite;
}

}  // namespace relayout::cli

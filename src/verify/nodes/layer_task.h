#pragma once

#include <functional>
#include <set>
#include <string>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/feeding.h"
#include "verify/measured_types.h"
#include "verify/session.h"

namespace relayout {

/// What a comparison node by node gets: both models, options, the sample's inputs and masks, the kind of feeding, B's 16-bit type, progress
/// and observers.
struct LayerTask {
  const Side* a = nullptr;
  const Side* b = nullptr;
  const VerifyOptions* options = nullptr;
  DataType grain = DataType::undefined;  ///< the 16-bit type in which b computes but a does not
  OpenSession open = open_session;
  std::function<void()> progress;  ///< called before each run, if set
  std::function<Inputs()> inputs;
  std::set<std::string> plain_integers;  ///< inputs that may hold any integer
  std::set<std::string> masks;           ///< inputs of zeros and ones that select the elements that count
  /// Called with each value of either model as its readers get it, including inputs, if set.
  std::function<void(const Value& value, const Datum& datum)> watch;
  int sample = 0;
  Feeding feeding = Feeding::exact;

  /// The coarser of a value's own type and the type in which b computes.
  [[nodiscard]] DataType type_of_floor(DataType type) const { return relayout::type_of_floor(type, grain); }
};

}  // namespace relayout

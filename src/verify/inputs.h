#pragma once

#include <map>
#include <string>
#include <vector>

#include "relayout/execute.h"
#include "relayout/verify.h"
#include "verify/free_dims.h"
#include "verify/port.h"
#include "verify/roles.h"

namespace relayout {

/// Inputs for a graph: seeded, suited to their readers, or from files. Element i of an input depends on seed, input name, sample and i
/// alone, so that nothing else shifts it.
class InputMaker {
 public:
  /// Error{usage} where neither a value nor a size can be guessed, Error{invalid} or Error{io} for files.
  /// Ids choose rows first that differ from those of `other`, where that is given.
  InputMaker(const Graph& graph, const VerifyOptions& options, const Graph* other = nullptr);

  /// How many samples make sense: one when nothing varies.
  [[nodiscard]] int samples() const noexcept { return samples_; }
  [[nodiscard]] bool all_from_files() const noexcept { return !ports_.empty() && files_.size() == ports_.size(); }
  [[nodiscard]] bool any_from_files() const noexcept { return !files_.empty(); }
  [[nodiscard]] const FreeDims& dims() const noexcept { return dims_; }
  [[nodiscard]] Inputs make(const FreeDims::Assignment& assignment, int sample) const;

 private:
  static std::map<std::string, Datum> read_files(const std::vector<Port>& ports, const VerifyOptions& options);
  static std::vector<InputUse> find_uses(const Graph& graph, const std::vector<Port>& ports);
  static std::map<std::string, Dims> shapes_of(const std::map<std::string, Datum>& files);
  void check_guessable() const;
  void prefer_differing_rows(const Graph& other);

  std::vector<Port> ports_;
  std::vector<InputUse> uses_;
  std::map<std::string, Datum> files_;
  FreeDims dims_;
  uint64_t seed_;
  int samples_;
};

/// Values for one input; `limit` is the number of ids or the greatest length.
[[nodiscard]] Tensor make_values(DataType type, const Dims& dims, const InputUse& use, int64_t limit, uint64_t seed,
                                 const std::string& name, int sample);

}  // namespace relayout

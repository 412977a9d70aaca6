#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/inputs.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/given_inputs.h"
#include "verify/inputs/port.h"
#include "verify/inputs/range.h"
#include "verify/inputs/roles.h"

namespace relayout {

/// Limits that the model held against the graph sets to its inputs.
struct InputLimits {
  bool narrow = false;                  ///< see InputUse
  std::map<std::string, Range> ranges;  ///< see InputUse, by name
  bool any_size = false;                ///< dims of which nothing tells more take any sizes that fit the graph
};

/// The inputs that a caller of a graph must give, with the use that the graph makes of each.
class InputPorts {
 public:
  /// Ids choose rows first that differ from those of `other`, where that is given.
  InputPorts(const Graph& graph, const Graph* other, const InputLimits& limits);

  [[nodiscard]] const std::vector<Port>& all() const noexcept { return ports_; }
  [[nodiscard]] const std::vector<InputUse>& uses() const noexcept { return uses_; }  ///< by port

  /// Names of inputs of integers that nothing reads as an index, a size, a length or a mask: any number may come.
  [[nodiscard]] std::set<std::string> plain_integers() const;
  /// Inputs of integers that may not be any number: sizes, axes, counts, positions, ids.
  [[nodiscard]] std::set<std::string> kept_integers() const;
  /// Inputs that are integers or boolean and hold 0 and 1 alone: masks.
  [[nodiscard]] std::set<std::string> masks() const;
  /// "input 'x' is declared f32[0, 3], which has no elements", or empty.
  [[nodiscard]] std::string empty_input() const;

 private:
  /// The names of tensors of these types whose role is wanted.
  template <typename Wanted>
  [[nodiscard]] std::set<std::string> names_of(TypeSet types, const Wanted& is_wanted) const;

  std::vector<Port> ports_;
  std::vector<InputUse> uses_;
};

/// Inputs for a graph: seeded, suited to their readers, or from files. Element i of an input depends on seed, input name, sample and i
/// alone, so that nothing else shifts it; where the whole lies beyond a range, all of it is scaled into that.
class InputMaker {
 public:
  /// Error{usage} where neither a value nor a size can be guessed, Error{invalid} or Error{io} for files.
  /// Ids choose rows first that differ from those of `other`, where that is given. `bound`: see FreeDims.
  InputMaker(const Graph& graph, const InputOptions& options, const Graph* other = nullptr, const InputLimits& limits = {},
             const std::map<std::string, int64_t>& bound = {});

  /// Whether one sample is as good as many.
  [[nodiscard]] bool is_always_the_same() const noexcept { return ports_.all().empty() || (all_from_files() && given_.in_folders() == 0); }
  [[nodiscard]] bool all_from_files() const noexcept { return !ports_.all().empty() && given_.size() == ports_.all().size(); }
  [[nodiscard]] bool any_from_files() const noexcept { return !given_.empty(); }
  [[nodiscard]] const GivenInputs& given() const noexcept { return given_; }
  [[nodiscard]] const InputPorts& ports() const noexcept { return ports_; }
  /// Reads the shapes of the first `samples` files of each folder. Without it only the first sample can be made of folders whose files
  /// differ in shape. Error{usage} or Error{invalid} where they do not fit.
  void prepare(int samples);
  [[nodiscard]] const FreeDims& dims(int sample = 0) const { return dims_[as_size(sample) % dims_.size()]; }
  /// After the model has refused all attempts, the last one as `rejection` says. Error{usage} where sizes were guessed.
  void refuse_guesses(const std::string& rejection) const;
  /// The option that gives the contents of an input that is made up, or empty: "--input x=FILE".
  [[nodiscard]] std::string input_option() const;
  /// `deviation`: see make_values.
  [[nodiscard]] Inputs make(const FreeDims::Assignment& assignment, int sample, double deviation = 0) const;
  /// Whether a mask is made up as tokenizers make it (InputUse::padding).
  [[nodiscard]] bool makes_padding() const;
  /// The first sample with masks that have holes instead.
  [[nodiscard]] Inputs make_with_holes(const FreeDims::Assignment& assignment) const;
  /// Whether floating-point values are made up, so that smaller ones can be had.
  [[nodiscard]] bool can_be_milder() const;

 private:
  [[nodiscard]] FreeDims dims_of_files(int sample) const;
  [[nodiscard]] Inputs make(const std::vector<InputUse>& uses, const FreeDims::Assignment& assignment, int sample, double deviation) const;

  std::string model_;               ///< as messages name it
  const Graph* fitting_ = nullptr;  ///< the graph that sizes are chosen for, where they are
  InputPorts ports_;
  InputOptions options_;
  std::map<std::string, int64_t> bound_;
  GivenInputs given_;
  std::vector<FreeDims> dims_;  ///< one, or one for each sample from folders
};

/// Values for one input; `limit` is the number of ids or the greatest length. `deviation`: the standard deviation of numbers that are not
/// bound to a range, or 0 for the usual kinds of values, which differ from sample to sample.
[[nodiscard]] Tensor make_values(DataType type, const Dims& dims, const InputUse& use, int64_t limit, uint64_t seed,
                                 const std::string& name, int sample, double deviation = 0);

}  // namespace relayout

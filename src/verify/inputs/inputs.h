#pragma once

#include "base/positions.h"
#include "ops/bounds.h"
#include "ops/loops/dtypes.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/inputs.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/input_file.h"
#include "verify/inputs/port.h"
#include "verify/inputs/roles.h"

namespace relayout {

/// Limits of the inputs that the other model sets.
struct InputLimits {
  bool narrow = false;                   ///< see InputUse
  std::map<std::string, Bounds> ranges;  ///< see InputUse, by name
  bool any_size = false;                 ///< dims for which there is no other clue take any sizes that fit the graph
};

/// Which of all samples an input is made for.
struct SampleKind {
  int number = 0;
  double deviation = 0;  ///< standard deviation of numbers that are not bound to a range; 0: the usual kinds of values, which differ
  bool decides = false;  ///< single elements hold numbers at which the model decides (InputUse::words), as it refuses others
};

/// The inputs that a caller must supply to a graph, with their uses in the graph.
class InputPorts {
 public:
  /// With `other`, ids first select rows that differ between the two graphs.
  InputPorts(const Graph& graph, const Graph* other, const InputLimits& limits);

  [[nodiscard]] const std::vector<Port>& all() const noexcept { return ports_; }
  [[nodiscard]] const std::vector<InputUse>& uses() const noexcept { return uses_; }  ///< by port

  [[nodiscard]] bool has_integers() const;  ///< whether a tensor of integers is among them
  /// Names of integer inputs that no node reads as an index, a size, a length or a mask: they may hold any number.
  [[nodiscard]] std::set<std::string> plain_integers() const;
  /// Integer inputs that may not hold any number, and which they may: sizes, axes, counts, positions, ids.
  [[nodiscard]] std::map<std::string, Bounds> kept_integers() const;
  /// Names of integer or boolean inputs that hold only 0 and 1: masks.
  [[nodiscard]] std::set<std::string> masks() const;
  /// Names of masks whose readers fit a map of labels as well.
  [[nodiscard]] std::vector<std::string> possible_labels() const;
  /// "input 'x' is declared f32[0, 3], which has no elements", or empty.
  [[nodiscard]] std::string empty_input() const;

 private:
  /// The names of tensors of these types whose role satisfies `is_wanted`.
  template <typename Wanted>
  [[nodiscard]] std::set<std::string> names_of(TypeSet types, const Wanted& is_wanted) const;

  std::vector<Port> ports_;
  std::vector<InputUse> uses_;
};

/// Makes the inputs of a graph: generated from a seed to suit their readers, or read from files. Element i of a generated input depends
/// only on seed, input name, sample and i, so that nothing else shifts it. If a tensor reaches beyond a range, all of it is scaled into the
/// range.
class InputMaker {
 public:
  /// Error{usage} if a value or size cannot be guessed, Error{invalid} or Error{io} for files. `other`: see InputPorts. `bound`: see
  /// FreeDims.
  InputMaker(const Graph& graph, const InputOptions& options, const Graph* other = nullptr, const InputLimits& limits = {},
             const std::map<std::string, int64_t>& bound = {});

  /// Whether all samples have the same inputs.
  [[nodiscard]] bool is_always_the_same() const noexcept { return ports_.all().empty() || (all_from_files() && given_.in_folders() == 0); }
  [[nodiscard]] bool all_from_files() const noexcept { return !ports_.all().empty() && given_.size() == ports_.all().size(); }
  [[nodiscard]] const GivenInputs& given() const noexcept { return given_; }
  [[nodiscard]] const InputPorts& ports() const noexcept { return ports_; }
  /// Reads the shapes of the first `samples` files of each folder. Otherwise, only the first sample can be made from folders whose files
  /// differ in shape. Error{usage} or Error{invalid} if they do not fit.
  void prepare(int samples);
  [[nodiscard]] const FreeDims& dims(int sample = 0) const { return dims_[as_size(sample) % dims_.size()]; }
  /// Finds the first sizes of free dims with which `run` accepts the inputs of the first sample; batches of one are tried first.
  /// Error{invalid} of `run` says that it does not. Error{usage} if it accepts none of the guesses.
  [[nodiscard]] FreeDims::Assignment first_accepted(const std::function<void(Inputs inputs)>& run) const;
  /// To be called after the model has refused all attempts, the last one with the message `rejection`. Error{usage} if sizes were guessed.
  void refuse_guesses(const std::string& rejection) const;
  /// The option that supplies the contents of a generated input, "--input x=FILE"; empty if there is none.
  [[nodiscard]] std::string input_option() const;
  [[nodiscard]] Inputs make(const FreeDims::Assignment& assignment, SampleKind kind) const;
  [[nodiscard]] Inputs make(const FreeDims::Assignment& assignment, int sample) const { return make(assignment, SampleKind{sample}); }
  /// Number of samples in which generated inputs hold all numbers at which a model decides; 0: there are none.
  [[nodiscard]] int samples_for_words() const;
  /// Whether a mask is generated in the form that tokenizers produce (InputUse::padding).
  [[nodiscard]] bool makes_padding() const;
  /// The first sample, but with holes in such masks.
  [[nodiscard]] Inputs make_with_holes(const FreeDims::Assignment& assignment) const;
  /// Whether floating-point values are generated, so that smaller ones are possible.
  [[nodiscard]] bool can_be_milder() const;

 private:
  [[nodiscard]] FreeDims dims_of_files(int sample) const;
  [[nodiscard]] Inputs make(const std::vector<InputUse>& uses, const FreeDims::Assignment& assignment, SampleKind kind) const;

  std::string model_;               ///< name for messages
  const Graph* fitting_ = nullptr;  ///< the graph that sizes must fit, if they are chosen; else nullptr
  InputPorts ports_;
  InputOptions options_;
  std::map<std::string, int64_t> bound_;
  GivenInputs given_;
  std::vector<FreeDims> dims_;  ///< one, or one for each sample from folders
};

/// Generates the values of one input. `limit`: number of ids, or the greatest length.
[[nodiscard]] Tensor make_values(DataType type, const Dims& dims, const InputUse& use, int64_t limit, uint64_t seed,
                                 const std::string& name, SampleKind kind);
/// Number of samples in which an input of these dims holds all its words; 0: it has none.
[[nodiscard]] int samples_for_words(const InputUse& use, const Dims& dims);

}  // namespace relayout

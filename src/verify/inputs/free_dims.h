#pragma once

#include "relayout/graph.h"
#include "relayout/inputs.h"
#include "verify/inputs/port.h"
#include "verify/inputs/roles.h"

namespace relayout {

/// The tensor type of a port: its own, or that of its innermost elements.
[[nodiscard]] const Port& tensor_port(const Port& port);

/// Sizes of free dims by Port::key().
using SizesByKey = std::map<std::string, int64_t>;

/// The shapes of all inputs, to be filled in with sizes for their free dims.
class InputShapes {
 public:
  explicit InputShapes(const std::vector<Port>& ports) : ports_(ports) {}
  [[nodiscard]] const std::vector<Port>& ports() const noexcept { return ports_; }
  /// Sets the dims of an input that declares no rank.
  void give(const std::string& input, const Dims& dims) { given_[input] = dims; }
  /// Whether the rank of an input is declared or given.
  [[nodiscard]] bool has_rank(const Port& port) const { return tensor_port(port).has_shape || given_.contains(port.name); }
  /// The shapes with these sizes, by input.
  [[nodiscard]] std::map<std::string, Dims> with(const SizesByKey& sizes) const;

 private:
  std::vector<Port> ports_;
  std::map<std::string, Dims> given_;
};

/// Sizes for the free dims of all inputs: those that the user states or weights demand, else guesses. Guesses differ between samples, so
/// that shortcuts show: batches of 2 and 3, sequences of 11 and 16, spatial sizes that are multiples of 32 and sizes that halve unevenly. A
/// symbol has the same size everywhere. If the reference refuses the guesses of one attempt, the next attempt has others.
class FreeDims {
 public:
  /// Shapes of inputs from files count as stated by the user. Error{usage} for names that no input or dim has, for shapes that contradict
  /// the model or each other, and for dims where no guess is safe. `bound`: sizes that the other model requires. `graph`, if given: dims
  /// for which there is no other clue take any sizes that fit it.
  FreeDims(const std::vector<Port>& ports, const std::vector<InputUse>& uses, const InputOptions& options,
           const std::map<std::string, Dims>& shapes_of_files, const std::map<std::string, int64_t>& bound = {},
           const Graph* graph = nullptr);

  struct Assignment {
    std::map<std::string, Dims> shapes;  ///< by input
    SizesByKey dims;
  };
  [[nodiscard]] int attempts() const noexcept { return attempts_; }
  /// The first attempt with batches of one; 0 if there is none.
  [[nodiscard]] int first_single() const noexcept { return attempts_ > size_attempts_ ? size_attempts_ : 0; }
  /// The sizes of odd samples: their own, twice those of even samples, or the same, in the order in which models accept more of them.
  enum class Odd { own, doubled, alike };
  /// The sample and attempt for which sizes are requested.
  struct Place {
    int sample = 0, samples = 1;
    int attempt = 0;
    bool uneven = false;  ///< odd samples of the first attempts have sizes that halve unevenly, which not every model accepts
    Odd odd = Odd::own;
    bool keeps_batch = false;  ///< the last of several samples has no batch of one
    /// The size of this sample, of those for even and odd ones.
    [[nodiscard]] int64_t of(int64_t for_even, int64_t for_odd) const noexcept {
      if (sample % 2 == 0 || odd == Odd::alike) return for_even;
      return odd == Odd::own ? for_odd : 2 * for_even;
    }
  };
  [[nodiscard]] Assignment assign(const Place& place) const;
  /// Whether the graph's operators fit together with these sizes, as far as they show without running; true where no graph is given.
  [[nodiscard]] bool fits(const Place& place) const;
  /// Whether dims besides batches are guessed.
  [[nodiscard]] bool are_guessed() const;
  /// Error{usage}: the model accepts none of the guessed sizes. Names the options that set them; `why`: the reason against the last ones.
  [[noreturn]] void fail_of_guesses(const std::string& why) const;

 private:
  enum class Kind { fixed, batch, sequence, spatial, sum, chosen, like, unknown };
  struct Free {
    Kind kind = Kind::unknown;
    int64_t value = 0;         ///< fixed; chosen: of even samples
    int64_t odd = 0;           ///< chosen: of odd samples
    std::string other;         ///< like: the dim that has the same size
    std::size_t position = 0;  ///< spatial: index among the spatial axes
    std::size_t spatial = 0;   ///< spatial: number of spatial axes
    std::string input;         ///< the first input that has it
    std::size_t axis = 0;
    std::string symbol;  ///< its name in the file, which need not bind it
    /// Whether its size differs between samples or attempts.
    [[nodiscard]] bool varies() const noexcept { return is_guessed() || kind == Kind::batch || kind == Kind::sum; }
    [[nodiscard]] bool is_guessed() const noexcept { return kind == Kind::sequence || kind == Kind::spatial || kind == Kind::chosen; }
  };

  void add_input(const Port& whole, const InputUse& use);
  void fix(const std::string& key, int64_t value, const std::string& input, std::size_t axis);
  void fix_shape(const Port& whole, const Dims& dims);
  void check_names(const std::vector<Port>& ports, const InputOptions& options, const Graph* graph) const;
  /// Chooses sizes for dims of kind `unknown` with which the graph's operators fit together; changes nothing if it finds none.
  void choose(const Graph& graph);
  [[nodiscard]] bool choose(const Graph& graph, bool with_guesses);
  /// Gives chosen dims other sizes in odd samples, as many of them as fit. False if odd samples fit in no way.
  [[nodiscard]] bool vary(const std::vector<std::string>& chosen);
  void count_attempts();
  [[nodiscard]] int64_t value_of(const std::string& key, const Free& free, const Place& place, int depth) const;
  [[nodiscard]] int64_t evaluate_sum(const std::string& key, const Place& place, int depth) const;
  void check_guessable() const;
  /// "--dim N=SIZE", or "--shape INPUT=1,SIZE" for a dim without a name.
  [[nodiscard]] std::string option_for(const std::string& key, const Free& free) const;

  InputShapes shapes_;
  const Graph* graph_;
  std::map<std::string, Free> free_;  ///< by Port::key()
  int attempts_ = 1, size_attempts_ = 1;
};

}  // namespace relayout

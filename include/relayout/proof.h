#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace relayout {

class Model;

/// What in the second model would have to be as it was.
struct Repair {
  std::string field;    ///< an attribute, "input 1 (B)", "inputs", "values" of a constant, "operator"
  std::string is, was;  ///< in the second model and in the first; empty where a relation tells more
  std::string text;     ///< one printable line: "epsilon is 0.001, was 1e-05"; empty: unknown
};

/// A part of the second model that does not follow from the first.
struct Unexplained {
  enum class Kind : uint8_t {
    interface,     ///< graph inputs or outputs: names, order, types, ranks, dims
    weight,        ///< weight of a linear operator
    bias,          ///< bias of a linear operator, or the summand in its place
    tensor,        ///< any other constant
    attribute,     ///< attribute of a node that is otherwise the same
    operand,       ///< a node reads a different value, or the right values at wrong places
    node_added,    ///< has no counterpart in the first model
    node_removed,  ///< a node of the first model is absent, and no fold accounts for it
    node_changed,  ///< a different operator, operator version, or number of outputs
    graph,         ///< nested graphs or functions do not correspond, or graphs are too complex to follow
  };
  Kind kind = Kind::tensor;
  std::string name;                      ///< name of the tensor or node (or of its first output) in the file
  std::string text;                      ///< one printable line
  int64_t values = 0;                    ///< number of elements that differ; 1 for a numeric attribute
  double largest = 0;                    ///< the largest difference relative to the right value
  bool in_first = false;                 ///< `name` is a name of the first model
  std::string type_a = {}, type_b = {};  ///< types of a constant whose type differs ("f32", "f16"), else empty
  double beyond_half = 0;                ///< as `largest`, without differences below 2⁻²³, to which float16 rounds the smallest numbers
  Repair repair = {};                    ///< where the two files tell it exactly
};
[[nodiscard]] std::string_view to_string(Unexplained::Kind kind) noexcept;

/// A file of a model.
struct FileDigest {
  std::string path;    ///< as given by the user; for a data file its location in the model
  std::string sha256;  ///< 64 hexadecimal digits
};

struct ProofOptions {
  bool digests = true;   ///< compute the digests of the files
  bool is_copy = false;  ///< the second model is to have the first one's nodes: no numbers overflow in one alone, and -v tells no rules
  /// Compare real numbers, whatever the types of 16 bits that hold them: a Cast from or to such a type changes nothing, and a constant or a
  /// fold that the second model holds in one is within half a unit of it. What rounding and range then do to values is left open.
  bool across_types = false;
  int threads = 0;  ///< 0: 2, or fewer if fewer CPUs are available
  /// Inputs of int64 that callers of the second model give in 32 bits.
  std::vector<std::string> narrow_inputs = {};
};

/// Facts about two models shown without running them.
struct ProofResult {
  bool proved = false;                   ///< nothing unexplained
  int64_t folds = 0;                     ///< linear operators whose weight and bias were recomputed, near folds included
  int64_t near_folds = 0;                ///< folds among these that are rounded as if computed in their own type, not in double precision
  double near_ulp = 0;                   ///< largest error of near folds, in ULP of a weight or of the largest term of a bias
  int64_t folded_nodes = 0;              ///< nodes of the first model that these folds absorbed
  int64_t rewritten = 0;                 ///< nodes of the second model that compute the result of several other operators of the first
  int64_t permutations = 0;              ///< tensors stored in a different order with byte-equal elements
  int64_t tensors_equal = 0;             ///< other constants, byte-equal
  int64_t nodes_equal = 0;               ///< nodes with a counterpart of the same operator and attributes
  int64_t nodes_bypassed = 0;            ///< Identities and similar nodes of the first model that the second lacks
  int64_t nodes_evaluated = 0;           ///< nodes of the first model over constants whose result the second stores
  int64_t nodes_dead = 0;                ///< nodes of the first model that no output depends on
  std::vector<Unexplained> unexplained;  ///< in the order of the second model's nodes
  std::vector<std::string> unreached;    ///< first outputs of main-graph nodes of the second model upstream of unexplained parts:
                                         ///< nothing was shown of these, and they are not listed one by one
  std::vector<FileDigest> files_a, files_b;  ///< the model file, then its data files
};

/// Proves, without running anything, that `b` computes the same function as `a` up to the rounding of each folded weight. Recomputes every
/// fold from the bytes of both files with independent formulas: folded weights must be within 0.501 ULP, biases within half an ULP plus the
/// error of the double-precision sum. Permuted weights must be byte-equal, and everything else unchanged.
///
/// Removed dead code, Identities and chains over constants are accounted for, as are changes without effect: attributes at their defaults
/// and equivalent operator versions. Folds evaluated in float32, as by other tools, are explained within the error of such an evaluation
/// and counted separately. An operator and the nodes that it stands for (Gelu, LayerNormalization, operators of other domains) are the same
/// when their formulas are, whatever the order of their operations.
///
/// All remaining differences are listed: "not proved" is a result, never an error. Payloads are read in pieces; no model is ever held whole
/// in memory. Errors: io, invalid (a payload cannot be read), interrupted.
[[nodiscard]] ProofResult prove(const Model& a, const Model& b, const ProofOptions& options = {});

}  // namespace relayout

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace relayout {

class Model;

/// Something of the second model that does not follow from the first.
struct Unexplained {
  enum class Kind : uint8_t {
    interface,     ///< graph inputs or outputs: names, order, types, ranks, dims
    weight,        ///< weight of a linear operator
    bias,          ///< bias of a linear operator, or what is added in its place
    tensor,        ///< any other constant
    attribute,     ///< of a node that is otherwise the same
    operand,       ///< a node reads another value, or the right ones at other places
    node_added,    ///< has no counterpart in the first model
    node_removed,  ///< of the first model: gone without a fold that accounts for it
    node_changed,  ///< another operator, another operator version, or another number of outputs
    graph,         ///< nested graphs or functions do not correspond; graphs too tangled to follow
  };
  Kind kind = Kind::tensor;
  std::string name;                      ///< of the tensor or node (or of its first output), as in the file
  std::string text;                      ///< one printable line
  int64_t values = 0;                    ///< elements that differ; of an attribute that is a number: 1
  double largest = 0;                    ///< the largest difference relative to the right value
  bool in_first = false;                 ///< `name` is one of the first model's
  std::string type_a = {}, type_b = {};  ///< "f32", "f16": of a constant that is of another type, else empty
  double beyond_half = 0;                ///< as `largest`, without differences below 2⁻²³, to which float16 rounds the smallest numbers
};
[[nodiscard]] std::string_view to_string(Unexplained::Kind kind) noexcept;

/// A file that a model consists of.
struct FileDigest {
  std::string path;    ///< as the user named it; of a data file its location in the model
  std::string sha256;  ///< 64 hexadecimal digits
};

struct ProofOptions {
  bool digests = true;  ///< hash the files
  int threads = 0;      ///< 0: 2, or the CPUs available when fewer
};

/// Facts about two models that could be shown without running them.
struct ProofResult {
  bool proved = false;                   ///< nothing unexplained
  int64_t folds = 0;                     ///< linear operators whose weight and bias were recomputed, the near ones among them
  int64_t near_folds = 0;                ///< those that are not rounded as a fold in double precision would be, but as one in its type is
  double near_ulp = 0;                   ///< ULP that near folds are off by at most: of a weight, or of the largest term of a bias
  int64_t folded_nodes = 0;              ///< nodes of the first model that those took up
  int64_t rewritten = 0;                 ///< nodes of the second model that compute what other operators of the first one do together
  int64_t permutations = 0;              ///< tensors stored in another order, byte for byte the same elements
  int64_t tensors_equal = 0;             ///< other constants, byte-equal
  int64_t nodes_equal = 0;               ///< nodes with a counterpart of the same operator and attributes
  int64_t nodes_bypassed = 0;            ///< Identities and the like of the first model that the second does without
  int64_t nodes_evaluated = 0;           ///< nodes over constants of the first model whose result the second stores
  int64_t nodes_dead = 0;                ///< nodes of the first model that no output needed
  std::vector<Unexplained> unexplained;  ///< in the order of the second model's nodes
  std::vector<std::string> unreached;    ///< first outputs of main-graph nodes of the second model upstream of what is unexplained: of
                                         ///< these nothing was shown, and they are not listed one by one
  std::vector<FileDigest> files_a, files_b;  ///< the model file, then its data files
};

/// Shows, without running anything, that `b` computes what `a` does up to the rounding of each folded weight: recomputes every fold
/// from the bytes of both files by formulas of its own (folded weights within 0.501 ULP, biases within half an ULP and the error of the
/// double-precision sum), finds permuted weights byte-equal, and everything else unchanged. Removed dead code, Identities and chains over
/// constants are accounted for, and what changes nothing: attributes at their defaults, operator versions that mean the same. Folds that
/// were evaluated in float32, as other tools do, are explained within the error of such an evaluation and counted apart. An operator and
/// the nodes that it stands for (Gelu, LayerNormalization, operators of other domains) are the same when their formulas are, whatever the
/// order of their operations. What remains is listed: not proved is an answer, never an error. Payloads are read in pieces; no model is
/// ever held whole. Errors: io, invalid (a payload cannot be read), interrupted.
[[nodiscard]] ProofResult prove(const Model& a, const Model& b, const ProofOptions& options = {});

}  // namespace relayout

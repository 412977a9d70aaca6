// Checks a loaded model for what passes take for granted, and its stored tensors against their dims.

#include "model/check.h"

#include <onnx/onnx_pb.h>

#include <set>

#include "base/hash.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/origin.h"
#include "model/walk.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {

namespace {

[[noreturn]] void invalid(const std::string& what) {
  fail(ErrorKind::invalid, what);
}

std::string domain_name(std::string_view domain) {
  return domain.empty() ? "the default domain" : "domain " + quote(domain);
}

void check_ir_version(const Model& model) {
  if (!model.message().has_ir_version()) invalid("no ir_version");
  const int64_t version = model.ir_version();
  if (version <= 0) invalid("ir_version " + std::to_string(version));
  if (version > kReviewedIrVersion) {
    log_warning(escape(model.name()) + ": ir_version " + std::to_string(version) + " is newer than " + std::to_string(kReviewedIrVersion) +
                ", the newest this version knows");
  }
}

using Imports = std::map<std::string, int64_t, std::less<>>;

Imports check_imports(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports, const std::string& place) {
  Imports out;
  for (const onnx::OperatorSetIdProto& import : imports) {
    const std::string domain(canonical_domain(import.domain()));
    if (import.version() <= 0) invalid(place + "opset " + std::to_string(import.version()) + " of " + domain_name(domain));
    const auto [known, is_new] = out.emplace(domain, import.version());
    if (!is_new && known->second != import.version()) {
      invalid(place + "opset imports of two versions of " + domain_name(domain) + ": " + std::to_string(known->second) + " and " +
              std::to_string(import.version()));
    }
  }
  return out;
}

void check_reviewed(const Imports& imports, const std::string& place, const LoadOptions& options) {
  const auto found = imports.find("");
  if (found == imports.end() || found->second <= kReviewedOpset || options.allow_newer_opset) return;
  fail(ErrorKind::unsupported,
       place + "opset " + std::to_string(found->second) + " is newer than " + std::to_string(kReviewedOpset) +
           ", the newest this version was reviewed for",
       "to try it all the same, say --allow-newer-opset");
}

void check_identity(const Graph& function, const Functions& functions) {
  const onnx::FunctionProto& message = *function.function();
  if (message.name().empty()) invalid("a function without name");
  if (functions.like(message) != &function) {
    invalid("function " + quote(message.name()) + " of " + domain_name(canonical_domain(message.domain())) + " is there twice");
  }
}

/// Indices in the model of the functions that a function calls.
std::vector<std::size_t> calls_of(const Graph& function, const Functions& functions,
                                  const std::unordered_map<const Graph*, std::size_t>& places) {
  std::set<std::size_t> calls;
  for_each_node(function, [&](const Node& node) {
    if (const Graph* const called = functions.called_by(node)) calls.insert(places.at(called));
  });
  return {calls.begin(), calls.end()};
}

void check_recursion(const Model& model) {
  if (model.functions().empty()) return;
  const Functions functions(model);
  std::unordered_map<const Graph*, std::size_t> places;
  for (const auto& function : model.functions()) {
    check_identity(*function, functions);
    places.emplace(function.get(), places.size());
  }
  std::vector<std::vector<std::size_t>> calls;
  for (const auto& function : model.functions()) calls.push_back(calls_of(*function, functions, places));
  enum class State : uint8_t { untouched, open, done };
  std::vector<State> states(calls.size(), State::untouched);
  struct Step {
    std::size_t function, next;
  };
  std::vector<Step> path;
  for (std::size_t start = 0; start < calls.size(); ++start) {
    if (states[start] == State::untouched) path.push_back({start, 0});
    while (!path.empty()) {
      Step& step = path.back();
      states[step.function] = State::open;
      if (step.next == calls[step.function].size()) {
        states[step.function] = State::done;
        path.pop_back();
        continue;
      }
      const std::size_t called = calls[step.function][step.next++];
      if (states[called] == State::open) invalid("function " + quote(model.functions()[called]->function()->name()) + " calls itself");
      if (states[called] == State::untouched) path.push_back({called, 0});
    }
  }
}

void check_attribute_names(const Node& node) {
  if (node.message().attribute_size() < 2) return;
  std::set<std::string_view> names;
  for (const onnx::AttributeProto& attribute : node.message().attribute()) {
    if (!names.insert(attribute.name()).second)
      invalid("node " + node.label() + ": attribute " + quote(attribute.name()) + " is there twice");
  }
}

/// Counts the nodes of the names that a graph or function has more than once.
void count_repeated(const Graph& top, std::map<std::string, int64_t>& counts) {
  HashSet known;
  known.reserve(top.nodes().size());
  std::map<std::string, int64_t> repeated;
  for_each_node(top, [&](const Node& node) {
    if (!node.name().empty() && !known.insert(mix(std::hash<std::string_view>{}(node.name())))) repeated.emplace(node.name(), 0);
  });
  if (repeated.empty()) return;
  for_each_node(top, [&](const Node& node) {
    const auto found = repeated.find(node.name());
    if (found != repeated.end()) ++found->second;
  });
  for (const auto& [name, count] : repeated) {
    if (count > 1) counts[name] = std::max(counts[name], count);  // else two names have one hash
  }
}

void warn_of_repeated_names(const Model& model) {
  const std::map<std::string, int64_t> names = repeated_names(model);
  if (names.empty()) return;
  const auto& [name, count] = *names.begin();
  const auto others = static_cast<int64_t>(names.size()) - 1;
  log_warning(escape(model.name()) + ": " + counted(count, "node") + " are called " + quote(name) +
              (others > 0 ? ", and " + counted(others, "more name") + " stand for several nodes" : "") +
              ": what is said or chosen by name is true of any of them");
}

/// Checks the nodes of a graph or function, nested graphs included.
class NodeCheck {
 public:
  NodeCheck(const Imports& imports, std::string place)
      : imports_(imports), place_(std::move(place)), default_domain_(imports.contains("")) {}

  void run(const Graph& top) {
    for_each_graph(top, [&](const Graph& graph) {
      check_initializers(graph);
      for (const Node& node : graph.nodes()) {
        if (node.op_type().empty()) invalid("node " + node.label() + " has no op_type");
        check_domain(node);
        check_attribute_names(node);
        check_tensors(node);
        check_operator(node);
      }
    });
    const std::string file = escape(top.model().name()) + ": ";
    for (const std::string& domain : missing_) log_warning(file + place_ + "no opset import of domain " + quote(domain));
  }

 private:
  /// Operators of a domain that is not imported have no meaning. A foreign domain only causes a remark, as its nodes are left unchanged.
  void check_domain(const Node& node) {
    if (node.domain().empty()) {
      if (default_domain_) return;
      invalid(place_ + "no opset import of the default domain, which node " + node.label() + " needs");
    }
    if (!imports_.contains(node.domain()) && !missing_.contains(node.domain())) missing_.emplace(node.domain());
  }

  const Imports& imports_;
  std::string place_;
  bool default_domain_;
  std::set<std::string, std::less<>> missing_;
};

}  // namespace

std::map<std::string, int64_t> repeated_names(const Model& model) {
  std::map<std::string, int64_t> out;
  count_repeated(model.graph(), out);
  for (const auto& function : model.functions()) count_repeated(*function, out);
  return out;
}

void check(const Model& model, const LoadOptions& options) {
  check_ir_version(model);
  Imports imports = check_imports(model.message().opset_import(), "");
  // Models before IR 3 have no imports; their default domain has version 1.
  if (imports.empty() && model.ir_version() < 3) imports.emplace("", 1);
  if (imports.empty()) invalid("no opset import");
  check_reviewed(imports, "", options);
  NodeCheck(imports, "").run(model.graph());
  for (const auto& function : model.functions()) {
    const std::string place = "function " + quote(function->function()->name()) + ": ";
    const Imports own = check_imports(function->function()->opset_import(), place);
    check_reviewed(own, place, options);
    NodeCheck(own, place).run(*function);
  }
  check_recursion(model);
  warn_of_repeated_names(model);
  if (model.graph().outputs().empty()) log_warning(escape(model.name()) + ": no outputs, so that nothing in the graph is needed");
}

// Checks the contents of stored tensors against their dims.
namespace {

using onnx::SparseTensorProto;
using onnx::TensorProto;

/// Checks sizes without keeping contents; strings are only counted.
void check_tensor(const Model& model, const TensorProto& tensor) {
  if (tensor.data_type() == TensorProto::STRING) {
    (void)load_tensor(model, tensor);
  } else {
    (void)tensor_data(model, tensor);
  }
}

class SparseCheck {
 public:
  SparseCheck(const Model& model, const SparseTensorProto& tensor) : model_(model), tensor_(tensor) {}

  void run() {
    if (is_external(tensor_.values()) || is_external(tensor_.indices())) {
      fail(ErrorKind::unsupported, name() + "external data in a sparse tensor");
    }
    dims_.assign(tensor_.dims().begin(), tensor_.dims().end());
    for (const int64_t dim : dims_) {
      if (dim <= 0) invalid("dims " + to_string(dims_));
    }
    try {
      (void)element_count(dims_);
    } catch (const Error& error) {
      invalid(error.what());
    }
    check_tensor(model_, tensor_.values());
    if (tensor_.values().dims_size() != 1) invalid("values of rank " + std::to_string(tensor_.values().dims_size()));
    check_indices();
  }

 private:
  [[nodiscard]] std::string name() const { return "sparse tensor " + quote(tensor_.values().name()) + ": "; }
  [[noreturn]] void invalid(const std::string& what) const { fail(ErrorKind::invalid, name() + what); }

  /// Checks linear positions, or one row of coordinates per value (SparseTensorProto.indices).
  void check_indices() {
    const TensorProto& indices = tensor_.indices();
    const int64_t count = tensor_.values().dims(0);
    if (count == 0 && indices.dims_size() == 0) return;
    if (indices.data_type() != TensorProto::INT64) invalid("indices that are not i64");
    const auto rank = static_cast<int64_t>(dims_.size());
    const bool linear = indices.dims_size() == 1;
    const bool fits = (linear || (indices.dims_size() == 2 && indices.dims(1) == rank)) && indices.dims(0) == count;
    if (!fits) {
      invalid("indices of dims " + to_string(Dims(indices.dims().begin(), indices.dims().end())) + " for " + std::to_string(count) +
              " values of rank " + std::to_string(rank));
    }
    const TensorData data = tensor_data(model_, indices);
    const int64_t width = linear ? 1 : rank;
    const int64_t rows_at_once = std::max<int64_t>(1, kPart / std::max<int64_t>(width, 1));
    std::vector<int64_t> part;
    for (int64_t row = 0; row < count; row += rows_at_once) {
      const int64_t rows = std::min(rows_at_once, count - row);
      part.resize(as_size(rows * width));
      data.read_rows(row, rows, std::as_writable_bytes(std::span(part)));
      for (int64_t i = 0; i < rows; ++i) check_position(std::span(part).subspan(as_size(i * width)), linear, row + i);
    }
  }

  void check_position(std::span<const int64_t> index, bool linear, int64_t number) {
    int64_t position = linear ? index[0] : 0;
    bool inside = !linear || (position >= 0 && position < element_count(dims_));
    for (std::size_t i = 0; !linear && i < dims_.size(); ++i) {
      inside &= index[i] >= 0 && index[i] < dims_[i];
      if (inside) position = position * dims_[i] + index[i];
    }
    if (!inside) invalid("index number " + std::to_string(number) + " is out of range");
    if (last_ && position <= *last_) invalid("index number " + std::to_string(number) + " is not above the one before it");
    last_ = position;
  }

  static constexpr int64_t kPart = int64_t{1} << 16;  ///< indices read at once
  const Model& model_;
  const SparseTensorProto& tensor_;
  Dims dims_;
  std::optional<int64_t> last_;
};

void check_attribute(const Model& model, const Node& node, const onnx::AttributeProto& attribute) {
  try {
    if (attribute.has_t()) check_tensor(model, attribute.t());
    for (const TensorProto& tensor : attribute.tensors()) check_tensor(model, tensor);
    if (attribute.has_sparse_tensor()) SparseCheck(model, attribute.sparse_tensor()).run();
    for (const SparseTensorProto& tensor : attribute.sparse_tensors()) SparseCheck(model, tensor).run();
  } catch (const Error& error) {
    fail(error.kind(), "node " + node.label() + ": " + error.what(), error.hint());
  }
}

}  // namespace

void check_initializers(const Graph& graph) {
  const Model& model = graph.model();
  for (const Initializer& initializer : graph.initializers()) {
    if (initializer.sparse != nullptr) {
      SparseCheck(model, *initializer.sparse).run();
    } else if (!initializer.data) {
      check_tensor(model, *initializer.message);
    }
  }
}

void check_tensors(const Node& node) {
  for (const onnx::AttributeProto& attribute : node.message().attribute()) check_attribute(node.graph().model(), node, attribute);
}

}  // namespace relayout

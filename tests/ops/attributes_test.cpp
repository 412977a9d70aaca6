#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <fstream>
#include <set>
#include <sstream>

#include "model/node.h"
#include "model/origin.h"
#include "model/tensor_data.h"
#include "ops/body.h"
#include "ops/call.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "support/op_cases.h"
#include "support/paths.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

/// The elements of an initializer, strings too.
Tensor stored_contents(const Value& value) {
  const Initializer& initializer = *value.initializer();
  return initializer.data ? initializer.data->load() : load_tensor(value.graph().model(), *initializer.message);
}

/// An attribute of an operator in one version of it, from testdata/schemas/attributes.txt.
struct Fact {
  std::string domain, op;
  int since = 0;
  std::string attribute, type, otherwise;
};

std::vector<Fact> facts() {
  std::ifstream file(std::filesystem::path(source_folder()) / "testdata/schemas/attributes.txt");
  std::vector<Fact> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    Fact fact;
    words >> fact.domain >> fact.op >> fact.since >> fact.attribute >> fact.type >> std::ws;
    std::getline(words, fact.otherwise);
    if (fact.domain == "-") fact.domain.clear();
    out.push_back(std::move(fact));
  }
  return out;
}

using Names = std::map<std::string, std::set<std::string>>;  ///< attributes by "domain:operator"

std::string key_of(std::string_view domain, std::string_view op) {
  return std::string(domain) + ":" + std::string(op);
}

/// While it lives, notes which attributes are looked up.
class Watch {
 public:
  explicit Watch(Names& names) {
    Attributes::observe([&names](const Node& node, std::string_view name) { names[key_of(node.domain(), node.op_type())].emplace(name); });
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { Attributes::observe({}); }
};

/// Runs one node on data; operands that do not fit its version stop it.
void run(const Node& node, const std::vector<Datum>& data, Names& names) {
  const Op* const op = find_kernel(node);
  if (op == nullptr) return;
  std::vector<const Datum*> operands;
  for (std::size_t i = 0; i < data.size(); ++i) operands.push_back(node.input(i) == nullptr ? nullptr : &data[i]);
  const Watch watch(names);
  try {
    (void)infer_and_compute(*op, OpCall(node, node.opset()), operands, [&](std::size_t k) { return node.output(k) != nullptr; });
  } catch (const Error&) {  // of another version
  }
}

/// Every op case, in every opset in which some operator has a version.
void run_cases(const std::vector<OpCase>& cases, std::set<int> opsets, Names& names) {
  for (const OpCase& one : cases) {
    std::vector<Datum> data;
    for (Tensor& tensor : data_of(one)) data.emplace_back(std::move(tensor));
    OpCase changed = one;
    opsets.insert(static_cast<int>(one.opset));
    for (const int opset : opsets) {
      changed.opset = opset;
      try {
        const auto model = model_of(changed);
        run(model->graph().nodes().front(), data, names);
      } catch (const Error&) {  // of another version
      }
    }
  }
}

std::vector<std::filesystem::path> operator_files() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(source_folder()) / "testdata/operators")) {
    if (entry.path().extension() == ".onnx") out.push_back(entry.path());
  }
  return out;
}

void run_cases_of_other_domains(Names& names) {
  for (const auto& file : operator_files()) {
    const auto model = Model::load(file);
    for (const Node& node : model->graph().nodes()) {
      std::vector<Datum> data;
      for (const Value* input : node.inputs()) data.push_back(input == nullptr ? Datum() : Datum(stored_contents(*input)));
      run(node, data, names);
    }
  }
}

/// Forms of old versions, and of types that op_cases() has not.
std::vector<OpCase> more_cases() {
  const OperandCase real{DataType::float32, {2, 3}, Fill::positive, {}, false}, line{DataType::float32, {2}, Fill::positive, {}, false},
      truth{DataType::boolean, {2, 3}, Fill::boolean, {}, false}, truths{DataType::boolean, {2}, Fill::boolean, {}, false},
      number{DataType::int64, {2, 3}, Fill::integers, {}, false}, numbers{DataType::int64, {2}, Fill::integers, {}, false},
      one{DataType::float32, {1}, Fill::positive, {}, false}, image{DataType::float32, {1, 1, 2, 3}, Fill::normal, {}, false},
      small{DataType::float8e4m3fn, {1}, Fill::values, {1}, false}, power{DataType::float8e8m0, {1}, Fill::values, {1}, false};
  const std::string along = "broadcast = 1, axis = 0";
  return {{"And", "And", along, {truth, truths}, 6},
          {"Or", "Or", along, {truth, truths}, 6},
          {"Xor", "Xor", along, {truth, truths}, 6},
          {"Equal", "Equal", along, {number, numbers}, 6},
          {"Greater", "Greater", along, {real, line}, 6},
          {"Less", "Less", along, {real, line}, 6},
          {"Pow", "Pow", along, {real, line}, 6},
          {"Pad1", "Pad", "paddings = [0, 1, 0, 0]", {real}, 1},
          {"Pad2", "Pad", "pads = [0, 1, 0, 0]", {real}, 2},
          {"Upsample1", "Upsample", "height_scale = 2.0, width_scale = 2.0", {image}, 1},
          {"ReduceLogSum", "ReduceLogSum", "", {real}, 20},
          {"Training", "BatchNormalization", "training_mode = 1", {image, one, one, one, one}, 15, 3},
          {"Cast", "Cast", "to = 24", {real}, 24},
          {"CastLike", "CastLike", "", {real, small}, 22},
          {"CastLike24", "CastLike", "", {real, power}, 24}};
}

/// Operators that op cases cannot hold: of sequences, without operands, with random results, with graphs.
void run_other_graphs(Names& names) {
  const auto execute = [&](int opset, const std::string& nodes, const Dims& dims = {2, 3}) {
    SCOPED_TRACE(nodes);
    const std::string text = "g (float" + to_string(dims) + " x) => (y) { " + nodes + " }";
    const auto model = TextModel(text, "<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) + "]>").load();
    Inputs inputs;
    inputs["x"] = Datum(tensor_of_values(DataType::float32, dims, {}));
    ExecuteOptions options;
    options.mode = Mode::reference;
    const Watch watch(names);
    EXPECT_NO_THROW((void)Executor(model->graph(), options).run(inputs));
  };
  for (const char* const op : {"RandomNormal <mean = 1.0, scale = 2.0, seed = 1.0, shape = [2], dtype = 1> ()",
                               "RandomUniform <low = 1.0, high = 2.0, seed = 1.0, shape = [2], dtype = 1> ()",
                               "RandomNormalLike <dtype = 1, seed = 1.0> (x)", "RandomUniformLike <dtype = 1, seed = 1.0> (x)",
                               "Multinomial <sample_size = 2, seed = 1.0, dtype = 6> (x)", "Bernoulli <seed = 1.0, dtype = 1> (x)"}) {
    execute(22, "r = " + std::string(op) + " y = Identity (r)");
  }
  execute(22, "c = Constant <value_strings = [\"a\"]> () y = Identity (c)");
  execute(22, "s = SplitToSequence <axis = 1, keepdims = 0> (x) y = ConcatFromSequence <axis = 0, new_axis = 1> (s)");
  execute(22, "s = SequenceEmpty <dtype = 1> () y = SequenceLength (s)");
  const std::string scan = "Scan <num_scan_inputs = 1, body = b (float[3] e) => (float[3] r) { r = Neg (e) }>";
  execute(22, "y = " + scan + " (x)");
  execute(8, "n = Constant <value = int64[1] {2}> () y = " + scan + " (n, x)", {1, 2, 3});
}

/// Operators of maps, which files of cases cannot hold.
void run_maps(Names& names) {
  const auto run_on = [&](const std::string& node, Datum datum) {
    const auto model =
        TextModel("g (x) => (y) { y = ai.onnx.ml." + node + " (x) }", "<ir_version: 10, opset_import: [\"ai.onnx.ml\" : 1]>").load();
    run(model->graph().nodes().front(), {std::move(datum)}, names);
  };
  run_on("ZipMap <classlabels_int64s = [5, 6]>", tensor_of_values(DataType::float32, {1, 2}, {1, 2}));
  run_on("DictVectorizer <int64_vocabulary = [5]>",
         map_of(tensor_of_values(DataType::int64, {1}, {5}), tensor_of_values(DataType::float32, {1}, {1})));
}

/// The attributes that kernels, shape rules and bodies look up while all samples run.
Names attributes_read(const std::set<int>& opsets) {
  Names out;
  run_cases(op_cases(), opsets, out);
  run_cases(more_cases(), {}, out);
  run_cases_of_other_domains(out);
  run_other_graphs(out);
  run_maps(out);
  return out;
}

bool is_unread(const Fact& fact) {
  return std::ranges::any_of(unread_attributes(), [&](const UnreadAttribute& unread) {
    return unread.name == fact.attribute && unread.domain == fact.domain && (unread.op.empty() || unread.op == fact.op);
  });
}

/// The schemas of operators that run.
std::vector<Fact> facts_of_known_operators() {
  std::vector<Fact> out = facts();
  std::erase_if(out, [](const Fact& fact) {
    const Op* const standard = fact.domain.empty() ? find_op(fact.op) : nullptr;
    return standard == nullptr && find_composed(fact.domain, fact.op) == nullptr;
  });
  return out;
}

TEST(AttributesOfOperators, AreReadOrListedWithTheReason) {
  const std::vector<Fact> known = facts_of_known_operators();
  ASSERT_GT(known.size(), 1000U);
  std::set<int> opsets;
  for (const Fact& fact : known) opsets.insert(fact.since);
  const Names read = attributes_read(opsets);
  for (const Fact& fact : known) {
    if (fact.type == "graph") continue;  // run as nested graphs
    const auto found = read.find(key_of(fact.domain, fact.op));
    const bool is_read = found != read.end() && found->second.contains(fact.attribute);
    EXPECT_NE(is_read, is_unread(fact)) << fact.domain << " " << fact.op << " " << fact.since << ": " << fact.attribute
                                        << (is_read ? " is read, and listed as unread" : " is never read");
  }
}

TEST(AttributesOfOperators, OfTheLinkedLibraryAreInTheFile) {
  std::set<std::string> listed;
  for (const Fact& fact : facts()) listed.insert(key_of(fact.domain, fact.op) + " " + std::to_string(fact.since) + " " + fact.attribute);
  for (const auto& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (!schema.domain().empty() && schema.domain() != kMlDomain) continue;
    for (const auto& [name, attribute] : schema.attributes()) {
      EXPECT_TRUE(listed.contains(key_of(schema.domain(), schema.Name()) + " " + std::to_string(schema.since_version()) + " " + name))
          << schema.Name() << " " << schema.since_version() << " " << name;
    }
  }
}

TEST(AttributesOfOperators, UnreadOnesAreInASchema) {
  const std::vector<Fact> known = facts_of_known_operators();
  for (const UnreadAttribute& unread : unread_attributes()) {
    const auto is_it = [&](const Fact& fact) {
      return fact.attribute == unread.name && fact.domain == unread.domain && (unread.op.empty() || unread.op == fact.op);
    };
    EXPECT_TRUE(std::ranges::any_of(known, is_it)) << unread.op << " " << unread.name;
  }
}

/// Calls visit(node, name, default as the file writes it) for each attribute that a node in testdata/operators can have.
template <class Visit>
void for_each_attribute(const Model& model, const Visit& visit) {
  static const std::vector<Fact> known = facts_of_known_operators();
  for (const Node& node : model.graph().nodes()) {
    for (const Fact& fact : known) {
      if (fact.domain == node.domain() && fact.op == node.op_type()) visit(node, fact.attribute, fact.otherwise);
    }
  }
}

/// An integer or a text as testdata/schemas writes it.
std::string text_of(const onnx::AttributeProto& attribute) {
  return attribute.type() == onnx::AttributeProto::STRING ? "\"" + attribute.s() + "\"" : std::to_string(attribute.i());
}

TEST(MicrosoftDefaults, AreThoseOfTheSchemas) {
  int compared = 0;
  for (const auto& file : operator_files()) {
    for_each_attribute(*Model::load(file), [&](const Node& node, const std::string& name, const std::string& wanted) {
      if (find_composed(node.domain(), node.op_type()) == nullptr || node.domain() == kMlDomain || wanted == "-" || wanted == "required")
        return;
      const onnx::AttributeProto* const found = default_beyond_schemas(node.domain(), node.op_type(), name);
      ASSERT_NE(found, nullptr) << node.op_type() << " " << name;
      if (found->type() == onnx::AttributeProto::FLOAT) {
        EXPECT_FLOAT_EQ(found->f(), std::stof(wanted)) << node.op_type() << " " << name;
      } else {
        EXPECT_EQ(text_of(*found), wanted) << node.op_type() << " " << name;
      }
      ++compared;
    });
  }
  EXPECT_GT(compared, 100);
}

TEST(NewDefaults, AreThoseOfTheSchemas) {
  int compared = 0;
  for (const Fact& fact : facts_of_known_operators()) {
    if (!fact.domain.empty() || fact.otherwise == "-" || fact.otherwise == "required") continue;
    const onnx::OpSchema* const linked = onnx::OpSchemaRegistry::Schema(fact.op, "");
    if (linked != nullptr && linked->attributes().contains(fact.attribute)) continue;
    const onnx::AttributeProto* const found = default_beyond_schemas("", fact.op, fact.attribute);
    if (found == nullptr) continue;  // of a version before opset 23
    if (found->type() == onnx::AttributeProto::FLOAT) {
      EXPECT_FLOAT_EQ(found->f(), std::stof(fact.otherwise)) << fact.op << " " << fact.attribute;
    } else {
      EXPECT_EQ(text_of(*found), fact.otherwise) << fact.op << " " << fact.attribute;
    }
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

/// A default that a node states is the one that its body takes: results are equal to the bit.
TEST(MicrosoftDefaults, AreThoseOfTheBodies) {
  for (const auto& file : operator_files()) {
    const auto a = Model::load(file);
    onnx::ModelProto message;
    ASSERT_TRUE(message.ParseFromString(read_file(file)));
    std::map<std::string, onnx::NodeProto*> nodes;
    for (onnx::NodeProto& node : *message.mutable_graph()->mutable_node()) nodes[node.name()] = &node;
    int added = 0;
    for_each_attribute(*a, [&](const Node& node, const std::string& name, const std::string&) {
      const onnx::AttributeProto* const value = default_beyond_schemas(node.domain(), node.op_type(), name);
      if (node.attribute(name) != nullptr || value == nullptr) return;
      *nodes.at(node.name())->add_attribute() = *value;
      ++added;
    });
    if (added == 0) continue;
    const auto b = TextModel::of(message.SerializeAsString()).load();
    ExecuteOptions options;
    options.mode = Mode::as_written;
    const auto run_all = [&](const Model& model) {
      Inputs inputs;
      for (const Value* input : model.graph().inputs()) inputs[input->name()] = Datum(stored_contents(*input));
      return Executor(model.graph(), options).run(inputs);
    };
    const Outputs of_a = run_all(*a), of_b = run_all(*b);
    for (std::size_t k = 0; k < of_a.size(); ++k) {
      EXPECT_EQ(numbers_of(of_a[k].tensor), numbers_of(of_b[k].tensor)) << file.filename() << " " << a->graph().outputs()[k]->name();
    }
  }
}

}  // namespace
}  // namespace relayout::test

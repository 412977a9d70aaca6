#include "support/bad_models.h"

#include <sys/stat.h>

#include <ranges>

#include "base/random.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"
#include "support/wire_writer.h"

namespace relayout::test {
namespace {

using onnx::ModelProto;
using onnx::TensorProto;
using Folder = std::filesystem::path;

/// conv_batch_norm() with one thing changed.
std::function<void(const Folder&)> edited(std::function<void(ModelProto&)> edit) {
  return [edit = std::move(edit)](const Folder& folder) {
    ModelProto model = conv_batch_norm();
    edit(model);
    save_model(model, folder / "model.onnx");
  };
}

std::function<void(const Folder&)> bytes(std::string content) {
  return [content = std::move(content)](const Folder& folder) { write_file(folder / "model.onnx", content); };
}

/// conv_batch_norm() followed by bytes after its last field.
std::function<void(const Folder&)> followed_by(const WireWriter& wire) {
  return bytes(conv_batch_norm().SerializeAsString() + wire.str());
}

/// A model whose graph holds these bytes only.
std::function<void(const Folder&)> with_graph(const WireWriter& graph) {
  WireWriter model;
  model.varint(1, 8).bytes(8, WireWriter().varint(2, 17).str()).bytes(7, graph.str());
  return bytes(model.str());
}

std::string random_bytes(uint64_t seed, std::size_t count) {
  const RandomStream random(seed, "bytes");
  std::string out(count, '\0');
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<char>(random.bits(i));
  return out;
}

onnx::NodeProto& node(ModelProto& model, int index) {
  return *model.mutable_graph()->mutable_node(index);
}

void add_files(std::vector<BadModel>& out) {
  const auto add = [&](std::string name, std::string content, std::string says = "") {
    out.push_back({std::move(name), bytes(std::move(content)), 3, 3, std::move(says)});
  };
  add("B7Empty", "", "empty");
  add("B7Text", "This is not a model.\nIt has lines.\n", "text");
  add("B8Zip", std::string("PK\x03\x04", 4) + random_bytes(1, 500), "zip");
  add("B8PyTorch",
      std::string("PK\x03\x04", 4) + std::string(22, '\0') + std::string("\x0c\0\0\0", 4) + "net/data.pkl" + random_bytes(5, 500),
      "PyTorch");
  add("B8Gzip", std::string("\x1f\x8b\x08\x00", 4) + random_bytes(2, 500), "gzip");
  add("B9LfsPointer", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32\nsize 12345\n",
      "git-lfs");
  add("B10OnlyZeros", std::string(1000, '\0'));
  add("B10OnlyOnes", std::string(1000, '\xff'));
  add("B11RandomBytes", random_bytes(3, 4096));
  add("B11RandomBytesAgain", random_bytes(4, 100));
}

void add_tensors(std::vector<BadModel>& out) {
  const auto add = [&](std::string name, std::function<void(TensorProto&)> edit) {
    out.push_back({std::move(name), edited([edit = std::move(edit)](ModelProto& model) { edit(initializer(model, "W")); }), 3, 3, "'W'"});
  };
  const auto typed = [](TensorProto& tensor, int count) {
    tensor.clear_raw_data();
    for (int i = 0; i < count; ++i) tensor.add_float_data(1);
  };
  const auto dims = [](TensorProto& tensor, std::initializer_list<int64_t> values) {
    tensor.clear_dims();
    for (const int64_t value : values) tensor.add_dims(value);
  };
  add("B13L54RawDataShorter", [](TensorProto& t) { t.mutable_raw_data()->resize(t.raw_data().size() - 4); });
  add("B13L54RawDataShorterByOneByte", [](TensorProto& t) { t.mutable_raw_data()->pop_back(); });
  add("B13L54RawDataLonger", [](TensorProto& t) { t.mutable_raw_data()->append("four"); });
  add("B13L54RawDataEmpty", [](TensorProto& t) { t.set_raw_data(""); });
  add("B13NoData", [](TensorProto& t) { t.clear_raw_data(); });
  add("B14TypedDataShort", [=](TensorProto& t) { typed(t, 107); });
  add("B14TypedDataLong", [=](TensorProto& t) { typed(t, 109); });
  add("B15RawAndTyped", [](TensorProto& t) { t.add_float_data(1); });
  add("B16StringWithRawData", [](TensorProto& t) { t.set_data_type(TensorProto::STRING); });
  add("B17DataType0", [](TensorProto& t) { t.set_data_type(0); });
  add("B17DataType9999", [](TensorProto& t) { t.set_data_type(9999); });
  add("B18HugeDims", [=](TensorProto& t) { dims(t, {int64_t{1} << 62, 4, 3, 3}); });
  add("B18NegativeDim", [=](TensorProto& t) { dims(t, {-4, 3, 3, 3}); });
  add("B18NegativeDims", [=](TensorProto& t) { dims(t, {-4, -3, 3, 3}); });
  // 2^62 · 8 · 3 · 3 wraps around to 0 in 64 bits.
  add("B18ProductThatWraps", [=](TensorProto& t) { dims(t, {int64_t{1} << 62, 8, 3, 3}); });
}

void add_external(std::vector<BadModel>& out) {
  const auto add = [&](std::string name, std::string location, std::string offset, std::string length, int code = 3,
                       std::function<void(const Folder&)> more = {}) {
    out.push_back({std::move(name),
                   [=](const Folder& folder) {
                     write_file(folder / "good.data", std::string(432, 'x'));
                     write_file(folder.parent_path() / "outside.data", std::string(432, 'x'));
                     if (more) more(folder);
                     ModelProto model = conv_batch_norm();
                     make_external(initializer(model, "W"), location, offset, length);
                     save_model(model, folder / "model.onnx");
                   },
                   code, code, "'W'"});
  };
  add("B19ParentFolder", "../outside.data", "", "");
  add("B19ParentFolderInside", "sub/../../outside.data", "", "");
  add("B19Absolute", "/etc/passwd", "", "");
  add("B19EmptyLocation", "", "", "");
  add("B20Nul", std::string("good.data\0x", 11), "", "");
  add("B20SymlinkOutOfTheFolder", "link.data", "", "", 3,
      [](const Folder& folder) { std::filesystem::create_symlink(folder.parent_path() / "outside.data", folder / "link.data"); });
  add("B21Directory", "sub", "", "", 5, [](const Folder& folder) { std::filesystem::create_directory(folder / "sub"); });
  add("B21Fifo", "pipe", "", "", 5, [](const Folder& folder) { (void)mkfifo((folder / "pipe").c_str(), 0600); });
  add("B21Missing", "missing.data", "", "", 5);
  add("B22OffsetBeyondTheEnd", "good.data", "1000", "432");
  add("B22OffsetJustTooLarge", "good.data", "1", "432");
  add("B22Offset2To63", "good.data", "9223372036854775808", "432");
  add("B22NegativeOffset", "good.data", "-1", "432");
  add("B22OffsetNotANumber", "good.data", "many", "432");
  add("B23OffsetPlusLengthWraps", "good.data", "9223372036854775807", "432");
  add("B24LengthDoesNotFitDims", "good.data", "0", "428");
  add("B24NegativeLength", "good.data", "0", "-432");
}

void add_operators(std::vector<BadModel>& out) {
  const auto add = [&](std::string name, std::function<void(ModelProto&)> edit, std::string says) {
    out.push_back({std::move(name), edited(std::move(edit)), 3, 3, std::move(says)});
  };
  add("B25ConvBiasTooLong", [](ModelProto& m) { initializer(m, "b") = float_tensor("b", {5}, 1); }, "conv0");
  add("B25ConvBiasOfRank2", [](ModelProto& m) { initializer(m, "b") = float_tensor("b", {2, 2}, 1); }, "conv0");
  for (const char* parameter : {"scale", "bias", "mean", "var"}) {
    const std::string name = parameter;
    add("B26BatchNormTooShort_" + name, [name](ModelProto& m) { initializer(m, name) = float_tensor(name, {3}, 1); }, "norm0");
    add("B26BatchNormIntegers_" + name, [name](ModelProto& m) { initializer(m, name).set_data_type(TensorProto::INT32); }, "norm0");
  }
  add("B27WeightOfRank0", [](ModelProto& m) { initializer(m, "W") = float_tensor("W", {}, 1); }, "conv0");
  add("B27WeightOfRank1", [](ModelProto& m) { initializer(m, "W") = float_tensor("W", {4}, 1); }, "conv0");
  add(
      "B27WeightOfRank200",
      [](ModelProto& m) {
        TensorProto& weight = initializer(m, "W");
        weight = float_tensor("W", {4, 3, 3, 3}, 1);
        while (weight.dims_size() < 200) weight.add_dims(1);
      },
      "conv0");
  for (const int64_t group : {0, -1, 2}) {
    add(
        "B28Group" + (group < 0 ? "Minus" + std::to_string(-group) : std::to_string(group)),
        [group](ModelProto& m) { set_int(node(m, 0), "group", group); }, "conv0");
  }
  add(
      "B29AttributeOfWrongType",
      [](ModelProto& m) {
        auto& attribute = *node(m, 0).add_attribute();
        attribute.set_name("group");
        attribute.set_type(onnx::AttributeProto::STRING);
        attribute.set_s("1");
      },
      "conv0");
  add("B29EpsilonOfWrongType", [](ModelProto& m) { set_int(node(m, 1), "epsilon", 1); }, "norm0");
  add(
      "B30ConvWithoutWeight",
      [](ModelProto& m) {
        node(m, 0).clear_input();
        node(m, 0).add_input("x");
      },
      "conv0");
  add("B30ConvWithFourInputs", [](ModelProto& m) { node(m, 0).add_input("scale"); }, "conv0");
  add("B30BatchNormWithFourInputs", [](ModelProto& m) { node(m, 1).mutable_input()->RemoveLast(); }, "norm0");
  add("B30ConvWithTwoOutputs", [](ModelProto& m) { node(m, 0).add_output("second"); }, "conv0");
  add("B30ConvWithoutOutput", [](ModelProto& m) { node(m, 0).clear_output(); }, "");
}

void add_graphs(std::vector<BadModel>& out) {
  const auto add = [&](std::string name, std::function<void(ModelProto&)> edit, std::string says) {
    out.push_back({std::move(name), edited(std::move(edit)), 3, 3, std::move(says)});
  };
  add("B31Cycle", [](ModelProto& m) { node(m, 0).set_input(0, "norm"); }, "cycle");
  add("B31SelfLoop", [](ModelProto& m) { node(m, 2).set_input(0, "y"); }, "cycle");
  add("B33DuplicateOutputs", [](ModelProto& m) { add_node(*m.mutable_graph(), "Relu", {"conv"}, {"norm"}, "again"); }, "'norm'");
  add("B33DuplicateOutputsOfOneNode", [](ModelProto& m) { add_node(*m.mutable_graph(), "Split", {"conv"}, {"s", "s"}, "again"); }, "'s'");
  add("B34DuplicateInitializers", [](ModelProto& m) { *m.mutable_graph()->add_initializer() = float_tensor("b", {4}, 9); }, "'b'");
  add("B34OutputIsAnInput", [](ModelProto& m) { add_node(*m.mutable_graph(), "Relu", {"conv"}, {"x"}, "again"); }, "'x'");
  add("B34OutputIsAnInitializer", [](ModelProto& m) { add_node(*m.mutable_graph(), "Relu", {"conv"}, {"W"}, "again"); }, "'W'");
  add("B34DuplicateGraphInputs", [](ModelProto& m) { set_tensor_type(*m.mutable_graph()->add_input(), "x", 1, {1}); }, "'x'");
  add("B34DuplicateGraphOutputs", [](ModelProto& m) { set_tensor_type(*m.mutable_graph()->add_output(), "y", 1, {1}); }, "'y'");
  add("B35DanglingInput", [](ModelProto& m) { node(m, 2).set_input(0, "nowhere"); }, "'nowhere'");
  add("B36GraphOutputWithoutProducer", [](ModelProto& m) { set_tensor_type(*m.mutable_graph()->add_output(), "z", 1, {1}); }, "'z'");
  add("B37ControlCharacters", [](ModelProto& m) { node(m, 2).set_input(0, "a\n\x1b[2Jb\r\t\x7f"); }, "\\x0a\\x1b[2Jb\\x0d\\x09\\x7f");
  add("B37NameOfAMegabyte", [](ModelProto& m) { node(m, 2).set_input(0, std::string(1 << 20, 'n')); }, "nnn…");
  add(
      "B38OneErrorIn100000Nodes",
      [](ModelProto& m) {
        std::string last = "y";
        for (int i = 0; i < 100000; ++i) {
          const std::string next = "v" + std::to_string(i);
          add_node(*m.mutable_graph(), "Relu", {i == 77777 ? "nowhere" : last.c_str()}, {next.c_str()});
          last = next;
        }
      },
      "'nowhere'");
  add("B38NoGraph", [](ModelProto& m) { m.clear_graph(); }, "graph");
  add("B39NoOpsetImport", [](ModelProto& m) { m.clear_opset_import(); }, "opset");
  add("B40Opset0", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(0); }, "opset");
  add("B40OpsetMinus1", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(-1); }, "opset");
  add("B40TwoVersionsOfOneDomain", [](ModelProto& m) { m.add_opset_import()->set_version(16); }, "opset");
  add("B41IrVersion0", [](ModelProto& m) { m.set_ir_version(0); }, "ir_version");
  add("B41NoIrVersion", [](ModelProto& m) { m.clear_ir_version(); }, "ir_version");
  out.push_back({"B40Opset9999", edited([](ModelProto& m) { m.mutable_opset_import(0)->set_version(9999); }), 4, 4, "opset"});
  add(
      "B42RecursiveFunction",
      [](ModelProto& m) {
        m.add_opset_import()->set_domain("f");
        m.mutable_opset_import(1)->set_version(1);
        for (const char* name : {"A", "B"}) {
          auto& function = *m.add_functions();
          function.set_domain("f");
          function.set_name(name);
          function.add_input("p");
          function.add_output("q");
          auto& import = *function.add_opset_import();
          import.set_domain("f");
          import.set_version(1);
          auto& call = *function.add_node();
          call.set_domain("f");
          call.set_op_type(name[0] == 'A' ? "B" : "A");
          call.add_input("p");
          call.add_output("q");
        }
        auto& call = add_node(*m.mutable_graph(), "A", {"conv"}, {"called"}, "call");
        call.set_domain("f");
      },
      "function");
}

/// `levels` graphs nested in each other: graph { node { If attribute { graph … } } }. Built from the inside out: each level needs the
/// length of its contents, and nothing follows those.
std::string nested_graphs(int levels) {
  std::vector<std::string> heads;
  std::size_t length = 0;
  for (int level = 0; level < levels; ++level) {
    const std::string attribute = WireWriter().bytes(1, "then_branch").varint(20, 5).tag(6, 2).number(length, 0).str();
    const std::string in_node = WireWriter().bytes(4, "If").tag(5, 2).number(attribute.size() + length, 0).str() + attribute;
    heads.push_back(WireWriter().tag(1, 2).number(in_node.size() + length, 0).str() + in_node);
    length += heads.back().size();
  }
  std::string out;
  for (const std::string& head : heads | std::views::reverse) out += head;
  return out;
}

void add_wire(std::vector<BadModel>& out) {
  const auto add = [&](std::string name, std::function<void(const Folder&)> make, int code = 3, std::string says = "") {
    out.push_back({std::move(name), std::move(make), code, code, std::move(says)});
  };
  add("B43GraphAsVarint", bytes(WireWriter().varint(1, 8).bytes(8, WireWriter().varint(2, 17).str()).varint(7, 5).str()));
  add("B43FieldNumber0", followed_by(WireWriter().varint(0, 1)));
  add("B44WireType6", followed_by(WireWriter().tag(100, 6).number(1, 0)));
  add("B44WireType7", followed_by(WireWriter().tag(100, 7).number(1, 0)));
  add("B44EndlessVarint", followed_by(WireWriter().tag(100, 0).raw(std::string(20, '\xff'))));
  add("B45GroupEndWithoutBegin", followed_by(WireWriter().tag(100, 4)));
  add("B45GroupWithoutEnd", followed_by(WireWriter().tag(100, 3)));
  add("B45GroupWithAnotherEnd", followed_by(WireWriter().tag(100, 3).tag(101, 4)));
  add("B46Length2To31", followed_by(WireWriter().tag(100, 2).number(uint64_t{1} << 31, 0)));
  add("B46Length2To63", followed_by(WireWriter().tag(100, 2).number(uint64_t{1} << 63, 0)));
  add("B46LengthMinus1", followed_by(WireWriter().tag(100, 2).number(~uint64_t{0}, 0)));
  add("B47Subgraphs500", with_graph(WireWriter().raw(nested_graphs(500))), 4, "200");
  add("B47Subgraphs5000", with_graph(WireWriter().raw(nested_graphs(5000))), 4, "200");
  std::string groups;
  for (int i = 0; i < 5000; ++i) groups += WireWriter().tag(100, 3).str();
  for (int i = 0; i < 5000; ++i) groups += WireWriter().tag(100, 4).str();
  add("B48Groups5000", followed_by(WireWriter().raw(groups)), 4);
}

void add_sparse(std::vector<BadModel>& out) {
  const auto add = [&](std::string name, std::vector<int64_t> indices, std::vector<int64_t> dims) {
    out.push_back({std::move(name), edited([=](ModelProto& m) {
                     auto& sparse = *m.mutable_graph()->add_sparse_initializer();
                     *sparse.mutable_values() = float_tensor("sparse", {2}, 5);
                     sparse.mutable_indices()->set_data_type(TensorProto::INT64);
                     sparse.mutable_indices()->add_dims(static_cast<int64_t>(indices.size()));
                     for (const int64_t index : indices) sparse.mutable_indices()->add_int64_data(index);
                     for (const int64_t dim : dims) sparse.add_dims(dim);
                     add_node(*m.mutable_graph(), "Identity", {"sparse"}, {"dense"}, "reader");
                   }),
                   3, 3, "'sparse'"});
  };
  add("B48SparseIndexTooLarge", {0, 10}, {10});
  add("B48SparseIndexNegative", {-1, 3}, {10});
  add("B48SparseIndicesUnsorted", {3, 1}, {10});
  add("B48SparseIndicesTwice", {3, 3}, {10});
  add("B48SparseCountsDiffer", {1, 2, 3}, {10});
  add("B48SparseDimsOverflow", {1, 2}, {int64_t{1} << 40, int64_t{1} << 40});
}

std::vector<BadModel> make_all() {
  std::vector<BadModel> out;
  add_files(out);
  add_tensors(out);
  add_external(out);
  add_operators(out);
  add_graphs(out);
  add_wire(out);
  add_sparse(out);
  return out;
}

}  // namespace

const std::vector<BadModel>& bad_models() {
  static const std::vector<BadModel> all = make_all();
  return all;
}

}  // namespace relayout::test

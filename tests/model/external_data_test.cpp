#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <map>

#include "model/origin.h"
#include "model/save.h"
#include "model/tensor_data.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "support/model_cache.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kElements = 1000;  ///< of each tensor: 4000 bytes

std::string contents(char letter) {
  return std::string(static_cast<std::size_t>(kElements) * 4, letter);
}

void set_entry(onnx::TensorProto& tensor, const std::string& key, const std::string& value) {
  auto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

onnx::TensorProto tensor(const std::string& name) {
  onnx::TensorProto out;
  out.set_name(name);
  out.set_data_type(1);
  out.add_dims(kElements);
  return out;
}

onnx::TensorProto inside(const std::string& name, char letter) {
  onnx::TensorProto out = tensor(name);
  out.set_raw_data(contents(letter));
  return out;
}

onnx::TensorProto outside(const std::string& name, const std::string& location, int64_t offset) {
  onnx::TensorProto out = tensor(name);
  out.set_data_location(onnx::TensorProto::EXTERNAL);
  set_entry(out, "location", location);
  set_entry(out, "offset", std::to_string(offset));
  set_entry(out, "length", std::to_string(kElements * 4));
  return out;
}

/// y = x + a + b + … of the given initializers.
onnx::ModelProto sum_of(const std::vector<onnx::TensorProto>& initializers) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.add_input()->set_name("x");
  std::string last = "x";
  for (const onnx::TensorProto& initializer : initializers) {
    *graph.add_initializer() = initializer;
    auto& node = *graph.add_node();
    node.set_op_type("Add");
    node.add_input(last);
    node.add_input(initializer.name());
    last = initializer.name() + "+";
    node.add_output(last);
  }
  graph.add_output()->set_name(last);
  return model;
}

/// A folder "in" with a model of four tensors: a and b in weights.data (b first), c in the model, d in other.data.
class ExternalFiles : public testing::Test {
 protected:
  ExternalFiles() {
    fs::create_directory(folder_ / "in");
    fs::create_directory(folder_ / "out");
    write_file(in("weights.data"), contents('b') + std::string(96, '-') + contents('a'));
    write_file(in("other.data"), contents('d'));
    original_ =
        sum_of({outside("a", "weights.data", 4096), outside("b", "weights.data", 0), inside("c", 'c'), outside("d", "other.data", 0)});
    write_file(in("model.onnx"), original_.SerializeAsString());
    model_ = Model::load(in("model.onnx"));
  }
  [[nodiscard]] fs::path in(const std::string& name) const { return folder_ / ("in/" + name); }
  [[nodiscard]] fs::path out(const std::string& name) const { return folder_ / ("out/" + name); }

  /// All elements of an initializer times four.
  void change(const std::string& name) {
    Initializer& initializer = *model_->graph().find(name)->initializer();
    model_->graph().set_data(initializer, initializer.data->scaled({1, 1, {4.0}}));
  }
  [[nodiscard]] static std::string changed(char letter) {
    std::string bytes = contents(letter);
    for (std::size_t i = 0; i < bytes.size(); i += 4) {
      float value = 0;
      std::memcpy(&value, bytes.data() + i, 4);
      value *= 4.0F;
      std::memcpy(bytes.data() + i, &value, 4);
    }
    return bytes;
  }

  /// Location and contents of each tensor of a saved model, read by hand.
  struct Seen {
    std::string location;
    int64_t offset = 0;
    std::string contents;
  };
  [[nodiscard]] static std::map<std::string, Seen> seen(const fs::path& path) {
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(read_file(path)));
    std::map<std::string, Seen> result;
    for (const auto& initializer : model.graph().initializer()) {
      Seen& one = result[initializer.name()];
      one.contents = initializer.raw_data();
      EXPECT_EQ(initializer.data_location() == onnx::TensorProto::EXTERNAL, initializer.external_data_size() > 0);
      std::map<std::string, std::string> entries;
      for (const auto& entry : initializer.external_data()) entries[entry.key()] = entry.value();
      if (entries.empty()) continue;
      one.location = entries["location"];
      one.offset = std::stoll(entries["offset"]);
      one.contents =
          read_file(path.parent_path() / one.location).substr(static_cast<std::size_t>(one.offset), std::stoul(entries["length"]));
    }
    return result;
  }
  static void expect_contents(const fs::path& path, const std::map<std::string, std::string>& expected) {
    for (const auto& [name, one] : seen(path)) EXPECT_TRUE(one.contents == expected.at(name)) << name;
  }
  [[nodiscard]] std::vector<std::string> names(const fs::path& path) const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(path)) result.push_back(entry.path().filename().string());
    std::ranges::sort(result);
    return result;
  }
  const std::map<std::string, std::string> kUntouched{
      {"a", contents('a')}, {"b", contents('b')}, {"c", contents('c')}, {"d", contents('d')}};

  TemporaryFolder folder_;
  onnx::ModelProto original_;
  std::unique_ptr<Model> model_;
};

TEST_F(ExternalFiles, ByDefaultTheResultNeedsNoFileOfTheInput) {
  change("a");
  const SaveResult result = save(*model_, in("new.onnx"));
  for (const char* name : {"a", "b", "d"}) EXPECT_EQ(seen(in("new.onnx"))[name].location, "new.onnx.data");
  ASSERT_EQ(result.data.size(), 1U);
  EXPECT_EQ(result.data[0].path, in("new.onnx.data"));
  EXPECT_FALSE(result.data[0].of_input);
  EXPECT_EQ(result.bytes, static_cast<int64_t>(fs::file_size(in("new.onnx")) + fs::file_size(in("new.onnx.data"))));
  // The result can be shipped: the two files alone are the model.
  fs::copy_file(in("new.onnx"), out("new.onnx"));
  fs::copy_file(in("new.onnx.data"), out("new.onnx.data"));
  auto expected = kUntouched;
  expected["a"] = changed('a');
  expect_contents(out("new.onnx"), expected);
}

TEST_F(ExternalFiles, UntouchedAndSharedIsTheModelFileAlone) {
  const SaveResult result = save(*model_, in("copy.onnx"), {.share_data = true});
  EXPECT_EQ(read_file(in("copy.onnx")), read_file(in("model.onnx")));
  EXPECT_THAT(names(folder_ / "in"), ElementsAre("copy.onnx", "model.onnx", "other.data", "weights.data"));
  EXPECT_EQ(result.bytes, model_->file_size());
  ASSERT_EQ(result.data.size(), 2U);
  EXPECT_TRUE(result.data[0].of_input);
  EXPECT_TRUE(result.data[1].of_input);
}

TEST_F(ExternalFiles, UntouchedInPlaceStaysAsItIs) {
  const std::string before = read_file(in("model.onnx"));
  const SaveResult result = save(*model_, in("model.onnx"), {.in_place = true});
  EXPECT_EQ(read_file(in("model.onnx")), before);
  EXPECT_THAT(names(folder_ / "in"), ElementsAre("model.onnx", "other.data", "weights.data"));
  EXPECT_EQ(result.data.size(), 2U);
  EXPECT_TRUE(result.left_behind.empty());
}

TEST_F(ExternalFiles, InPlaceNamesTheFilesThatAreNoLongerNeeded) {
  change("a");
  const SaveResult result = save(*model_, in("model.onnx"), {.in_place = true});
  ASSERT_EQ(result.left_behind.size(), 2U);
  EXPECT_EQ(result.left_behind[0].path, in("other.data"));
  EXPECT_EQ(result.left_behind[1].path, in("weights.data"));
  EXPECT_EQ(result.left_behind[1].bytes, 8096);
  fs::remove(in("other.data"));
  fs::remove(in("weights.data"));
  auto expected = kUntouched;
  expected["a"] = changed('a');
  expect_contents(in("model.onnx"), expected);
}

TEST_F(ExternalFiles, UntouchedInAnotherFolderIsAllItsFiles) {
  for (int round = 0; round < 2; ++round) {
    save(*model_, out("copy.onnx"));
    EXPECT_EQ(read_file(out("copy.onnx")), read_file(in("model.onnx")));
    EXPECT_EQ(read_file(out("weights.data")), read_file(in("weights.data")));
    EXPECT_EQ(read_file(out("other.data")), read_file(in("other.data")));
    EXPECT_THAT(names(folder_ / "out"), ElementsAre("copy.onnx", "other.data", "weights.data"));
  }
}

TEST_F(ExternalFiles, AnExistingFileIsNotOverwritten) {
  write_file(out("weights.data"), "the weights of another model");
  save(*model_, out("copy.onnx"));
  EXPECT_EQ(read_file(out("weights.data")), "the weights of another model");
  expect_contents(out("copy.onnx"), kUntouched);
  EXPECT_EQ(seen(out("copy.onnx"))["a"].location, "copy.onnx.data");
}

TEST_F(ExternalFiles, SharedOnlyChangedOnesGoToANewFile) {
  change("a");
  change("c");
  const SaveResult saved = save(*model_, in("new.onnx"), {.share_data = true});
  ASSERT_EQ(saved.data.size(), 3U);
  EXPECT_FALSE(saved.data[0].of_input);
  EXPECT_EQ(saved.data[0].path, in("new.onnx.data"));
  EXPECT_TRUE(saved.data[1].of_input && saved.data[2].of_input);
  auto expected = kUntouched;
  expected["a"] = changed('a');
  expected["c"] = changed('c');
  expect_contents(in("new.onnx"), expected);
  auto result = seen(in("new.onnx"));
  EXPECT_EQ(result["a"].location, "new.onnx.data");
  EXPECT_EQ(result["b"].location, "weights.data");
  EXPECT_EQ(result["b"].offset, 0);
  EXPECT_EQ(result["c"].location, "");  // moved inside and stays there
  EXPECT_EQ(result["d"].location, "other.data");
  EXPECT_EQ(read_file(in("new.onnx.data")).size(), 4000U);
}

TEST_F(ExternalFiles, InAnotherFolderAllGoToTheNewFileAtPages) {
  change("a");
  save(*model_, out("new.onnx"));
  auto expected = kUntouched;
  expected["a"] = changed('a');
  expect_contents(out("new.onnx"), expected);
  auto result = seen(out("new.onnx"));
  for (const char* name : {"a", "b", "d"}) {
    EXPECT_EQ(result[name].location, "new.onnx.data");
    EXPECT_EQ(result[name].offset % 4096, 0);
  }
  EXPECT_EQ(result["c"].location, "");
  EXPECT_THAT(names(folder_ / "out"), ElementsAre("new.onnx", "new.onnx.data"));
}

TEST_F(ExternalFiles, AnUntouchedCopyNextToTheInputNeedsNoneOfItsFiles) {
  save(*model_, in("new.onnx"));
  expect_contents(in("new.onnx"), kUntouched);
  for (const char* name : {"a", "b", "d"}) EXPECT_EQ(seen(in("new.onnx"))[name].location, "new.onnx.data");
}

TEST_F(ExternalFiles, NeverTakesAllInside) {
  change("b");
  save(*model_, in("new.onnx"), {.external_data = ExternalData::never});
  auto expected = kUntouched;
  expected["b"] = changed('b');
  expect_contents(in("new.onnx"), expected);
  for (const auto& [name, one] : seen(in("new.onnx"))) EXPECT_EQ(one.location, "");
  EXPECT_THAT(names(folder_ / "in"), ElementsAre("model.onnx", "new.onnx", "other.data", "weights.data"));
}

TEST_F(ExternalFiles, AlwaysTakesLargeOnesOutside) {
  save(*model_, in("new.onnx"), {.external_data = ExternalData::always, .share_data = true});
  expect_contents(in("new.onnx"), kUntouched);
  EXPECT_EQ(seen(in("new.onnx"))["c"].location, "new.onnx.data");
  EXPECT_EQ(seen(in("new.onnx"))["a"].location, "weights.data");
  save(*model_, in("high.onnx"), {.external_data = ExternalData::always, .external_threshold = 5000, .share_data = true});
  EXPECT_EQ(seen(in("high.onnx"))["c"].location, "");
  EXPECT_FALSE(fs::exists(in("high.onnx.data")));
}

TEST_F(ExternalFiles, NewTensorsFollowTheModel) {
  Graph& graph = model_->graph();
  graph.add_initializer("large", TensorData(DataType::float32, {kElements}, Bytes::owned(contents('l'))));
  graph.add_initializer("small", TensorData(DataType::float32, {2}, Bytes::owned(std::string(8, 's'))));
  save(*model_, in("new.onnx"));
  auto result = seen(in("new.onnx"));
  EXPECT_EQ(result["large"].location, "new.onnx.data");
  EXPECT_EQ(result["large"].contents, contents('l'));
  EXPECT_EQ(result["small"].location, "");
}

TEST_F(ExternalFiles, InPlaceNeverTouchesADataFileOfTheInput) {
  // The customary name of a data file is the one that the output would use.
  fs::rename(in("weights.data"), in("model.onnx.data"));
  for (auto& initializer : *original_.mutable_graph()->mutable_initializer()) {
    for (auto& entry : *initializer.mutable_external_data()) {
      if (entry.value() == "weights.data") entry.set_value("model.onnx.data");
    }
  }
  write_file(in("model.onnx"), original_.SerializeAsString());
  model_ = Model::load(in("model.onnx"));
  const std::string before = read_file(in("model.onnx.data"));
  change("a");
  save(*model_, in("model.onnx"), {.in_place = true});
  EXPECT_TRUE(read_file(in("model.onnx.data")) == before);
  auto expected = kUntouched;
  expected["a"] = changed('a');
  expect_contents(in("model.onnx"), expected);
  for (const char* name : {"a", "b", "d"}) EXPECT_EQ(seen(in("model.onnx"))[name].location, "model.onnx.1.data");
}

TEST_F(ExternalFiles, B54ADataFileThatIsAnInputsFileIsRefused) {
  const auto refused = [&](const fs::path& path) {
    try {
      save(*model_, path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return std::string(error.what());
    }
    return std::string("saved");
  };
  EXPECT_THAT(refused(in("weights.data")), HasSubstr("data file of the input"));
  fs::create_hard_link(in("weights.data"), in("new.onnx.data"));
  change("a");
  EXPECT_THAT(refused(in("new.onnx")), HasSubstr("a file of the input"));
  EXPECT_TRUE(read_file(in("weights.data")) == contents('b') + std::string(96, '-') + contents('a'));
}

TEST_F(ExternalFiles, ADataFileThatChangedMeanwhile) {
  change("a");
  fs::resize_file(in("other.data"), 5000);
  EXPECT_THROW(save(*model_, in("new.onnx")), Error);
  EXPECT_THAT(names(folder_ / "in"), ElementsAre("model.onnx", "other.data", "weights.data"));
}

TEST_F(ExternalFiles, AChangeTakenBackRefersToTheOldPlace) {
  change("a");
  Initializer& initializer = *model_->graph().find("a")->initializer();
  model_->graph().set_data(initializer, TensorData(DataType::float32, {kElements}, initializer.data->source()));
  save(*model_, in("new.onnx"), {.share_data = true});
  EXPECT_EQ(read_file(in("new.onnx")), read_file(in("model.onnx")));
}

TEST(ExternalDataTensors, SharedOnesAreWrittenOnce) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "out");
  write_file(folder / "w.data", contents('w'));
  write_file(folder / "m.onnx", sum_of({outside("a", "w.data", 0), outside("b", "w.data", 0), inside("c", 'c')}).SerializeAsString());
  const auto model = Model::load(folder / "m.onnx");
  Initializer& c = *model->graph().find("c")->initializer();
  model->graph().set_data(c, c.data->scaled({1, 1, {2.0}}));
  save(*model, folder / "out/m.onnx");
  EXPECT_EQ(fs::file_size(folder / "out/m.onnx.data"), 4000U);
}

TEST(ExternalDataTensors, InAttributesTheyMoveToo) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "out");
  write_file(folder / "w.data", contents('k') + contents('n'));
  onnx::ModelProto source = sum_of({inside("c", 'c')});
  const auto add_constant = [](onnx::GraphProto& graph, const std::string& output, int64_t offset) {
    auto& node = *graph.add_node();
    node.set_op_type("Constant");
    node.add_output(output);
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = outside("", "w.data", offset);
  };
  add_constant(*source.mutable_graph(), "k", 0);
  auto& holder = *source.mutable_graph()->add_node();
  holder.set_op_type("Custom");
  holder.add_output("held");
  auto& body = *holder.add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  add_constant(*body.mutable_g(), "n", 4000);
  body.mutable_g()->add_output()->set_name("n");
  write_file(folder / "m.onnx", source.SerializeAsString());
  const auto model = Model::load(folder / "m.onnx");
  model->graph().edit(model->graph().nodes().front()).set_doc_string("changed");
  save(*model, folder / "out/m.onnx");
  const auto again = Model::load(folder / "out/m.onnx");
  const auto value = [](const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (node.is("Constant")) return tensor_data(graph.model(), node.attribute("value")->t());
    }
    return TensorData();
  };
  const auto letter = [](const TensorData& data) {
    std::string bytes(static_cast<std::size_t>(data.byte_size()), '\0');
    data.read_rows(0, data.dims()[0], std::as_writable_bytes(std::span(bytes)));
    return bytes;
  };
  EXPECT_TRUE(letter(value(again->graph())) == contents('k'));
  EXPECT_TRUE(letter(value(*again->graph().nodes().back().subgraphs()[0])) == contents('n'));
  onnx::ModelProto inlined;
  ASSERT_TRUE(inlined.ParseFromString(to_bytes(*model)));
  EXPECT_TRUE(inlined.graph().node(1).attribute(0).t().raw_data() == contents('k'));
  EXPECT_TRUE(inlined.graph().node(2).attribute(0).g().node(0).attribute(0).t().raw_data() == contents('n'));
}

TEST(ExternalDataTensors, LocationsInSubfoldersAndHubCaches) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "store");
  fs::create_directories(folder / "snapshot/sub");
  // A hub cache: the model and its data are links into one store.
  write_file(folder / "store/1234", sum_of({outside("a", "w.data", 0)}).SerializeAsString());
  write_file(folder / "store/5678", contents('a'));
  fs::create_symlink("../store/1234", folder / "snapshot/model.onnx");
  fs::create_symlink("../store/5678", folder / "snapshot/w.data");
  EXPECT_EQ(Model::load(folder / "snapshot/model.onnx")->file_size(), static_cast<int64_t>(read_file(folder / "store/1234").size()) + 4000);
  // A plain model must not refer to files outside its folder that way.
  write_file(folder / "snapshot/plain.onnx", sum_of({outside("a", "w.data", 0)}).SerializeAsString());
  EXPECT_THROW((void)Model::load(folder / "snapshot/plain.onnx"), Error);
  write_file(folder / "snapshot/sub/w.data", contents('s'));
  write_file(folder / "snapshot/below.onnx", sum_of({outside("a", "sub/w.data", 0)}).SerializeAsString());
  EXPECT_NE(Model::load(folder / "snapshot/below.onnx"), nullptr);
}

TEST(ExternalDataTensors, TheExternalModelOfTheCacheInAnotherFolder) {
  for (const auto& path : test::cached_models()) {
    if (path.parent_path().filename() != "resnet18_external") continue;
    const TemporaryFolder folder;
    const auto model = Model::load(path);
    save(*model, folder / "model.onnx");
    for (const std::string& name : folder.entries()) EXPECT_TRUE(read_file(folder / name) == read_file(path.parent_path() / name)) << name;
    EXPECT_EQ(folder.entries().size(), 2U);
    return;
  }
  GTEST_SKIP() << test::kNoModels;
}

}  // namespace
}  // namespace relayout

// Reads and writes models as text, and refuses what a syntax cannot say.
// ONNX's syntax cannot express every model: text is read back and compared before any file gets its name, and a model that would lose
// information is refused.
#include "model/text_format.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/printer.h>

#include <cctype>
#include <iomanip>
#include <sstream>

#include "base/file.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "model/diagnose.h"
#include "model/node.h"
#include "model/origin.h"
#include "model/save.h"
#include "model/tensor_data.h"
#include "model/wire.h"
#include "relayout/error.h"
#include "relayout/model.h"

namespace relayout::text_format {
namespace {

constexpr int64_t kLargest = int64_t{1} << 30;

constexpr auto kExtensions = std::to_array<std::pair<std::string_view, FileFormat>>({
    {".onnxtxt", FileFormat::onnx_text},
    {".onnxtext", FileFormat::onnx_text},
    {".textproto", FileFormat::proto_text},
    {".pbtxt", FileFormat::proto_text},
    {".prototxt", FileFormat::proto_text},
    {".json", FileFormat::json},
});

/// Refuses text with deeply nested brackets, as ONNX's parser recurses for each nested graph and type.
void check_nesting(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '<' || c == '(' || c == '[') ++depth;
    if ((c == '}' || c == '>' || c == ')' || c == ']') && depth > 0) --depth;
    if (depth > 3 * kMaxSubgraphLevels) fail_nesting("graphs", kMaxSubgraphLevels);
  }
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return escape(text);
}

void parse_onnx_text(std::string_view text, onnx::ModelProto& model) {
  check_nesting(text);
  const std::string copy(text);
  std::string why;
  try {
    const auto status = onnx::OnnxParser::Parse(model, copy.c_str());
    if (status.IsOK()) return;
    why = status.ErrorMessage();
  } catch (const std::exception&) {  // from std::stof and similar functions
    why = "a number is out of range";
  }
  fail(ErrorKind::invalid, "not a model in ONNX's textual syntax: " + one_line(why));
}

/// Keeps the first error; protobuf would print all errors to stderr.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (first_.empty()) first_ = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": " + message;
  }
  [[nodiscard]] const std::string& text() const noexcept { return first_; }

 private:
  std::string first_;
};

void parse_proto_text(std::string_view text, onnx::ModelProto& model) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMessageLevels);
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&stream, &model)) fail(ErrorKind::invalid, "not a model in protobuf's text format: " + one_line(error.text()));
}

void parse_json(std::string_view text, onnx::ModelProto& model) {
  const auto status = google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, &model);
  if (!status.ok()) fail(ErrorKind::invalid, "not a model in protobuf's JSON: " + one_line(std::string(status.message())));
}

onnx::ModelProto parse_binary(const std::string& bytes) {
  onnx::ModelProto model;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMessageLevels);
  if (!model.ParseFromCodedStream(&stream)) fail(ErrorKind::defect, "a model to be printed does not parse");
  return model;
}

/// The model in ONNX's syntax, with numbers that read back unchanged.
std::string onnx_text(const onnx::ModelProto& model) {
  std::ostringstream text;
  text << std::setprecision(std::numeric_limits<double>::max_digits10) << model << "\n";
  return text.str();
}

[[noreturn]] void refuse_text(const std::string& what) {
  fail(ErrorKind::unsupported, "ONNX's textual syntax cannot say " + what + "; .textproto and .json can");
}

/// Checks that names of values, operators and attributes are identifiers, as ONNX's syntax requires.
void check_identifiers(const onnx::GraphProto& graph) {
  const auto check = [](const std::string& name, const char* what) {
    if (!is_identifier(name)) refuse_text("the " + std::string(what) + " " + quote(name));
  };
  check(graph.name(), "graph name");
  for (const auto* const ports : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& port : *ports) check(port.name(), "name");
  }
  for (const auto& initializer : graph.initializer()) check(initializer.name(), "name");
  for (const auto& node : graph.node()) {
    for (const auto* const names : {&node.input(), &node.output()}) {
      for (const std::string& name : *names) {
        if (!name.empty()) check(name, "name");
      }
    }
    check(node.op_type(), "operator");
    if (!node.name().empty()) refuse_text("names of nodes (" + quote(node.name()) + ")");
    for (const auto& attribute : node.attribute()) {
      check(attribute.name(), "attribute");
      for_each_graph_in(attribute, check_identifiers);
    }
  }
}

/// Moves payloads to one form, whichever field holds them, so that models with the same tensors are equal messages. False when a message
/// has fields unknown to this version of ONNX.
bool normalize_payloads(google::protobuf::Message& message) {
  if (auto* const tensor = dynamic_cast<onnx::TensorProto*>(&message)) {
    if (tensor->data_type() == onnx::TensorProto::STRING) return true;
    const TensorData data = tensor_data(ModelOrigin{}, *tensor);
    std::string bytes(as_size(data.byte_size()), '\0');
    data.read_rows(0, data.dims().empty() ? 1 : data.dims().front(), std::as_writable_bytes(std::span(bytes)));
    tensor->clear_float_data();
    tensor->clear_int32_data();
    tensor->clear_int64_data();
    tensor->clear_double_data();
    tensor->clear_uint64_data();
    tensor->set_raw_data(bytes);
    return true;
  }
  const auto* const reflection = message.GetReflection();
  bool is_known = reflection->GetUnknownFields(message).empty();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* const field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      is_known &= normalize_payloads(*reflection->MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      is_known &= normalize_payloads(*reflection->MutableRepeatedMessage(&message, field, i));
    }
  }
  return is_known;
}

/// Description of the first part lost in the text; empty when it reads back as the same model.
std::string first_difference(onnx::ModelProto original, onnx::ModelProto back) {
  if (original.SerializeAsString() == back.SerializeAsString()) return "";
  if (!normalize_payloads(original)) return "it has fields that this version of ONNX does not know";
  normalize_payloads(back);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_message_field_comparison(google::protobuf::util::MessageDifferencer::EQUIVALENT);
  std::string report;
  differencer.ReportDifferencesToString(&report);
  if (differencer.Compare(original, back)) return "";
  return one_line(report.substr(0, report.find('\n')));
}

/// Checks that a printed model reads back as the same model.
void check_reads_back(const onnx::ModelProto& model, const std::string& text, FileFormat format) {
  std::string why;
  try {
    onnx::ModelProto back;
    if (!back.ParseFromString(to_binary(text, format))) fail(ErrorKind::defect, "a model read from text does not parse");
    why = first_difference(model, back);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid && error.kind() != ErrorKind::unsupported) throw;
    why = error.what();
  }
  if (why.empty()) return;
  if (format == FileFormat::onnx_text) refuse_text("all of this model (" + why + ")");
  fail(ErrorKind::unsupported, "this model does not read back from its text (" + why + "); .onnx can hold it");
}

}  // namespace

FileFormat format_of(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  const auto* const known = std::ranges::find(kExtensions, extension, &std::pair<std::string_view, FileFormat>::first);
  return known == kExtensions.end() ? FileFormat::binary : known->second;
}

FileFormat format_of(const File& file) {
  const std::string bytes = first_bytes(file);
  if (!is_text(bytes)) return FileFormat::binary;
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  const auto skip_space = [&](std::string_view text) { return std::string_view(std::ranges::find_if_not(text, is_space), text.end()); };
  const auto begins_with_field = [&](std::string_view text) {
    const auto is_name = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    const std::string_view rest(std::ranges::find_if_not(text, is_name), text.end());
    const std::string_view next = skip_space(rest);
    return rest.size() < text.size() && (next.starts_with(':') || next.starts_with('{'));
  };
  const std::string_view text = skip_space(bytes);
  if (text.starts_with('{')) return FileFormat::json;
  if (text.starts_with('<')) return begins_with_field(skip_space(text.substr(1))) ? FileFormat::onnx_text : FileFormat::binary;
  return text.starts_with('#') || begins_with_field(text) ? FileFormat::proto_text : FileFormat::binary;
}

std::string read_whole(const File& file) {
  if (file.size() > kLargest) fail(ErrorKind::unsupported, "a textual model of more than " + format_bytes(kLargest));
  return file.text(0, file.size());
}

std::string to_binary(std::string_view text, FileFormat format) {
  if (static_cast<int64_t>(text.size()) > kLargest) fail(ErrorKind::unsupported, "a textual model of more than " + format_bytes(kLargest));
  onnx::ModelProto model;
  switch (format) {
    case FileFormat::onnx_text:
      parse_onnx_text(text, model);
      break;
    case FileFormat::proto_text:
      parse_proto_text(text, model);
      break;
    case FileFormat::json:
      parse_json(text, model);
      break;
    default:
      fail(ErrorKind::defect, "a binary model is no text");
  }
  std::string bytes;
  if (!model.SerializeToString(&bytes)) fail_large_text();
  return bytes;
}

std::string from_binary(const std::string& bytes, FileFormat format, const std::string& original) {
  onnx::ModelProto model = parse_binary(bytes);
  std::string text;
  switch (format) {
    case FileFormat::onnx_text:
      make_new_names_writable(model, parse_binary(original));
      check_identifiers(model.graph());
      text = onnx_text(model);
      break;
    case FileFormat::proto_text:
      google::protobuf::TextFormat::PrintToString(model, &text);
      break;
    case FileFormat::json: {
      google::protobuf::util::JsonPrintOptions options;
      options.add_whitespace = true;
      options.preserve_proto_field_names = true;
      const auto status = google::protobuf::util::MessageToJsonString(model, &text, options);
      if (!status.ok()) fail(ErrorKind::unsupported, "cannot be written as JSON: " + one_line(std::string(status.message())));
      break;
    }
    default:
      fail(ErrorKind::defect, "binary is no textual form");
  }
  check_reads_back(model, text, format);
  return text;
}

std::string print(const std::string& bytes) {
  return onnx_text(parse_binary(bytes));
}

}  // namespace relayout::text_format

namespace relayout {

std::string to_text(const Model& model) {
  return text_format::print(to_bytes(model));
}

// Names that a conversion has created. ONNX's syntax has only identifiers, and no names of nodes. Names of the input model never change.
namespace {

bool is_letter_or_digit(char c) {
  return (c & 0x80) == 0 && std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Calls of_value for each name of a value and of_node for each name of a node, in nested graphs too.
template <class OfValue, class OfNode>
class NameWalk {
 public:
  NameWalk(const OfValue& of_value, const OfNode& of_node) : of_value_(of_value), of_node_(of_node) {}

  void walk(onnx::ModelProto& model) const {
    walk(*model.mutable_graph());
    for (onnx::FunctionProto& function : *model.mutable_functions()) {
      for (auto* const names : {function.mutable_input(), function.mutable_output()}) std::ranges::for_each(*names, of_value_);
      walk_entries(*function.mutable_value_info());
      for (onnx::NodeProto& node : *function.mutable_node()) walk(node);
    }
  }

 private:
  void walk(onnx::GraphProto& graph) const {
    walk_entries(*graph.mutable_input());
    walk_entries(*graph.mutable_output());
    walk_entries(*graph.mutable_value_info());
    walk_entries(*graph.mutable_initializer());
    for (auto& sparse : *graph.mutable_sparse_initializer()) of_value_(*sparse.mutable_values()->mutable_name());
    for (auto& annotation : *graph.mutable_quantization_annotation()) {
      of_value_(*annotation.mutable_tensor_name());
      for (auto& entry : *annotation.mutable_quant_parameter_tensor_names()) of_value_(*entry.mutable_value());
    }
    for (onnx::NodeProto& node : *graph.mutable_node()) walk(node);
  }

  void walk(onnx::NodeProto& node) const {
    if (!node.name().empty()) of_node_(node);
    for (auto* const names : {node.mutable_input(), node.mutable_output()}) std::ranges::for_each(*names, of_value_);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      for_each_graph_in(attribute, [&](onnx::GraphProto& nested) { walk(nested); });
    }
  }

  template <class Entries>
  void walk_entries(Entries& entries) const {
    for (auto& entry : entries) of_value_(*entry.mutable_name());
  }

  const OfValue& of_value_;
  const OfNode& of_node_;
};

struct TextNames {
  std::unordered_set<std::string> values, nodes;
};

TextNames names_of(onnx::ModelProto model) {
  TextNames out;
  const auto of_value = [&](const std::string& name) { out.values.insert(name); };
  const auto of_node = [&](const onnx::NodeProto& node) { out.nodes.insert(node.name()); };
  NameWalk(of_value, of_node).walk(model);
  return out;
}

/// The name with `__` for each dot (by which passes recognise their own names) and `_` for other characters not allowed in identifiers;
/// with a number if the result is taken.
std::string identifier_like(const std::string& name, std::unordered_set<std::string>& taken) {
  std::string base;
  for (const char c : name) base += is_letter_or_digit(c) ? std::string(1, c) : c == '.' ? "__" : "_";
  if (std::isdigit(static_cast<unsigned char>(base.front())) != 0) base.insert(0, "_");
  std::string out = base;
  for (int64_t number = 2; !taken.insert(out).second; ++number) out = base + "_" + std::to_string(number);
  return out;
}

}  // namespace

bool is_identifier(const std::string& name) {
  const auto is_word = [](char c) { return is_letter_or_digit(c) || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 && std::ranges::all_of(name, is_word);
}

void make_new_names_writable(onnx::ModelProto& model, const onnx::ModelProto& original) {
  const TextNames before = names_of(original);
  std::unordered_set<std::string> taken = names_of(model).values;
  std::unordered_map<std::string, std::string> renamed;
  const auto of_value = [&](std::string& name) {
    if (name.empty() || is_identifier(name) || before.values.contains(name)) return;
    std::string& other = renamed[name];
    if (other.empty()) other = identifier_like(name, taken);
    name = other;
  };
  const auto of_node = [&](onnx::NodeProto& node) {
    if (!before.nodes.contains(node.name())) node.clear_name();
  };
  NameWalk(of_value, of_node).walk(model);
}

}  // namespace relayout

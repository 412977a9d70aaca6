// Writes the differences of two models as data for other programs and as a summary for merge requests.

#include "cli/diff/diff.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

Json number_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json change_json(const ModelChange& change) {
  Json out = Json::object();
  out.set("kind", to_string(change.kind)).set("reason", change.reason);
  out.set("a", change.a.empty() ? Json() : Json(change.a)).set("b", change.b.empty() ? Json() : Json(change.b));
  if (!change.op_type.empty()) out.set("op_type", change.op_type);
  if (!change.absorbed.empty()) out.set("absorbed", change.absorbed);
  Json fields = Json::array();
  for (const ChangedField& field : change.fields) {
    fields.add(std::move(Json::object().set("name", field.name).set("before", field.before).set("after", field.after)));
  }
  if (!change.fields.empty()) out.set("fields", std::move(fields));
  if (change.values > 0) {
    out.set("values", change.values).set("max_absolute_difference", number_json(change.max_absolute));
    out.set("max_relative_difference", number_json(change.max_relative));
  }
  if (change.ulp) out.set("within_ulp", *change.ulp);
  return std::move(out.set("text", change.text));
}

Json side_json(const DiffSide& side) {
  return std::move(Json::object().set("file", side.path).set("nodes", side.nodes).set("opset", side.opset));
}

}  // namespace

Json model_diff_json(const ModelPair& pair) {
  Json out = Json::object(), counts = Json::object();
  out.set("a", side_json(pair.diff->a)).set("b", side_json(pair.diff->b)).set("equal", pair.is_same());
  for (const ChangeKind kind : kChangeKinds) counts.set(to_string(kind), pair.count(kind));
  out.set("counts", std::move(counts)).set("nodes_equal", pair.diff->nodes_equal).set("nodes_renamed", pair.diff->nodes_renamed);
  for (const ChangeSubject subject : kChangeSubjects) {
    Json list = Json::array();
    for (const ModelChange* change : pair.changes) {
      if (change->subject == subject) list.add(change_json(*change));
    }
    out.set(std::string(to_string(subject)) + (subject == ChangeSubject::metadata ? "" : "s"), std::move(list));
  }
  return out;
}

std::string model_diff_csv(const std::vector<ModelPair>& pairs) {
  std::string out = "file,kind,subject,reason,a,b,op_type,values,max_absolute_difference,max_relative_difference,text\r\n";
  const auto number = [](const std::optional<double>& value) { return value ? shortest(*value) : std::string(); };
  for (const ModelPair& pair : pairs) {
    for (const ModelChange* change : pair.changes) {
      const std::array<std::string, 11> fields = {csv_field(pair.diff->b.path),
                                                  std::string(to_string(change->kind)),
                                                  std::string(to_string(change->subject)),
                                                  change->reason,
                                                  csv_field(change->a),
                                                  csv_field(change->b),
                                                  csv_field(change->op_type),
                                                  change->values > 0 ? std::to_string(change->values) : "",
                                                  number(change->max_absolute),
                                                  number(change->max_relative),
                                                  csv_field(change->text)};
      out += csv_record(fields);
    }
  }
  return out;
}

std::string model_diff_markdown(const ModelPair& pair, const ModelChoice& choice) {
  std::string out =
      "### " + markdown_code(pair.diff->a.path) + " → " + markdown_code(pair.diff->b.path) + "\n\n" + model_diff_summary(pair) + "\n";
  std::string rows;
  for (const ChangeKind kind : kChangeKinds) {
    for (const ModelChange* change : pair.first_of(kind, choice.top)) {
      rows += "| " + std::string(to_string(kind)) + " | " + std::string(to_string(change->subject)) + " | " +
              markdown_code(escape(name_of(*change))) + " | " + markdown_code(change->text) + " |\n";
    }
  }
  return rows.empty() ? out : out + "\n| | kind | name | change |\n|---|---|---|---|\n" + rows;
}

}  // namespace relayout::cli

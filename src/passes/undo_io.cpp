// Gives inputs and outputs of images the form back that --io nhwc, --input-u8 and --output-u8 took from them.
//
//     uint8 x    a = Cast <to = 1> (x)               float x    a = Mul (x, deviation / scale)
//                b = Add (a, −mean / scale)
//                y = Conv (b, W)                                y = Conv (a, W)
//
// An Add and a Mul that stand there as those passes write them go; where a fold has taken them, the reverse is computed, which folds take
// too. Numbers behind an output come back as they were before they were limited and rounded.

#include "base/text.h"
#include "model/float_elements.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/operands.h"
#include "passes/byte_input.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// An input or output of bytes with what makes numbers of it, or it of numbers.
struct UndoneBytes {
  BytePort port;
  std::vector<const Node*> nodes = {};         ///< those that go, from the port on
  bool has_factor = false, has_shift = false;  ///< of them: factor and shift of the conversion
};

class ByteUndoer {
 public:
  ByteUndoer(Graph& graph, PassContext& context, ByteSide side)
      : graph_(graph),
        context_(context),
        is_input_(side == ByteSide::input),
        bytes_(is_input_ ? context.options.bytes : context.options.output_bytes) {}

  void run() {
    for (const std::string& name : bytes_.names) {
      rewrite_one(
          {is_input_ ? "byte input" : "byte output", name}, context_,
          [&]() -> Match<UndoneBytes> { return is_input_ ? input(name) : output(name); },
          [&](const UndoneBytes& found) { is_input_ ? undo_input(found) : undo_output(found); });
    }
    context_.constants.clear();  // remembers the old type
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& why) const {
    const std::string option = is_input_ ? " --input-u8 " : " --output-u8 ";
    fail(ErrorKind::unsupported, escape(graph_.model().name()) + ": --undo-io" + option + quote(name) + ": " + why);
  }

  /// The only node that reads a value, if it reads it once and is of this operator, in this graph.
  [[nodiscard]] const Node* reader_of(const Value& value, std::string_view op_type) const {
    const Use* const use = value.sole_use();
    if (use == nullptr || &use->node->graph() != &graph_ || !use->node->is(op_type)) return nullptr;
    return use->node->output(0) != nullptr && !use->node->output(0)->is_output() ? use->node : nullptr;
  }
  /// The node of this operator that makes a value.
  [[nodiscard]] static const Node* maker_of(const Value& value, std::string_view op_type) {
    const Node* const node = value.producer();
    return node != nullptr && node->is(op_type) && node->input(0) != nullptr ? node : nullptr;
  }

  /// Whether the second operand of a node has these numbers along the channels.
  [[nodiscard]] bool has_numbers(const Node& node, const BytePort& port, const std::vector<double>& wanted) const {
    const auto constant = node.input(1) != nullptr ? context_.constants.value(*node.input(1)) : std::nullopt;
    if (!constant || constant->type() != DataType::float32) return false;
    Dims dims(port.rank, 1);
    dims[port.axis] = std::ssize(wanted);
    const std::vector<double> found = reals_of(contiguous(*constant));
    return constant->dims() == dims &&
           std::ranges::equal(found, wanted, {}, {}, [](double value) { return rounded(DataType::float32, value); });
  }

  [[nodiscard]] UndoneBytes input(const std::string& name) const {
    UndoneBytes out{find_byte_port(graph_, bytes_, name, ByteSide::input, DataType::uint8)};
    const Node* const cast = reader_of(*out.port.value, "Cast");
    if (cast == nullptr || Attributes(*cast).integer("to", 0) != static_cast<int64_t>(DataType::float32)) {
      refuse(name, "one Cast to f32 has to read it, and nothing else");
    }
    out.nodes.push_back(cast);
    const ByteArithmetic arithmetic = bytes_to_numbers(bytes_);
    const Node* const add = reader_of(*cast->output(0), "Add");
    out.has_shift = !arithmetic.shifts.empty() && add != nullptr && has_numbers(*add, out.port, arithmetic.shifts);
    if (out.has_shift) out.nodes.push_back(add);
    if (!out.has_shift && !arithmetic.shifts.empty()) return out;
    const Node* const multiply = reader_of(*out.nodes.back()->output(0), "Mul");
    out.has_factor = !arithmetic.factors.empty() && multiply != nullptr && has_numbers(*multiply, out.port, arithmetic.factors);
    if (out.has_factor) out.nodes.push_back(multiply);
    return out;
  }

  [[nodiscard]] bool is_limit(const Node& clip, std::size_t index, double wanted) const {
    const auto limit = clip.input(index) != nullptr ? context_.constants.value(*clip.input(index)) : std::nullopt;
    return limit && limit->type() == DataType::float32 && limit->element_count() == 1 && reals_of(contiguous(*limit)).front() == wanted;
  }

  [[nodiscard]] UndoneBytes output(const std::string& name) const {
    constexpr double kLargestByte = 255;
    UndoneBytes out{find_byte_port(graph_, bytes_, name, ByteSide::output, DataType::uint8)};
    const Node* const cast = out.port.value->uses().empty() ? maker_of(*out.port.value, "Cast") : nullptr;
    const Node* const round = cast != nullptr && cast->input(0)->sole_use() != nullptr ? maker_of(*cast->input(0), "Round") : nullptr;
    const Node* const clip = round != nullptr && round->input(0)->sole_use() != nullptr ? maker_of(*round->input(0), "Clip") : nullptr;
    if (clip == nullptr || clip->graph().is_function() || !is_limit(*clip, 1, 0) || !is_limit(*clip, 2, kLargestByte)) {
      refuse(name, "Clip to 0 … 255, Round and Cast have to make it, and nothing else read what they make");
    }
    out.nodes = {cast, round, clip};
    const ByteArithmetic arithmetic = numbers_to_bytes(bytes_);
    const auto maker = [&](std::string_view op_type) -> const Node* {
      const Value& made = *out.nodes.back()->input(0);
      return made.sole_use() != nullptr ? maker_of(made, op_type) : nullptr;
    };
    const Node* const add = maker("Add");
    out.has_shift = !arithmetic.shifts.empty() && add != nullptr && has_numbers(*add, out.port, arithmetic.shifts);
    if (out.has_shift) out.nodes.push_back(add);
    if (!out.has_shift && !arithmetic.shifts.empty()) return out;
    const Node* const multiply = maker("Mul");
    out.has_factor = !arithmetic.factors.empty() && multiply != nullptr && has_numbers(*multiply, out.port, arithmetic.factors);
    if (out.has_factor) out.nodes.push_back(multiply);
    return out;
  }

  /// A node before `place` that computes with numbers along the channels; the value that it makes.
  Value& compute(const char* op_type, const BytePort& port, const Value& from, const std::vector<double>& numbers,
                 std::list<Node>::iterator place) {
    Model& model = graph_.model();
    const std::string& name = port.value->name();
    Dims dims(port.rank, 1);
    dims[port.axis] = std::ssize(numbers);
    const Value& constant = graph_.add_initializer(model.unique_name(name + "." + ascii_lower(op_type)),
                                                   from_doubles(DataType::float32, std::move(dims), numbers));
    return *graph_
                .insert_before(place, node_message(op_type, {from.name(), constant.name()}, {model.unique_name(name + "." + op_type)},
                                                   model.unique_name(name + "/" + op_type)))
                .output(0);
  }

  /// Byte = number · deviation / scale + mean / scale, as far as it does not go with what stood there.
  void undo_input(const UndoneBytes& found) {
    Value& input = *found.port.value;
    const ByteArithmetic arithmetic = numbers_to_bytes(bytes_);
    Value* const result = writable(*found.nodes.back()).output(0);
    const auto place = graph_.position_of(writable(*found.nodes.front()));
    Value* made = &input;
    if (!found.has_factor && !arithmetic.factors.empty()) made = &compute("Mul", found.port, *made, arithmetic.factors, place);
    if (!found.has_shift && !arithmetic.shifts.empty()) made = &compute("Add", found.port, *made, arithmetic.shifts, place);
    graph_.replace_uses(*result, *made);
    erase(*found.nodes.back());
    graph_.declare_types({{input.name(), DataType::float32}});
  }

  void undo_output(const UndoneBytes& found) {
    Value& output = *found.port.value;
    const ByteArithmetic arithmetic = bytes_to_numbers(bytes_);
    (void)graph_.detach(output, graph_.model().unique_name(output.name() + ".u8"));
    Value* made = writable(*found.nodes.back()).input(0);
    const auto end = graph_.nodes().end();
    if (!found.has_shift && !arithmetic.shifts.empty()) made = &compute("Add", found.port, *made, arithmetic.shifts, end);
    if (!found.has_factor && !arithmetic.factors.empty()) made = &compute("Mul", found.port, *made, arithmetic.factors, end);
    Node& last = graph_.insert_before(
        end, node_message("Identity", {made->name()}, {output.name()}, graph_.model().unique_name(output.name() + "/Identity")));
    graph_.declare_types({{output.name(), DataType::float32}});
    erase(*found.nodes.front());
    if (made->producer() != nullptr && &made->graph() == &graph_ && !made->is_output()) attach_through(graph_, last);
  }

  /// Erases a node without a reader, and what only it needed.
  void erase(const Node& node) {
    std::vector<Value*> freed;
    erase_node(writable(node), freed);
    std::erase_if(freed, [](const Value* value) { return value == nullptr || value->is_model_input(); });
    for (Value* const value : freed) release(*value, context_);
  }

  Graph& graph_;
  PassContext& context_;
  bool is_input_;
  const ByteImages& bytes_;
};

}  // namespace

void undo_io(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function() || !context.options.undo_io) return;
  export_io(graph, context);  // first: its Transposes stand between bytes and what reads them
  ByteUndoer(graph, context, ByteSide::input).run();
  ByteUndoer(graph, context, ByteSide::output).run();
}

}  // namespace relayout::passes

// Holds what all oneDNN primitives share: names, post-ops, packing, execution, and refusals of slow implementations.
#include "exec/onednn/common.h"

#include "exec/primitives.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec::onednn {

Runtime& runtime() {
  static Runtime instance;
  return instance;
}

bool has_avx512() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return (static_cast<unsigned>(isa) & static_cast<unsigned>(dnnl::cpu_isa::avx512_core)) ==
         static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
}

dnnl::memory::desc descriptor(const Dims& dims, const Dims& strides) {
  return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::memory::desc descriptor(const TensorDesc& desc) {
  if (desc.dims.empty()) return descriptor(Dims{1}, Dims{1});
  return descriptor(desc.dims, desc.strides);
}

dnnl::algorithm algorithm_of(Function function) {
  using enum dnnl::algorithm;
  switch (function) {
    case Function::relu:
      return eltwise_relu;
    case Function::clip:
      return eltwise_clip;
    case Function::hard_sigmoid:
      return eltwise_hardsigmoid;
    case Function::hard_swish:
      return eltwise_hardswish;
    case Function::sigmoid:
      return eltwise_logistic;
    case Function::tanh:
      return eltwise_tanh;
    case Function::elu:
      return eltwise_elu;
    case Function::erf:  // oneDNN has none of these
    case Function::floor:
    case Function::ceil:
    case Function::reciprocal:
    case Function::negate:
    case Function::is_nonzero:
    case Function::round_half:
    case Function::round_bfloat:
    case Function::steps_u8:
    case Function::steps_i8:
    case Function::sine:
    case Function::cosine:
    case Function::softsign:
    case Function::thresholded_relu:
    case Function::selu:
    case Function::celu:
    case Function::arc_sine:
    case Function::arc_cosine:
    case Function::arc_tangent:
    case Function::hyperbolic_sine:
    case Function::hyperbolic_cosine:
    case Function::area_sine:
    case Function::area_cosine:
    case Function::area_tangent:
    case Function::tangent:
    case Function::square:
    case Function::cube:
    case Function::erf_gate:
      return undef;
    case Function::gelu_erf:
      return eltwise_gelu_erf;
    case Function::gelu_tanh:
      return eltwise_gelu_tanh;
    case Function::swish:
      return eltwise_swish;
    case Function::mish:
      return eltwise_mish;
    case Function::softplus:
      return eltwise_soft_relu;
    case Function::abs:
      return eltwise_abs;
    case Function::sqrt:
      return eltwise_sqrt;
    case Function::exp:
      return eltwise_exp;
    case Function::log:
      return eltwise_log;
    case Function::round:
      return eltwise_round;
    case Function::linear:
      return eltwise_linear;
  }
  return undef;
}

dnnl::algorithm algorithm_of(BinaryFunction function) {
  using enum dnnl::algorithm;
  switch (function) {
    case BinaryFunction::add:
      return binary_add;
    case BinaryFunction::subtract:
      return binary_sub;
    case BinaryFunction::multiply:
      return binary_mul;
    case BinaryFunction::divide:
      return binary_div;
    case BinaryFunction::minimum:
      return binary_min;
    case BinaryFunction::maximum:
      return binary_max;
    case BinaryFunction::power:
    case BinaryFunction::slope_below:
      break;
  }
  return undef;
}

dnnl::primitive_attr attributes(const std::vector<PostOp>& post_ops, const std::function<TensorDesc(const TensorDesc&)>& adapt) {
  dnnl::primitive_attr attr;
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (post_ops.empty()) return attr;
  dnnl::post_ops chain;
  for (const PostOp& op : post_ops) {
    switch (op.kind) {
      case PostOp::Kind::function:
        chain.append_eltwise(algorithm_of(op.function), op.alpha, op.beta);
        break;
      case PostOp::Kind::sum:
        chain.append_sum(1.0F);
        break;
      case PostOp::Kind::binary:
        chain.append_binary(algorithm_of(op.binary), descriptor(adapt ? adapt(op.operand) : op.operand));
        break;
    }
  }
  attr.set_post_ops(chain);
  return attr;
}

void add_operands(std::vector<std::pair<int, dnnl::memory::desc>>& arguments, const std::vector<PostOp>& post_ops,
                  const std::function<TensorDesc(const TensorDesc&)>& adapt) {
  for (std::size_t i = 0; i < post_ops.size(); ++i) {
    if (post_ops[i].kind != PostOp::Kind::binary) continue;
    const int argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1;
    arguments.emplace_back(argument, descriptor(adapt ? adapt(post_ops[i].operand) : post_ops[i].operand));
  }
}

std::string objection(const std::string& implementation) {
  constexpr std::string_view kFused = "ref_fused_convolution:any";
  const bool fused = implementation.starts_with(kFused);
  const std::string_view rest = std::string_view(implementation).substr(fused ? kFused.size() : 0);
  if (rest.find("ref") != std::string_view::npos || rest.find("simple_nchw") != std::string_view::npos) {
    return "oneDNN has only the slow implementation " + implementation;
  }
  return {};
}

std::string PackedFormat::key() const {
  dnnl::memory::desc copy = target_;  // get_blob is not const
  const std::vector<uint8_t> blob = copy.get_blob();
  return {blob.begin(), blob.end()};
}

void PackedFormat::pack(const TensorDesc& source, const std::byte* data, std::byte* target) const {
  try {
    Runtime& shared = runtime();
    dnnl::memory from(descriptor(as_library_(source)), shared.engine, const_cast<std::byte*>(data));
    dnnl::memory to(target_, shared.engine, target);
    dnnl::reorder(from, to).execute(shared.stream, from, to);
    shared.stream.wait();
  } catch (const dnnl::error& error) {
    fail(ErrorKind::defect, std::string("oneDNN cannot pack weights: ") + error.what());
  }
}

CompiledPrimitive::CompiledPrimitive(const dnnl::primitive_desc_base& desc, std::vector<std::pair<int, dnnl::memory::desc>> arguments,
                                     std::unique_ptr<WeightsFormat> format)
    : format_(std::move(format)), implementation_(desc.impl_info_str()) {
  dnnl::error::wrap_c_api(dnnl_primitive_create(&primitive_, desc.get()), "could not create a primitive");
  const dnnl::memory::desc scratchpad = desc.scratchpad_desc();
  scratchpad_bytes_ = static_cast<int64_t>(scratchpad.get_size());
  if (scratchpad_bytes_ > 0) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, scratchpad);
  for (const auto& [id, memory_desc] : arguments) {
    memories_.emplace_back(memory_desc, runtime().engine, nullptr);
    arguments_.push_back({id, memories_.back().get()});
  }
}

CompiledPrimitive::~CompiledPrimitive() {
  dnnl_primitive_destroy(primitive_);
}

void CompiledPrimitive::bind(Argument argument, int index, void* data) {
  int id = 0;
  switch (argument) {
    case Argument::source:
      id = DNNL_ARG_SRC_0;
      break;
    case Argument::weights:
      id = DNNL_ARG_WEIGHTS;
      break;
    case Argument::bias:
      id = DNNL_ARG_BIAS;
      break;
    case Argument::destination:
      id = DNNL_ARG_DST;
      break;
    case Argument::operand:
      id = DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1;
      break;
    case Argument::scale:
      id = DNNL_ARG_SCALE;
      break;
    case Argument::shift:
      id = DNNL_ARG_SHIFT;
      break;
    case Argument::mean:
      id = DNNL_ARG_MEAN;
      break;
    case Argument::variance:
      id = DNNL_ARG_VARIANCE;
      break;
    case Argument::scratchpad:
      id = DNNL_ARG_SCRATCHPAD;
      break;
  }
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].arg != id) continue;
    dnnl_memory_set_data_handle(arguments_[i].memory, data);
    return;
  }
}

void CompiledPrimitive::execute() {
  const dnnl_stream_t stream = runtime().stream.get();
  const dnnl_status_t status = dnnl_primitive_execute(primitive_, stream, static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success || dnnl_stream_wait(stream) != dnnl_success) {
    fail(ErrorKind::defect, "oneDNN failed to run " + implementation_ + " (status " + std::to_string(static_cast<int>(status)) + ")");
  }
}

}  // namespace relayout::exec::onednn

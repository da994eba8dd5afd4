#include "stats/job/dump/session/pending_run.hpp"

#include "stats/data/files/tensor_reader.hpp"
#include "stats/data/rules/specials.hpp"

namespace tensorstat {
namespace {

// `tensor` with the dtype and the element count that its `stored` bits have in memory, for `values` values.
Tensor carrier(Tensor tensor, Stored stored, std::uint64_t values) {
  switch (stored) {
    case Stored::kPlain:
      tensor.element_count = values;
      break;
    case Stored::kInt4:
      tensor.dtype = Dtype::kUint8;
      tensor.element_count = values / 2 + values % 2;
      break;
    case Stored::kUint1:
      tensor.dtype = Dtype::kUint8;
      tensor.element_count = values / 8 + (values % 8 != 0);
      break;
    case Stored::kComplex64:
    case Stored::kComplex128:
      tensor.dtype = stored == Stored::kComplex64 ? Dtype::kComplex64 : Dtype::kComplex128;
      tensor.element_count = values;
      break;
  }
  return tensor;
}

// The Stored of a dtype that the session stores specially.
Stored stored_as(const DumpTensor& given) {
  if (given.stored != Stored::kPlain) return given.stored;
  switch (given.tensor.dtype) {
    case Dtype::kInt4:
      return Stored::kInt4;
    case Dtype::kUint1:
      return Stored::kUint1;
    case Dtype::kComplex64:
      return Stored::kComplex64;
    case Dtype::kComplex128:
      return Stored::kComplex128;
    default:
      return Stored::kPlain;
  }
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) c = '_';
  }
  return line;
}

std::string_view data_type(const PendingTensor& tensor) {
  switch (tensor.stored) {
    case Stored::kInt4:
      return "int4";
    case Stored::kUint1:
      return "uint1";
    case Stored::kComplex64:
    case Stored::kComplex128:
    case Stored::kPlain:
      break;
  }
  return name(tensor.tensor.dtype);
}

Identity identity_of(const PendingRun& run, const PendingTensor& tensor) {
  // A constant runs on no stream.
  const bool is_nowhere = run.place.constants && !run.op->has_ids;
  return {run.op->type,
          run.op->name,
          is_nowhere ? 0 : run.op->task_id,
          is_nowhere ? 0 : run.op->stream_id,
          tensor.timestamp_us,
          tensor.io == Io::kInput ? "input" : "output",
          tensor.slot};
}

std::uint32_t faults_of(const Statistics& statistics) {
  const Specials specials = specials_of(statistics);
  return DumpTensor::kMeasured | (specials.has_nan() ? DumpTensor::kHasNan : 0u) |
         (specials.has_inf() ? DumpTensor::kHasInf : 0u);
}

Result<PendingTensor> hold(const DumpTensor& given, bool device_format) {
  constexpr std::uint64_t kWidestValueBytes = 16;
  const auto values = element_count(given.shape, kWidestValueBytes);
  if (!values) return values.error();
  if (given.stored == Stored::kPlain && given.tensor.element_count != *values) {
    return Error{Code::kInvalid, "the shape " + to_string(given.shape) + " and " +
                                     std::to_string(given.tensor.element_count) + " elements contradict each other"};
  }
  if (given.tensor.address == nullptr && *values != 0) {
    return Error{Code::kInvalid, "the address is null"};
  }
  const Stored stored = stored_as(given);
  if (stored == Stored::kPlain && is_packed(given.tensor.dtype)) {
    return Error{Code::kUnsupported, "a dump has no " + std::string(name(given.tensor.dtype)) + ": hand it over as " +
                                         std::string(name(widened(given.tensor.dtype).dtype))};
  }
  if (given.tensor.strides != nullptr && stored != Stored::kPlain) {
    return Error{Code::kUnsupported, "packed and complex tensors must be in C order"};
  }
  if (given.tensor.strides != nullptr && given.tensor.strides->shape != given.shape) {
    return Error{Code::kInvalid, "the shapes of the tensor and of its strides differ"};
  }
  PendingTensor tensor;
  tensor.value_count = *values;
  tensor.shape = given.shape;
  tensor.tensor = carrier(given.tensor, stored, tensor.value_count);
  tensor.io = given.io;
  tensor.slot = given.slot;
  tensor.stored = stored;
  tensor.format = device_format || given.is_in_format ? given.format : "DefaultFormat";
  if (tensor.format != "DefaultFormat") tensor.on_host = given.on_host;
  tensor.keep_alive = given.keep_alive;
  tensor.requires_grad = given.requires_grad;
  tensor.faults = given.faults;
  tensor.number = given.number;
  tensor.is_for_event = given.is_for_event;
  if (given.differs_over.data() != nullptr) tensor.differs_over = given.differs_over;
  return tensor;
}

void take_sample(PendingTensor& tensor, std::uint64_t sample_num) {
  if (sample_num == 0 || tensor.value_count <= sample_num) return;
  tensor.value_count = sample_num;
  tensor.shape = {sample_num};
  tensor.on_host = {};
  tensor.tensor = carrier(tensor.tensor, tensor.stored, sample_num);
}

}  // namespace tensorstat

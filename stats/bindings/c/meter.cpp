// Meters, results, streams and partials of <tensorstat/core.h>.
#include <algorithm>
#include <tensorstat/dlpack.hpp>

#include "stats/bindings/c/handles.hpp"
#include "stats/core/meter/tensor/dlpack_structs.hpp"

using namespace tensorstat;
using c::failed;
using c::give;
using c::guarded;
using c::missing;

struct tensorstat_stream {
  Meter::Stream stream;
  Categories categories;
};

namespace tensorstat::c {

tensorstat_code give(Result<Measurements> measured, Categories categories, tensorstat_result** result) {
  if (!measured) return failed(measured.error());
  std::unique_ptr<tensorstat_value[]> values;
  if (std::ranges::any_of(categories, [](Category category) { return kind(category) == ValueKind::kList; })) {
    values = std::make_unique_for_overwrite<tensorstat_value[]>(measured->size() * categories.size());
  }
  auto is_written = std::make_unique<std::atomic<bool>[]>(measured->size());
  *result =
      new tensorstat_result{*std::move(measured), std::move(categories), std::move(values), std::move(is_written)};
  return TENSORSTAT_OK;
}

tensorstat_code give(Result<std::vector<Partial>> folded, tensorstat_partial** partials) {
  if (!folded) return failed(folded.error());
  std::vector<std::unique_ptr<tensorstat_partial>> made;
  for (Partial& each : *folded) made.emplace_back(new tensorstat_partial{std::move(each)});
  for (size_t i = 0; i < made.size(); ++i) partials[i] = made[i].release();
  return TENSORSTAT_OK;
}

}  // namespace tensorstat::c

namespace {

Result<By> by_of(const tensorstat_by* given) {
  const auto by = c::taken<tensorstat_by>(given, TENSORSTAT_BY);
  if (!by) return Error{Code::kInvalid, "the size of tensorstat_by is not set"};
  if ((by->shape == nullptr && by->dimension_count != 0) || (by->axes == nullptr && by->axis_count != 0)) {
    return Error{Code::kInvalid, "the shape or the axes of tensorstat_by are null"};
  }
  return By{.shape = {by->shape, by->shape + by->dimension_count},
            .axes = {by->axes, by->axes + by->axis_count},
            .block_elements = by->block_elements};
}

const Decision* decision(const tensorstat_result* result, size_t tensor, size_t index) {
  if (result == nullptr || tensor >= result->measurements.size()) return nullptr;
  const auto placement = result->measurements[tensor].placement;
  return index < placement.size() ? &placement[index] : nullptr;
}

}  // namespace

tensorstat_code tensorstat_tensor_from_dlpack(const void* dl_tensor, int64_t* stride_bytes, size_t stride_room,
                                              tensorstat_tensor* tensor) {
  return guarded([&]() -> tensorstat_code {
    if (tensor == nullptr) return missing("the tensor to fill");
    Strides strides;
    const auto from = tensor_from_dlpack(dl_tensor, strides);
    if (!from) return failed(from.error());
    tensorstat_tensor to = TENSORSTAT_TENSOR;
    to.dtype = static_cast<int32_t>(from->dtype);
    to.where = static_cast<int32_t>(from->where);
    to.element_count = from->element_count;
    to.address = from->address;
    to.offset_bytes = from->offset_bytes;
    if (from->strides != nullptr) {
      if (stride_bytes == nullptr || stride_room < strides.bytes.size()) {
        return failed({Code::kInvalid, "a strided tensor of " + std::to_string(strides.bytes.size()) +
                                           " dimensions needs room for as many strides"});
      }
      std::ranges::copy(strides.bytes, stride_bytes);
      to.stride_bytes = stride_bytes;
      to.dimension_count = static_cast<uint32_t>(strides.bytes.size());
      // The DLTensor's own shape. The C++ function has checked that no entry is negative.
      to.shape = reinterpret_cast<const uint64_t*>(static_cast<const DlTensor*>(dl_tensor)->shape);
    }
    const size_t room = tensor->size;
    std::memcpy(tensor, &to, std::min(room, sizeof to));
    tensor->size = room;
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_meter_open(const tensorstat_meter_options* options, tensorstat_meter** meter) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr) return missing("the pointer for the meter");
    const auto taken = c::meter_options(options);
    if (!taken) return failed(taken.error());
    *meter = new tensorstat_meter{Meter(*taken)};
    return TENSORSTAT_OK;
  });
}

void tensorstat_meter_close(tensorstat_meter* meter) { c::destroy(meter); }

tensorstat_code tensorstat_measure(tensorstat_meter* meter, const tensorstat_tensor* tensors, size_t tensor_count,
                                   const tensorstat_request* request, tensorstat_result** result) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr || result == nullptr)
      return missing(meter == nullptr ? "the meter" : "the pointer for the result");
    auto taken = c::request_of(request);
    if (!taken) return failed(taken.error());
    c::Tensors list;
    if (const Status status = list.take(tensors, tensor_count); !status) return failed(status.error());
    auto measured = meter->meter.measure(list.all(), *taken);
    return give(std::move(measured), std::move(taken->categories), result);
  });
}

tensorstat_code tensorstat_measure_by(tensorstat_meter* meter, const tensorstat_tensor* tensor, const tensorstat_by* by,
                                      const tensorstat_request* request, tensorstat_result** result) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr || result == nullptr)
      return missing(meter == nullptr ? "the meter" : "the pointer for the result");
    auto taken = c::request_of(request);
    if (!taken) return failed(taken.error());
    const auto rows = by_of(by);
    if (!rows) return failed(rows.error());
    c::Tensors one;
    if (const Status status = one.take(tensor, 1); !status) return failed(status.error());
    auto measured = meter->meter.measure_by(one.all().front(), *rows, *taken);
    return give(std::move(measured), std::move(taken->categories), result);
  });
}

void tensorstat_meter_device_memory(const tensorstat_meter* meter, uint64_t* current_bytes, uint64_t* peak_bytes) {
  const MemoryUse use = meter == nullptr ? MemoryUse{} : meter->meter.device_memory();
  if (current_bytes != nullptr) *current_bytes = use.current_bytes;
  if (peak_bytes != nullptr) *peak_bytes = use.peak_bytes;
}

size_t tensorstat_result_tensor_count(const tensorstat_result* result) {
  return result == nullptr ? 0 : result->measurements.size();
}

size_t tensorstat_result_statistic_count(const tensorstat_result* result) {
  return result == nullptr ? 0 : result->categories.size();
}

int32_t tensorstat_result_statistic(const tensorstat_result* result, size_t index) {
  if (index >= tensorstat_result_statistic_count(result)) return -1;
  return static_cast<int32_t>(result->categories[index]);
}

const tensorstat_value* tensorstat_result_values(const tensorstat_result* result, size_t tensor) {
  if (tensor >= tensorstat_result_tensor_count(result)) return nullptr;
  const std::span<const Value> from = result->measurements[tensor].statistics.values;
  static_assert(sizeof(tensorstat_value) == sizeof(Value) && alignof(tensorstat_value) == alignof(Value));
  auto* const values = result->values != nullptr ? result->values.get() + tensor * from.size()
                                                 : reinterpret_cast<tensorstat_value*>(const_cast<Value*>(from.data()));
  if (!result->is_written[tensor].load(std::memory_order_acquire)) {
    const std::lock_guard alone(result->writing);
    if (!result->is_written[tensor].load(std::memory_order_relaxed)) {
      for (size_t i = 0; i < from.size(); ++i) std::construct_at(values + i, c::value_of(from[i]));
      result->is_written[tensor].store(true, std::memory_order_release);
    }
  }
  return values;
}

// Engine names and reasons are literals or std::strings, so they end with 0.
const char* tensorstat_result_engine(const tensorstat_result* result, size_t tensor, size_t index) {
  const Decision* const choice = decision(result, tensor, index);
  return choice == nullptr ? nullptr : choice->engine.data();
}

const char* tensorstat_result_reason(const tensorstat_result* result, size_t tensor, size_t index) {
  const Decision* const choice = decision(result, tensor, index);
  return choice == nullptr ? nullptr : choice->reason.data();
}

void tensorstat_result_free(tensorstat_result* result) { c::destroy(result); }

tensorstat_code tensorstat_stream_open(tensorstat_meter* meter, int32_t dtype, const tensorstat_request* request,
                                       tensorstat_stream** stream) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr || stream == nullptr)
      return missing(meter == nullptr ? "the meter" : "the pointer for the stream");
    const auto type = c::dtype_of(dtype);
    if (!type) return failed(type.error());
    auto taken = c::request_of(request);
    if (!taken) return failed(taken.error());
    auto opened = meter->meter.stream(*type, *taken);
    if (!opened) return failed(opened.error());
    *stream = new tensorstat_stream{*std::move(opened), std::move(taken->categories)};
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_stream_append(tensorstat_stream* stream, const void* whole_elements, size_t bytes) {
  return tensorstat_stream_append_last(stream, whole_elements, bytes, 0);
}

tensorstat_code tensorstat_stream_append_last(tensorstat_stream* stream, const void* bytes, size_t byte_count,
                                              uint32_t unused_elements) {
  return guarded([&]() -> tensorstat_code {
    if (stream == nullptr || (bytes == nullptr && byte_count != 0)) {
      return missing(stream == nullptr ? "the stream" : "the address of the elements");
    }
    const Status status = stream->stream.append({static_cast<const std::byte*>(bytes), byte_count}, unused_elements);
    return status ? TENSORSTAT_OK : failed(status.error());
  });
}

tensorstat_code tensorstat_stream_finish(tensorstat_stream* stream, tensorstat_result** result) {
  return guarded([&]() -> tensorstat_code {
    if (stream == nullptr || result == nullptr)
      return missing(stream == nullptr ? "the stream" : "the pointer for the result");
    return give(stream->stream.finish(), stream->categories, result);
  });
}

void tensorstat_stream_close(tensorstat_stream* stream) { c::destroy(stream); }

tensorstat_code tensorstat_fold(tensorstat_meter* meter, const tensorstat_tensor* tensors, size_t tensor_count,
                                const tensorstat_request* request, tensorstat_partial** partials) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr || (partials == nullptr && tensor_count != 0)) {
      return missing(meter == nullptr ? "the meter" : "the pointer for the partials");
    }
    const auto taken = c::request_of(request);
    if (!taken) return failed(taken.error());
    c::Tensors list;
    if (const Status status = list.take(tensors, tensor_count); !status) return failed(status.error());
    return give(meter->meter.fold(list.all(), *taken), partials);
  });
}

void tensorstat_partial_free(tensorstat_partial* partial) { c::destroy(partial); }

tensorstat_code tensorstat_partial_merge(tensorstat_partial* into, const tensorstat_partial* other) {
  return guarded([&]() -> tensorstat_code {
    if (into == nullptr || other == nullptr) return missing("a partial");
    const Status status = into->partial.merge(other->partial);
    into->is_list_current = false;
    return status ? TENSORSTAT_OK : failed(status.error());
  });
}

tensorstat_code tensorstat_partial_move_to(tensorstat_partial* partial, uint64_t first_element) {
  return guarded([&]() -> tensorstat_code {
    if (partial == nullptr) return missing("the partial");
    const Status status = partial->partial.move_to(first_element);
    partial->is_list_current = false;
    return status ? TENSORSTAT_OK : failed(status.error());
  });
}

tensorstat_code tensorstat_partial_finish(const tensorstat_partial* partial, int32_t statistic,
                                          tensorstat_value* value) {
  return guarded([&]() -> tensorstat_code {
    if (partial == nullptr || value == nullptr)
      return missing(partial == nullptr ? "the partial" : "the pointer for the value");
    if (statistic < 0 || !is_category(static_cast<std::uint32_t>(statistic))) {
      return failed({Code::kInvalid, "statistic " + std::to_string(statistic) +
                                         " does not exist; tensorstat_statistic_named gives the number of a name"});
    }
    const auto category = static_cast<Category>(statistic);
    if (category != Category::kExponents) {
      *value = c::value_of(partial->partial.finish(category));
      return TENSORSTAT_OK;
    }
    const std::lock_guard alone(partial->making);
    if (!partial->is_list_current) partial->list = partial->partial.finish(category);
    partial->is_list_current = true;
    *value = c::value_of(partial->list);
    return TENSORSTAT_OK;
  });
}

int tensorstat_partial_keeps(const tensorstat_partial* partial, int32_t statistic) {
  if (partial == nullptr || statistic < 0 || !is_category(static_cast<std::uint32_t>(statistic))) return 0;
  return partial->partial.keeps(static_cast<Category>(statistic));
}

tensorstat_code tensorstat_partial_serialize(const tensorstat_partial* partial, void* to, size_t room, size_t* bytes) {
  return guarded([&]() -> tensorstat_code {
    if (partial == nullptr || bytes == nullptr)
      return missing(partial == nullptr ? "the partial" : "the pointer for the size");
    return c::copy_out(partial->partial.serialize(), "a serialised partial", to, room, bytes);
  });
}

tensorstat_code tensorstat_partial_parse(const void* from, size_t bytes, tensorstat_partial** partial) {
  return guarded([&]() -> tensorstat_code {
    if (from == nullptr || partial == nullptr)
      return missing(from == nullptr ? "the serialised partial" : "the pointer for the partial");
    auto parsed = Partial::parse({static_cast<const std::byte*>(from), bytes});
    if (!parsed) return failed(parsed.error());
    *partial = new tensorstat_partial{*std::move(parsed)};
    return TENSORSTAT_OK;
  });
}

// Streams and partials. A stream is used by one thread at a time: the package's Python sees to it. Partials are small,
// and nothing of theirs gives the GIL up.
#include "stats/bindings/python/native/measured.hpp"

namespace tensorstat::python {
namespace {

// open_stream(meter, dtype, request) -> a stream
PyObject* open_stream(PyObject*, PyObject* arguments) {
  PyObject *meter = nullptr, *capsule = nullptr;
  const char* dtype = nullptr;
  if (PyArg_ParseTuple(arguments, "OsO", &meter, &dtype, &capsule) == 0) return nullptr;
  const Request* const asked = request_of(capsule);
  tensorstat_meter* const handle = handle_of<tensorstat_meter>(meter);
  if (asked == nullptr || handle == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    const std::int32_t number = dtype_number(dtype, "a stream");
    tensorstat_stream* stream = nullptr;
    return number >= 0 && call([&] { return tensorstat_stream_open(handle, number, &asked->request, &stream); })
               ? capsule_of(stream)
               : nullptr;
  });
}

// stream_append(stream, piece, unused, dtype) -> its bytes
PyObject* stream_append(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *piece = nullptr;
  const char* dtype = nullptr;
  Whole32 unused{"unused"};
  if (PyArg_ParseTuple(arguments, "OOO&s", &capsule, &piece, whole32, &unused, &dtype) == 0) return nullptr;
  tensorstat_stream* const stream = handle_of<tensorstat_stream>(capsule);
  if (stream == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    Views views;
    if (!views.add(piece)) return nullptr;
    const tensorstat_tensor& tensor = views.tensors().front();
    if (tensor.stride_bytes != nullptr || tensor.where != TENSORSTAT_HOST) {
      return raise(TENSORSTAT_INVALID,
                   "a piece of a stream lies in host memory in C order; "
                   "numpy.ascontiguousarray(piece) makes it so");
    }
    if (!views.last_is_bytes() && tensor.dtype != tensorstat_dtype_named(dtype)) {
      return raise(TENSORSTAT_INVALID, std::string("a piece of ") + tensorstat_dtype_name(tensor.dtype) +
                                           " does not fit a stream of " + dtype +
                                           ": cast it first, or append its bytes where they are the stream's elements");
    }
    const std::uint64_t shared = tensorstat_dtype_elements_a_byte(tensor.dtype);
    const std::uint64_t bytes = (tensor.element_count + shared - 1) / shared * tensorstat_dtype_bytes(tensor.dtype);
    tensorstat_code code = TENSORSTAT_OK;
    const bool done =
        call([&] { return code = tensorstat_stream_append_last(stream, tensor.address, bytes, unused.value); });
    if (code == TENSORSTAT_IN_USE) views.keep_for_ever();
    return done ? PyLong_FromUnsignedLongLong(bytes) : nullptr;
  });
}

// stream_finish(stream, dtype, elements, request) -> Statistics
PyObject* stream_finish(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *asked_capsule = nullptr;
  const char* dtype = nullptr;
  Whole64 elements{"the elements"};
  if (PyArg_ParseTuple(arguments, "OsO&O", &capsule, &dtype, whole64, &elements, &asked_capsule) == 0) return nullptr;
  tensorstat_stream* const stream = handle_of<tensorstat_stream>(capsule);
  const Request* const asked = request_of(asked_capsule);
  if (stream == nullptr || asked == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    tensorstat_result* result = nullptr;
    if (!call([&] { return tensorstat_stream_finish(stream, &result); })) return nullptr;
    Shapes shapes;
    shapes.add(&elements.value, 1);
    const Ref batch = batch_of(result, *asked, {tensorstat_dtype_named(dtype)}, std::move(shapes));
    return batch ? statistics_of(batch.get(), 0) : nullptr;
  });
}

// partial_merge(into, other)
PyObject* partial_merge(PyObject*, PyObject* arguments) {
  PyObject *into = nullptr, *other = nullptr;
  if (PyArg_ParseTuple(arguments, "OO", &into, &other) == 0) return nullptr;
  tensorstat_partial* const to = handle_of<tensorstat_partial>(into);
  const tensorstat_partial* const from = handle_of<tensorstat_partial>(other);
  if (to == nullptr || from == nullptr) return nullptr;
  if (const tensorstat_code code = tensorstat_partial_merge(to, from)) return raise(code);
  return Py_NewRef(Py_None);
}

// partial_move_to(partial, first_element)
PyObject* partial_move_to(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  Whole64 first{"first_element"};
  if (PyArg_ParseTuple(arguments, "OO&", &capsule, whole64, &first) == 0) return nullptr;
  tensorstat_partial* const partial = handle_of<tensorstat_partial>(capsule);
  if (partial == nullptr) return nullptr;
  if (const tensorstat_code code = tensorstat_partial_move_to(partial, first.value)) return raise(code);
  return Py_NewRef(Py_None);
}

// partial_finish(partial, request) -> Statistics
PyObject* partial_finish(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *asked_capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "OO", &capsule, &asked_capsule) == 0) return nullptr;
  const tensorstat_partial* const partial = handle_of<tensorstat_partial>(capsule);
  const Request* const asked = request_of(asked_capsule);
  if (partial == nullptr || asked == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    std::string missing;
    for (const std::int32_t number : asked->numbers) {
      if (tensorstat_partial_keeps(partial, number) != 0) continue;
      missing += (missing.empty() ? "" : ", ") + std::string(tensorstat_statistic_name(number));
    }
    if (!missing.empty())
      return raise(TENSORSTAT_INVALID, "the partial does not keep what " + missing + " needs: name it in fold()");
    std::vector<tensorstat_value> values(asked->numbers.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (const auto code = tensorstat_partial_finish(partial, asked->numbers[i], &values[i])) return raise(code);
    }
    return statistics_of(*asked, values.data());
  });
}

// partial_serialize(partial) -> bytes
PyObject* partial_serialize(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  const tensorstat_partial* const partial = handle_of<tensorstat_partial>(capsule);
  if (partial == nullptr) return nullptr;
  std::size_t size = 0;
  if (const auto code = tensorstat_partial_serialize(partial, nullptr, 0, &size)) return raise(code);
  Ref bytes(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!bytes) return nullptr;
  if (const auto code = tensorstat_partial_serialize(partial, PyBytes_AsString(bytes.get()), size, &size))
    return raise(code);
  return bytes.release();
}

// partial_parse(bytes) -> a partial
PyObject* partial_parse(PyObject*, PyObject* arguments) {
  Py_buffer from;
  if (PyArg_ParseTuple(arguments, "y*", &from) == 0) return nullptr;
  tensorstat_partial* partial = nullptr;
  const auto code = tensorstat_partial_parse(from.buf, static_cast<std::size_t>(from.len), &partial);
  PyBuffer_Release(&from);
  return code == TENSORSTAT_OK ? capsule_of(partial) : raise(code);
}

}  // namespace

PyMethodDef part_functions[] = {
    TENSORSTAT_METHOD(open_stream, "open_stream(meter, dtype, request)"),
    TENSORSTAT_METHOD(stream_append, "stream_append(stream, piece, unused, dtype): its bytes"),
    TENSORSTAT_METHOD(stream_finish, "stream_finish(stream, dtype, elements, request): Statistics"),
    TENSORSTAT_METHOD(partial_merge, "partial_merge(into, other)"),
    TENSORSTAT_METHOD(partial_move_to, "partial_move_to(partial, first_element)"),
    TENSORSTAT_METHOD(partial_finish, "partial_finish(partial, request): Statistics"),
    TENSORSTAT_METHOD(partial_serialize, "partial_serialize(partial): bytes"),
    TENSORSTAT_METHOD(partial_parse, "partial_parse(bytes): a partial"),
    {}};

}  // namespace tensorstat::python

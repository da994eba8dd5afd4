// Requests, meters, and their results.
#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "stats/bindings/python/native/measured.hpp"

namespace tensorstat::python {
namespace {

// request(names, precision, on, cast_scale) -> a Request
PyObject* request(PyObject*, PyObject* arguments) {
  const char* names = nullptr;
  tensorstat_request asked = TENSORSTAT_REQUEST;
  if (PyArg_ParseTuple(arguments, "siid", &names, &asked.precision, &asked.on, &asked.cast_scale) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    auto made = std::make_unique<Request>(Request{names, asked, {}, std::vector<std::int32_t>(256)});
    made->request.statistics = made->statistics.c_str();
    std::size_t count = 0;
    if (const auto code = tensorstat_statistics_named(names, made->numbers.data(), made->numbers.size(), &count)) {
      return raise(code);
    }
    made->numbers.resize(count);
    made->names = Ref(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t i = 0; made->names && i < count; ++i) {
      PyObject* const name = PyUnicode_InternFromString(tensorstat_statistic_name(made->numbers[i]));
      if (name == nullptr || PyTuple_SetItem(made->names.get(), static_cast<Py_ssize_t>(i), name) != 0) return nullptr;
    }
    return made->names ? capsule_holding(std::move(made)).release() : nullptr;
  });
}

PyObject* request_names(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  const Request* const asked = request_of(capsule);
  return asked == nullptr ? nullptr : Py_NewRef(asked->names.get());
}

// open_meter(budget_bytes, platform, device, queue, threads) -> a meter
PyObject* open_meter(PyObject*, PyObject* arguments) {
  tensorstat_meter_options options = TENSORSTAT_METER_OPTIONS;
  Whole64 budget{"budget_bytes"}, queue{"queue"};
  Whole32 threads{"threads"};
  if (PyArg_ParseTuple(arguments, "O&iiO&O&", whole64, &budget, &options.platform, &options.device, whole64, &queue,
                       whole32, &threads) == 0) {
    return nullptr;
  }
  options.budget_bytes = budget.value;
  options.queue = reinterpret_cast<void*>(queue.value);
  options.thread_count = threads.value;
  options.log = keep_words;
  tensorstat_meter* meter = nullptr;
  return call([&] { return tensorstat_meter_open(&options, &meter); }) ? capsule_of(meter) : nullptr;
}

// Calls `library` on tensors. Tensors that a failed device may still read are kept.
template <typename Call>
bool call_on(Views& views, const Call& library) {
  tensorstat_code code = TENSORSTAT_OK;
  const bool done = call([&] { return code = library(); });
  if (code == TENSORSTAT_IN_USE) views.keep_for_ever();
  return done;
}

// The capsule of the meter on which the tensors of a PyOpenCL queue are measured. `owner` is the package's Meter.
Ref meter_of(PyObject* owner, PyObject* queue) { return Ref(PyObject_CallMethod(owner, "_on", "O", queue)); }

// Measures tensors, which belong to `views`, in one batch, and appends the results to `statistics`.
bool measure_batch(PyObject* owner, PyObject* queue, Views& views, std::span<const tensorstat_tensor> tensors,
                   Shapes shapes, const Request& asked, std::vector<Ref>& statistics) {
  const Ref meter = meter_of(owner, queue == nullptr ? Py_None : queue);
  tensorstat_meter* const handle = meter ? handle_of<tensorstat_meter>(meter.get()) : nullptr;
  if (handle == nullptr) return false;
  tensorstat_result* result = nullptr;
  if (!call_on(views,
               [&] { return tensorstat_measure(handle, tensors.data(), tensors.size(), &asked.request, &result); })) {
    return false;
  }
  std::vector<std::int32_t> dtypes;
  dtypes.reserve(tensors.size());
  for (const tensorstat_tensor& tensor : tensors) dtypes.push_back(tensor.dtype);
  const Ref batch = batch_of(result, asked, std::move(dtypes), std::move(shapes));
  for (std::size_t i = 0; batch && i < tensors.size(); ++i) {
    statistics.emplace_back(statistics_of(batch.get(), i));
    if (!statistics.back()) return false;
  }
  return static_cast<bool>(batch);
}

// Exchanges the words of a tensorstat.Error that is set; `rewording` makes the new ones. Leaves any other exception.
template <typename Rewording>
void retell_error(const Rewording& rewording) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Ref held_type(type), held_value(value), held_trace(trace);
  const Ref code(PyObject_IsInstance(value, connected.error) == 1 ? PyObject_GetAttrString(value, "code") : nullptr);
  const Ref words(code ? PyObject_Str(value) : nullptr);
  const char* const text = words ? PyUnicode_AsUTF8AndSize(words.get(), nullptr) : nullptr;
  const std::string retold = text == nullptr ? "" : rewording(std::string_view(text));
  const Ref error(text == nullptr ? nullptr : PyObject_CallFunction(connected.error, "sO", retold.c_str(), code.get()));
  if (error) {
    PyErr_SetObject(connected.error, error.get());
  } else if (PyErr_Occurred() == nullptr) {
    PyErr_SetObject(type, value);
  }
}

// The library's errors have a tensor's number in its batch. Puts the caller's number in its place: which[number].
void number_as(const std::vector<std::size_t>& which) {
  retell_error([&](std::string_view words) {
    constexpr std::string_view kTensor = "tensor ";
    std::size_t number = 0;
    const bool is_numbered = words.starts_with(kTensor);
    const char* const end = words.data() + words.size();
    const auto read =
        is_numbered ? std::from_chars(words.data() + kTensor.size(), end, number) : std::from_chars_result{};
    if (!is_numbered || read.ec != std::errc() || number >= which.size()) return std::string(words);
    return std::string(kTensor) + std::to_string(which[number]) + std::string(read.ptr, end);
  });
}

// One batch, but for tensors on PyOpenCL queues: the tensors of each are one of their own.
bool measure_all(PyObject* owner, Views& views, const Request& asked, std::vector<Ref>& statistics) {
  const std::size_t count = views.tensors().size();
  statistics.reserve(count);
  if (count == 0) return true;
  if (!views.any_queue()) {
    return measure_batch(owner, nullptr, views, views.tensors(), std::move(views.shapes()), asked, statistics);
  }
  std::map<PyObject*, std::vector<std::size_t>> of_queues;
  for (std::size_t i = 0; i < count; ++i) of_queues[views.queue(i)].push_back(i);
  std::vector<Ref> in_order(count);
  for (const auto& [queue, which] : of_queues) {
    std::vector<tensorstat_tensor> tensors;
    Shapes shapes;
    for (const std::size_t i : which) {
      tensors.push_back(views.tensors()[i]);
      shapes.add(views.shape(i).data(), views.shape(i).size());
    }
    if (!measure_batch(owner, queue, views, tensors, std::move(shapes), asked, statistics)) {
      number_as(which);
      return false;
    }
    for (std::size_t i = 0; i < which.size(); ++i) in_order[which[i]] = std::move(statistics[i]);
    statistics.clear();
  }
  statistics = std::move(in_order);
  return true;
}

bool add_all(PyObject* list, Views& views) {
  const Py_ssize_t count = PySequence_Size(list);
  views.reserve(static_cast<std::size_t>(std::max<Py_ssize_t>(count, 0)));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref x(PySequence_GetItem(list, i));
    if (!x) return false;
    if (!views.add(x.get())) {
      retell_error([&](std::string_view words) { return "tensor " + std::to_string(i) + ": " + std::string(words); });
      return false;
    }
  }
  return count >= 0;
}

// Replaces the values of `dict`. `keys` are its keys, in the order of `values`.
PyObject* filled(Ref dict, PyObject* keys, const std::vector<Ref>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (PyDict_SetItem(dict.get(), PyList_GetItem(keys, static_cast<Py_ssize_t>(i)), values[i].get()) != 0)
      return nullptr;
  }
  return dict.release();
}

PyObject* list_of(std::vector<Ref>& values) {
  Ref list(PyList_New(static_cast<Py_ssize_t>(values.size())));
  for (std::size_t i = 0; list && i < values.size(); ++i) {
    if (PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), values[i].release()) != 0) return nullptr;
  }
  return list.release();
}

// The arguments (meter, x, request); without a request where they are others, and Python knows why.
struct MeterArguments {
  explicit MeterArguments(PyObject* arguments) {
    PyObject* capsule = nullptr;
    if (PyArg_ParseTuple(arguments, "OOO", &owner, &x, &capsule) != 0) request = request_of(capsule);
  }

  PyObject *owner = nullptr, *x = nullptr;
  const Request* request = nullptr;
};

// measure(meter, x, request): x may be a tensor, or a dict, list or tuple of them; `meter` is the package's Meter
PyObject* measure(PyObject*, PyObject* arguments) {
  const MeterArguments given(arguments);
  if (given.request == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    Views views;
    std::vector<Ref> statistics;
    if (PyDict_Check(given.x)) {
      // A snapshot: the tensors' methods may change the dict. A copy has its keys in place already.
      Ref results(PyDict_Copy(given.x));
      const Ref keys(PyDict_Keys(given.x)), values(PyDict_Values(given.x));
      if (!results || !keys || !values || !add_all(values.get(), views) ||
          !measure_all(given.owner, views, *given.request, statistics)) {
        return nullptr;
      }
      return filled(std::move(results), keys.get(), statistics);
    }
    if (PyList_Check(given.x) || PyTuple_Check(given.x)) {
      return add_all(given.x, views) && measure_all(given.owner, views, *given.request, statistics)
                 ? list_of(statistics)
                 : nullptr;
    }
    return views.add(given.x) && measure_all(given.owner, views, *given.request, statistics)
               ? statistics.front().release()
               : nullptr;
  });
}

// A single tensor that is folded, or measured by axis: the view of it, and the meter that works on it.
struct One {
  Views views;
  Ref capsule;
  tensorstat_meter* meter = nullptr;

  bool take(PyObject* owner, PyObject* x) {
    if (!views.add(x)) return false;
    PyObject* const queue = views.queue(0);
    capsule = meter_of(owner, queue == nullptr ? Py_None : queue);
    meter = capsule ? handle_of<tensorstat_meter>(capsule.get()) : nullptr;
    return meter != nullptr;
  }
};

// explain(meter, x, request) -> {name: (engine, reason)}
PyObject* explain(PyObject*, PyObject* arguments) {
  const MeterArguments given(arguments);
  if (given.request == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    One one;
    tensorstat_result* result = nullptr;
    if (!one.take(given.owner, given.x) || !call_on(one.views, [&] {
          return tensorstat_measure(one.meter, one.views.tensors().data(), 1, &given.request->request, &result);
        })) {
      return nullptr;
    }
    const std::unique_ptr<tensorstat_result, decltype(&tensorstat_result_free)> owner(result, tensorstat_result_free);
    Ref reasons(PyDict_New());
    for (std::size_t i = 0; reasons && i < given.request->numbers.size(); ++i) {
      const Ref why(
          Py_BuildValue("(ss)", tensorstat_result_engine(result, 0, i), tensorstat_result_reason(result, 0, i)));
      PyObject* const name = PyTuple_GetItem(given.request->names.get(), static_cast<Py_ssize_t>(i));
      if (!why || PyDict_SetItem(reasons.get(), name, why.get()) != 0) return nullptr;
    }
    return reasons.release();
  });
}

// The shape of a row, from the tensor's: without the kept axes, or one block. The last block may be shorter.
std::vector<std::uint64_t> shape_of_row(std::span<const std::uint64_t> shape, std::span<const std::int64_t> axes,
                                        std::uint64_t block_elements, std::uint64_t elements, std::size_t row) {
  if (block_elements != 0) return {std::min(block_elements, elements - row * block_elements)};
  std::vector<std::uint64_t> left;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    if (std::ranges::count(axes, axis) + std::ranges::count(axes, axis - std::ssize(shape)) == 0)
      left.push_back(shape[i]);
  }
  return left;
}

// measure_by(meter, x, request, axes, block_elements) -> a list of Statistics
PyObject* measure_by(PyObject*, PyObject* arguments) {
  PyObject *owner = nullptr, *x = nullptr, *capsule = nullptr, *kept = nullptr;
  Whole64 block{"block"};
  if (PyArg_ParseTuple(arguments, "OOOOO&", &owner, &x, &capsule, &kept, whole64, &block) == 0) return nullptr;
  const Request* const asked = request_of(capsule);
  if (asked == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<std::int64_t> axes;
    const Py_ssize_t axis_count = PySequence_Size(kept);
    for (Py_ssize_t i = 0; i < axis_count; ++i) {
      const Ref axis(PySequence_GetItem(kept, i));
      axes.push_back(axis ? PyLong_AsLongLong(axis.get()) : -1);
      if (PyErr_Occurred() != nullptr) return nullptr;
    }
    One one;
    if (!one.take(owner, x)) return nullptr;
    const auto shape = one.views.shape(0);
    const tensorstat_tensor& tensor = one.views.tensors().front();
    tensorstat_by by = TENSORSTAT_BY;
    by.dimension_count = static_cast<std::uint32_t>(shape.size());
    by.shape = shape.data();
    by.axis_count = static_cast<std::uint32_t>(axes.size());
    by.axes = axes.data();
    by.block_elements = block.value;
    tensorstat_result* result = nullptr;
    if (!call_on(one.views, [&] { return tensorstat_measure_by(one.meter, &tensor, &by, &asked->request, &result); })) {
      return nullptr;
    }
    const std::size_t rows = tensorstat_result_tensor_count(result);
    Shapes shapes;
    for (std::size_t i = 0; i < rows; ++i) {
      const auto row = shape_of_row(shape, axes, block.value, tensor.element_count, i);
      shapes.add(row.data(), row.size());
    }
    const Ref batch = batch_of(result, *asked, std::vector<std::int32_t>(rows, tensor.dtype), std::move(shapes));
    std::vector<Ref> statistics;
    for (std::size_t i = 0; batch && i < rows; ++i) {
      statistics.emplace_back(statistics_of(batch.get(), i));
      if (!statistics.back()) return nullptr;
    }
    return batch ? list_of(statistics) : nullptr;
  });
}

// fold(meter, x, request) -> a partial
PyObject* fold(PyObject*, PyObject* arguments) {
  const MeterArguments given(arguments);
  if (given.request == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    One one;
    tensorstat_partial* partial = nullptr;
    return one.take(given.owner, given.x) && call_on(one.views,
                                                     [&] {
                                                       return tensorstat_fold(one.meter, one.views.tensors().data(), 1,
                                                                              &given.request->request, &partial);
                                                     })
               ? capsule_of(partial)
               : nullptr;
  });
}

// compare(meter, a, b, rtol, atol, scale, on) -> {name: number}
PyObject* compare(PyObject*, PyObject* arguments) {
  PyObject *owner = nullptr, *a = nullptr, *b = nullptr;
  tensorstat_pair_request request = TENSORSTAT_PAIR_REQUEST;
  if (PyArg_ParseTuple(arguments, "OOOddii", &owner, &a, &b, &request.rtol, &request.atol, &request.scale,
                       &request.on) == 0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    Views views;
    if (!views.add(a) || !views.add(b)) return nullptr;
    PyObject *const queue_a = views.queue(0), *const queue_b = views.queue(1);
    PyObject* const queue = queue_a != nullptr ? queue_a : queue_b != nullptr ? queue_b : Py_None;
    const Ref meter = meter_of(owner, queue);
    tensorstat_meter* const handle = meter ? handle_of<tensorstat_meter>(meter.get()) : nullptr;
    if (handle == nullptr) return nullptr;
    if (!std::ranges::equal(views.shape(0), views.shape(1))) {
      return raise(TENSORSTAT_INVALID, "two arrays of different shapes cannot be compared element by element");
    }
    const tensorstat_tensor* const both = views.tensors().data();
    tensorstat_pair* given = nullptr;
    if (!call_on(views, [&] { return tensorstat_compare(handle, both, both + 1, 1, &request, &given); }))
      return nullptr;
    const std::unique_ptr<tensorstat_pair, decltype(&tensorstat_pair_free)> pair(given, tensorstat_pair_free);
    Ref values(PyDict_New());
    for (std::int32_t i = 0; values && tensorstat_pair_statistic_name(i) != nullptr; ++i) {
      tensorstat_value value;
      if (const auto code = tensorstat_pair_finish(pair.get(), i, &value)) return raise(code);
      const Ref number(number_of(value));
      if (!number || PyDict_SetItemString(values.get(), tensorstat_pair_statistic_name(i), number.get()) != 0)
        return nullptr;
    }
    return values.release();
  });
}

// device_memory(meter) -> (bytes now, most bytes)
PyObject* device_memory(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  tensorstat_meter* const meter = handle_of<tensorstat_meter>(capsule);
  if (meter == nullptr) return nullptr;
  std::uint64_t now = 0, most = 0;
  tensorstat_meter_device_memory(meter, &now, &most);
  return Py_BuildValue("(KK)", static_cast<unsigned long long>(now), static_cast<unsigned long long>(most));
}

}  // namespace

PyMethodDef meter_functions[] = {
    TENSORSTAT_METHOD(request, "request(names, precision, on, cast_scale)"),
    TENSORSTAT_METHOD(request_names, "request_names(request): a tuple of the catalog's names, each once"),
    TENSORSTAT_METHOD(open_meter, "open_meter(budget_bytes, platform, device, queue, threads)"),
    TENSORSTAT_METHOD(measure, "measure(meter, x, request)"),
    TENSORSTAT_METHOD(explain, "explain(meter, x, request): {name: (engine, reason)}"),
    TENSORSTAT_METHOD(measure_by, "measure_by(meter, x, request, axes, block_elements): a list of Statistics"),
    TENSORSTAT_METHOD(fold, "fold(meter, x, request): a partial"),
    TENSORSTAT_METHOD(compare, "compare(meter, a, b, rtol, atol, scale, on): {name: number}"),
    TENSORSTAT_METHOD(device_memory, "device_memory(meter): (bytes now, most bytes)"),
    {}};

}  // namespace tensorstat::python

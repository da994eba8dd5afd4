// Rows of statistics as Python's dicts.
#pragma once

#include <string>

#include "stats/bindings/python/native/measured.hpp"

namespace tensorstat::python {

// Texts in a file may be invalid UTF-8.
inline Ref text_of(const char* text) {
  return Ref(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::char_traits<char>::length(text)), "replace"));
}
inline Ref whole_of(std::uint64_t number) { return Ref(PyLong_FromUnsignedLongLong(number)); }

// {"op type": "Conv2D", ..., "max": 1.5, ...}
inline Ref dict_of(const tensorstat_row& row) {
  Ref dict(PyDict_New());
  bool is_whole = static_cast<bool>(dict);
  const auto add = [&](const char* name, const Ref& value) {
    is_whole = is_whole && value && PyDict_SetItemString(dict.get(), name, value.get()) == 0;
  };
  add("op type", text_of(row.op_type));
  add("op name", text_of(row.op_name));
  add("task id", whole_of(row.task_id));
  add("stream id", whole_of(row.stream_id));
  add("timestamp", whole_of(row.timestamp_us));
  add("io", text_of(row.io));
  add("slot", whole_of(row.slot));
  add("data size", whole_of(row.data_size_bytes));
  add("data type", text_of(row.data_type));
  add("shape", Ref(shape_of({row.shape, row.dimension_count})));
  for (std::uint32_t i = 0; i < row.value_count; ++i) {
    add(tensorstat_statistic_name(row.statistics[i]), Ref(number_of(row.values[i])));
  }
  for (std::uint32_t i = 0; i < row.cell_count; ++i) {
    add(row.cells[i].name, row.cells[i].text != nullptr ? text_of(row.cells[i].text) : whole_of(row.cells[i].whole));
  }
  return is_whole ? std::move(dict) : Ref();
}

// Takes rows that the library hands out. The GIL is had for each row, which is as long as making its objects takes.
struct TakenRows {
  Ref rows{PyList_New(0)};

  // `library` is called without the GIL, with a callback and its context.
  template <typename Library>
  tensorstat_code read(const Library& library) {
    if (!rows) return TENSORSTAT_OUT_OF_MEMORY;
    state_ = PyEval_SaveThread();
    const tensorstat_code code = library(&TakenRows::take, this);
    take_gil(state_);
    return code;
  }

 private:
  static int take(void* context, const tensorstat_row* row) {
    auto& to = *static_cast<TakenRows*>(context);
    take_gil(to.state_);
    bool is_taken = false;
    {
      const Ref dict = dict_of(*row);
      is_taken = dict && PyList_Append(to.rows.get(), dict.get()) == 0;
    }
    to.state_ = PyEval_SaveThread();
    return is_taken ? 0 : 1;
  }

  PyThreadState* state_ = nullptr;
};

}  // namespace tensorstat::python

#include "stats/bindings/python/native/views.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "stats/bindings/python/native/holder.hpp"
#include "stats/bindings/python/native/numpy_layout.hpp"
#include "stats/bindings/python/native/without_elements.hpp"
#include "stats/core/meter/tensor/dlpack_structs.hpp"

namespace tensorstat::python {
namespace {

// Names that are looked up in every tensor.
struct Names {
  static PyObject* of(const char* text) { return PyUnicode_InternFromString(text); }
  PyObject* const data_ptr = of("data_ptr");
  PyObject* const dtype = of("dtype");
  PyObject* const is_contiguous = of("is_contiguous");
  PyObject* const is_cpu = of("is_cpu");
  PyObject* const element_size = of("element_size");
  PyObject* const is_neg = of("is_neg");
  PyObject* const nbytes = of("nbytes");
  PyObject* const numel = of("numel");
  PyObject* const shape = of("shape");
  PyObject* const storage = of("untyped_storage");
  PyObject* const storage_before_2 = of("_storage");
  PyObject* const storage_offset = of("storage_offset");
  PyObject* const stride = of("stride");
};
const Names& names() {
  static const Names all;
  return all;
}

// Two elements in a byte, the first one in the low half (torch/headeronly/util/Float4_e2m1fn_x2.h).
constexpr const char* kTorchFloat4 = "float4_e2m1fn_x2";
// DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED in dlpack.h, version 1.2.
constexpr std::uint64_t kDlSubbyteIsPadded = 4;

bool refuse_big_endian(const char* what) {
  return refuse(std::string(what) +
                " of big-endian numbers cannot be read; .astype of the native order makes it readable");
}

// Whether elements of a numpy.ma.MaskedArray are masked; it is refused then. One in which nothing is masked is an
// array.
bool refuse_masked(PyObject* x) {
  const Ref mask = attribute(x, "mask"), any(mask ? PyObject_CallMethod(mask.get(), "any", nullptr) : nullptr);
  const int is_masked = any ? PyObject_IsTrue(any.get()) : 1;
  if (is_masked == 0) return false;
  PyErr_Clear();
  refuse(
      "an array with masked elements cannot be measured: x.compressed() leaves them out, x.filled(value) gives them a "
      "value, "
      "x.data has what is below the mask");
  return true;
}

// The dtype of "int" and 4 bytes and the like; asked for often, and looked up by name once.
std::int32_t number_of_kind(char kind, int bytes) {
  static const auto all = [] {
    std::array<std::array<std::int32_t, 9>, 128> numbers;
    for (auto& of_kind : numbers) of_kind.fill(-1);
    numbers['b'][1] = tensorstat_dtype_named("bool");
    for (const auto& [letter, name] : {std::pair{'i', "int"}, {'u', "uint"}, {'f', "float"}}) {
      for (const int size : {1, 2, 4, 8}) {
        numbers[static_cast<unsigned char>(letter)][size] =
            tensorstat_dtype_named((name + std::to_string(8 * size)).c_str());
      }
    }
    return numbers;
  }();
  return kind > 0 && bytes > 0 && bytes <= 8 ? all[static_cast<unsigned char>(kind)][bytes] : -1;
}

constexpr std::size_t kMostDimensions = 64;

tensorstat_tensor tensor_of(std::int32_t dtype, const void* address) {
  tensorstat_tensor tensor = TENSORSTAT_TENSOR;
  tensor.dtype = dtype;
  tensor.address = address;
  return tensor;
}

std::uint64_t product(std::span<const std::uint64_t> shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t length : shape) count *= length;
  return count;
}

// TENSORSTAT_CUDA or TENSORSTAT_ROCM; -1 of what does not say that it is there. Managed memory is CUDA's.
std::int32_t gpu_of(PyObject* x) {
  const Ref device = result_of(x, "__dlpack_device__");
  const Ref type(device ? PySequence_GetItem(device.get(), 0) : nullptr);
  const long number = type ? PyLong_AsLong(type.get()) : -1;  // DLDeviceType
  PyErr_Clear();
  return number == 2 || number == 13 ? TENSORSTAT_CUDA : number == 10 ? TENSORSTAT_ROCM : -1;
}

// The stream on which PyTorch puts the work of a tensor's device now; of ROCm, too, in spite of its name.
bool take_torch_stream(PyObject* x, tensorstat_tensor& tensor) {
  const Ref torch(PyImport_ImportModule("torch.cuda")), device = attribute(x, "device");
  if (!torch || !device) return false;
  const Ref stream(PyObject_CallMethod(torch.get(), "current_stream", "O", device.get()));
  const Ref handle = stream ? attribute(stream.get(), "cuda_stream") : Ref();
  if (handle) tensor.stream = PyLong_AsVoidPtr(handle.get());
  return PyErr_Occurred() == nullptr;
}

// Calls a method without arguments. Returns the whole number that it gives, or -1.
std::int64_t number_from(PyObject* x, PyObject* method) {
  const Ref number = result_of(x, method);
  const std::int64_t value = number ? PyLong_AsLongLong(number.get()) : -1;
  if (PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  return -1;
}

bool refuse_freed() {
  return refuse("a torch.Tensor whose memory was freed cannot be read; measure it while its storage is there");
}

bool numbers_of(PyObject* tuple, std::vector<std::int64_t>& numbers) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  for (Py_ssize_t i = 0; i < count; ++i) numbers.push_back(PyLong_AsLongLong(PyTuple_GetItem(tuple, i)));
  return !PyErr_Occurred();
}

// Returns how many elements of its storage a torch.Tensor spans, or -1 if it has no strides.
std::int64_t reach_of(PyObject* x, bool is_contiguous) {
  if (is_contiguous) return number_from(x, names().numel);
  const Ref shape = attribute(x, names().shape), steps = result_of(x, names().stride);
  std::vector<std::int64_t> lengths, strides;
  if (!shape || !steps || !numbers_of(shape.get(), lengths) || !numbers_of(steps.get(), strides) ||
      lengths.size() != strides.size()) {
    PyErr_Clear();
    return -1;
  }
  std::int64_t last = 0;  // torch has seen that the storage had them all, so that this fits
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] == 0) return 0;
    last += (lengths[i] - 1) * strides[i];
  }
  return last + 1;
}

bool ends_behind_storage(PyObject* x, bool is_contiguous, std::int64_t element_bytes) {
  static PyObject* const method =
      PyObject_HasAttr(x, names().storage) != 0 ? names().storage : names().storage_before_2;
  const Ref storage = result_of(x, method);
  PyErr_Clear();
  const std::int64_t bytes = storage ? number_from(storage.get(), names().nbytes) : -1;
  const std::int64_t reach = bytes < 0 || element_bytes <= 0 ? -1 : reach_of(x, is_contiguous);
  return reach > 0 && number_from(x, names().storage_offset) + reach > bytes / element_bytes;
}

}  // namespace

bool is_freed(PyObject* x) {
  const Ref in_order = result_of(x, names().is_contiguous);
  PyErr_Clear();
  return ends_behind_storage(x, in_order && in_order.get() == Py_True, number_from(x, names().element_size));
}

// Copied, with the shape: their owner may change them while the GIL is given up.
void Views::set_strides(tensorstat_tensor& tensor, const void* stride_bytes) {
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "strides are read as 64-bit numbers");
  const auto shape = shapes_[tensors_.size()];
  const auto* const strides = static_cast<const std::int64_t*>(stride_bytes);
  std::vector<std::int64_t>& kept = numbers_.emplace_back(shape.begin(), shape.end());
  kept.insert(kept.end(), strides, strides + shape.size());
  tensor.dimension_count = static_cast<std::uint32_t>(shape.size());
  tensor.shape = reinterpret_cast<const std::uint64_t*>(kept.data());
  tensor.stride_bytes = kept.data() + shape.size();
}

// Releasing objects may run Python, which must not see the caller's exception.
Views::~Views() {
  if (!is_running()) {
    keep_for_ever();
    return;
  }
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  owners_.clear();
  for (const auto& buffer : buffers_) {
    if (buffer != nullptr) PyBuffer_Release(buffer.get());
  }
  PyErr_Restore(type, value, trace);
}

void Views::reserve(std::size_t tensor_count) {
  tensors_.reserve(tensor_count);
  owners_.reserve(tensor_count);
  shapes_.reserve(tensor_count);
}

void Views::keep_for_ever() {
  for (Ref& owner : owners_) owner.release();
  for (auto& buffer : buffers_) buffer.release();
}

PyObject* Views::queue(std::size_t tensor) const {
  const auto entry = std::ranges::lower_bound(queues_, tensor, {}, [](const auto& each) { return each.first; });
  return entry != queues_.end() && entry->first == tensor ? entry->second.get() : nullptr;
}

bool Views::add(PyObject* x) {
  last_is_bytes_ = false;
  switch (holder_of(x)) {
    case Holder::kTorch:
      return add_torch(x);
    case Holder::kOpenCl:
      return add_opencl(x);
    case Holder::kMasked:
      return !refuse_masked(x) && add_numpy(x);
    case Holder::kNumpy:
      return add_numpy(x);
    case Holder::kDlpack:
      return add_dlpack(x);
    case Holder::kBuffer:
      return add_buffer(x);
  }
  return false;
}

bool Views::add_shape(PyObject* tuple, std::uint64_t* element_count) {
  std::array<std::int64_t, kMostDimensions> lengths;
  const Py_ssize_t count = PyTuple_Size(tuple);
  if (count < 0) return false;
  if (static_cast<std::size_t>(count) > lengths.size()) {
    return refuse("a tensor of " + std::to_string(count) + " dimensions cannot be measured; 64 are possible");
  }
  for (Py_ssize_t i = 0; i < count; ++i) lengths[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
  if (PyErr_Occurred()) return false;
  shapes_.add(lengths.data(), count);
  *element_count = product(shapes_[tensors_.size()]);
  return true;
}

// Its own methods, because its DLPack has no bool, and copies what says of itself that it has to be negated.
bool Views::add_torch(PyObject* x) {
  const Ref on_cpu = attribute(x, names().is_cpu);
  if (!on_cpu) return false;
  const bool is_on_gpu = on_cpu.get() != Py_True;
  const std::int32_t where = is_on_gpu ? gpu_of(x) : TENSORSTAT_HOST;
  if (where < 0) {
    const std::string device = text_of(attribute(x, "device").get());
    if (device == "meta") return refuse("a torch.Tensor on meta has no values");
    return refuse("a torch.Tensor on " + device + " cannot be read; .cpu() makes it readable");
  }
  static PyObject* const known_dtypes = PyDict_New();
  const Ref dtype = attribute(x, names().dtype);
  if (!dtype || known_dtypes == nullptr) return false;
  PyObject* known = PyDict_GetItemWithError(known_dtypes, dtype.get());
  Ref entry;
  if (known == nullptr) {
    std::string name = text_of(dtype.get());
    if (name.starts_with("torch.")) name.erase(0, 6);
    const std::int32_t number = name == kTorchFloat4 ? dtype_number("float4_e2m1fn", "a torch.Tensor")
                                                     : dtype_of_object(name, "a torch.Tensor", ".view(torch.uint8)");
    if (number < 0) return false;
    entry = Ref(PyLong_FromLong(number));
    if (!entry || PyDict_SetItem(known_dtypes, dtype.get(), entry.get()) != 0) return false;
    known = entry.get();
  }
  const auto number = static_cast<std::int32_t>(PyLong_AsLong(known));
  Ref owner = Ref::to(x);
  Ref address = result_of(x, names().data_ptr);
  if (!address) {
    PyErr_Clear();
    return refuse_without_address(x);
  }
  Ref in_order = result_of(x, names().is_contiguous);
  PyErr_Clear();
  if (ends_behind_storage(x, in_order && in_order.get() == Py_True, tensorstat_dtype_bytes(number))) {
    return refuse_freed();
  }
  if (const Ref negative = result_of(x, names().is_neg); negative.get() == Py_True) {
    owner = result_of(x, "resolve_neg");
    if (!owner) return false;
  }
  static const std::int32_t complex64 = tensorstat_dtype_named("complex64"),
                            complex128 = tensorstat_dtype_named("complex128");
  if (number == complex64 || number == complex128) {
    if (const Ref conjugate = result_of(x, "is_conj"); conjugate.get() == Py_True) {
      owner = result_of(owner.get(), "resolve_conj");
      if (!owner) return false;
    }
  }
  const bool is_packed = tensorstat_dtype_elements_a_byte(number) != 1;
  if (owner.get() != x) in_order = result_of(owner.get(), names().is_contiguous);
  // The library reads no strides on a GPU, or of elements that share a byte.
  if ((is_on_gpu || is_packed) && in_order.get() == Py_False) {
    owner = result_of(owner.get(), "contiguous");
    if (!owner) return false;
    in_order = Ref::to(Py_True);
  }
  if (in_order && owner.get() != x) address = result_of(owner.get(), names().data_ptr);
  if (!address || !in_order) {
    PyErr_Clear();
    return refuse_without_address(x);
  }
  tensorstat_tensor tensor = tensor_of(number, PyLong_AsVoidPtr(address.get()));
  tensor.where = where;
  if (is_on_gpu && !take_torch_stream(x, tensor)) return false;
  Ref shape = attribute(x, names().shape);
  if (is_packed && shape) {  // two elements that torch calls one: as in DLPack, a last dimension of 2
    const Ref pair(Py_BuildValue("(i)", 2));
    shape = Ref(pair ? PySequence_Concat(shape.get(), pair.get()) : nullptr);
  }
  if (!shape || !add_shape(shape.get(), &tensor.element_count)) {
    if (is_nested(x)) return refuse("a nested tensor cannot be read; pass its tensors, x.unbind()");
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
    PyErr_Clear();
    return refuse("a " + class_of(x) + " has no fixed shape; pass its tensor x.values()");
  }
  if (tensor.address == nullptr && tensor.element_count != 0) return refuse_without_address(x);
  if (in_order.get() != Py_True && tensor.element_count != 0) {
    const Ref steps = result_of(owner.get(), names().stride);
    std::vector<std::int64_t> strides;
    if (!steps || !numbers_of(steps.get(), strides)) return false;
    for (std::int64_t& stride : strides) stride *= tensorstat_dtype_bytes(tensor.dtype);
    set_strides(tensor, strides.data());
  }
  tensors_.push_back(tensor);
  owners_.push_back(std::move(owner));
  return true;
}

bool Views::add_numpy(PyObject* x) {
  const auto& array = *reinterpret_cast<const NumpyArray*>(x);
  std::int32_t dtype = dtype_of_numpy(array.dtype->number);
  if (dtype < 0) {  // ml_dtypes' types have a name, and numbers of the moment
    const Ref type = attribute(x, names().dtype);
    dtype = dtype_of_object(text_of(type.get()), "an array", ".astype(numpy.int8), or float32 of floats,");
    if (dtype < 0) return false;
  }
  if (array.dtype->byte_order == '>') return refuse_big_endian("an array");
  tensorstat_tensor tensor = tensor_of(dtype, array.data);
  shapes_.add(array.shape, array.dimension_count);
  tensor.element_count = product(shapes_[tensors_.size()]);
  if ((array.flags & kNumpyIsContiguous) == 0 && tensor.element_count != 0) {
    set_strides(tensor, array.stride_bytes);
  }
  tensors_.push_back(tensor);
  owners_.push_back(Ref::to(x));
  return true;
}

// The capsule is never renamed: its own destructor gives the tensor back when it goes.
bool Views::add_dlpack(PyObject* x) {
  // On a GPU the default stream is the one that has to wait for the values: 1 is CUDA's, and 0 is ROCm's.
  const std::int32_t gpu = gpu_of(x);
  const Ref none(PyTuple_New(0)),
      export_it = attribute(x, "__dlpack__"),
      stream(gpu < 0 ? nullptr : Py_BuildValue("{s:i}", "stream", gpu == TENSORSTAT_CUDA ? 1 : 0));
  if (!none || !export_it || PyErr_Occurred() != nullptr) return false;
  owners_.push_back(Ref(PyObject_Call(export_it.get(), none.get(), stream.get())));
  PyObject* const capsule = owners_.back().get();
  if (capsule == nullptr) return false;
  const char* const name = PyCapsule_GetName(capsule);
  const bool is_versioned = name != nullptr && std::string_view(name) == "dltensor_versioned";
  if (name == nullptr || (!is_versioned && std::string_view(name) != "dltensor")) {
    PyErr_Clear();
    return refuse("__dlpack__ of an object of type " + name_of_type(x) + " gives no DLPack tensor");
  }
  const void* const pointer = PyCapsule_GetPointer(capsule, name);
  if (pointer == nullptr) return false;
  const auto* const versioned = is_versioned ? static_cast<const DlManagedTensorVersioned*>(pointer) : nullptr;
  if (versioned != nullptr && versioned->major != 1) {
    return refuse("a tensor of DLPack " + std::to_string(versioned->major) + " cannot be read; 0 and 1 can");
  }
  if (versioned != nullptr && (versioned->flags & kDlSubbyteIsPadded) != 0) {
    return refuse("a DLPack tensor has a byte for each element of fewer than 8 bits, which cannot be measured");
  }
  const DlTensor* const dl_tensor =
      versioned != nullptr ? &versioned->tensor : &static_cast<const DlManagedTensor*>(pointer)->tensor;
  tensorstat_tensor tensor = TENSORSTAT_TENSOR;
  std::vector<std::int64_t>& strides = numbers_.emplace_back(kMostDimensions);
  if (const tensorstat_code code = tensorstat_tensor_from_dlpack(dl_tensor, strides.data(), strides.size(), &tensor)) {
    return raise(code), false;
  }
  std::vector<std::int64_t> shape(dl_tensor->shape, dl_tensor->shape + dl_tensor->dimension_count);
  if (dl_tensor->dtype.lanes == 2) shape.push_back(2);  // of float4: two elements that PyTorch calls one
  shapes_.add(shape.data(), shape.size());
  tensors_.push_back(tensor);
  return true;
}

// bytes, bytearray, array.array, memoryview, mmap.
bool Views::add_buffer(PyObject* x) {
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(x, buffer.get(), PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return refuse("an object of type " + name_of_type(x) +
                  " is no tensor: it has neither __dlpack__ nor the buffer protocol. numpy.asarray(x) makes "
                  "one of a list of numbers");
  }
  buffers_.push_back(std::move(buffer));
  const Py_buffer& view = *buffers_.back();
  std::string_view format = view.format == nullptr ? "B" : view.format;
  const char order = format.empty() ? 0 : format.front();
  if (order == '@' || order == '=' || order == '<' || order == '>' || order == '!') format.remove_prefix(1);
  if ((order == '>' || order == '!') && view.itemsize > 1) return refuse_big_endian("a buffer");
  const char letter = format.size() == 1 ? format.front() : 0;
  last_is_bytes_ = letter == 'B';
  const char kind = letter == '?'                                             ? 'b'
                    : letter != 0 && std::strchr("efd", letter) != nullptr    ? 'f'
                    : letter != 0 && std::strchr("bhilqn", letter) != nullptr ? 'i'
                    : letter != 0 && std::strchr("BHILQN", letter) != nullptr ? 'u'
                                                                              : 0;
  const std::int32_t dtype = number_of_kind(kind, static_cast<int>(view.itemsize));
  if (dtype < 0)
    return dtype_number("format " + std::string(format), ("a buffer of type " + name_of_type(x)).c_str()) >= 0;
  if (view.suboffsets != nullptr) return refuse("a buffer of rows that lie apart cannot be read; copy it first");
  tensorstat_tensor tensor = tensor_of(dtype, view.buf);
  shapes_.add(view.shape, view.ndim);
  tensor.element_count = product(shapes_[tensors_.size()]);
  if (tensor.element_count != 0 && PyBuffer_IsContiguous(&view, 'C') == 0) {
    set_strides(tensor, view.strides);
  }
  tensors_.push_back(tensor);
  return true;
}

// In its own memory, on its own queue.
bool Views::add_opencl(PyObject* x) {
  const Ref flags = attribute(x, "flags"),
            in_order(flags ? PyObject_GetAttrString(flags.get(), "c_contiguous") : nullptr);
  if (!in_order) return false;
  if (PyObject_IsTrue(in_order.get()) != 1) {
    return refuse("a strided array in OpenCL memory cannot be measured; copy it to C order first");
  }
  const Ref dtype = attribute(x, names().dtype), shape = attribute(x, names().shape), offset = attribute(x, "offset");
  if (!dtype || !shape || !offset) return false;
  const std::int32_t number =
      dtype_of_object(text_of(dtype.get()), "a PyOpenCL array", ".astype(numpy.int8), or float32 of floats,");
  tensorstat_tensor tensor = tensor_of(number, nullptr);
  if (tensor.dtype < 0 || !add_shape(shape.get(), &tensor.element_count)) return false;
  tensor.where = TENSORSTAT_CL_BUFFER;
  tensor.offset_bytes = PyLong_AsUnsignedLongLong(offset.get());
  if (tensor.element_count != 0) {
    const Ref memory = attribute(x, "base_data"),
              pointer(memory ? PyObject_GetAttrString(memory.get(), "int_ptr") : nullptr);
    if (!pointer) return false;
    tensor.address = PyLong_AsVoidPtr(pointer.get());
  }
  Ref queue = attribute(x, "queue");
  if (!queue || PyErr_Occurred()) return false;
  if (queue.get() != Py_None) queues_.emplace_back(tensors_.size(), std::move(queue));
  tensors_.push_back(tensor);
  owners_.push_back(Ref::to(x));
  return true;
}

}  // namespace tensorstat::python

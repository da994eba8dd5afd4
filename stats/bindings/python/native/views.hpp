// Tensors that Python's objects hold, seen where they lie: nothing is copied.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stats/bindings/python/native/python.hpp"

namespace tensorstat::python {

// Shapes of many tensors, one after another.
class Shapes {
 public:
  void reserve(std::size_t tensor_count) { ends_.reserve(tensor_count), lengths_.reserve(2 * tensor_count); }
  template <typename Integer>
  void add(const Integer* shape, std::size_t dimension_count) {
    lengths_.insert(lengths_.end(), shape, shape + dimension_count);
    ends_.push_back(lengths_.size());
  }
  std::span<const std::uint64_t> operator[](std::size_t tensor) const {
    const std::size_t begin = tensor == 0 ? 0 : ends_[tensor - 1];
    return std::span(lengths_).subspan(begin, ends_[tensor] - begin);
  }

 private:
  std::vector<std::uint64_t> lengths_;
  std::vector<std::size_t> ends_;
};

// Whether memory was taken from below a torch.Tensor: its storage ends before it does. FSDP takes all of it between its
// passes. Reading such a tensor may end the process. A tensor without a storage of its own is not freed.
bool is_freed(PyObject* x);

// Made, filled and destroyed with the GIL held.
class Views {
 public:
  Views() = default;
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;
  ~Views();

  void reserve(std::size_t tensor_count);
  // The tensor of a numpy.ndarray, a torch.Tensor, a pyopencl.array.Array, or anything with __dlpack__ or the buffer
  // protocol. False, with tensorstat.Error set, of what holds none that can be read.
  bool add(PyObject* x);

  std::span<const tensorstat_tensor> tensors() const { return tensors_; }
  std::span<const std::uint64_t> shape(std::size_t tensor) const { return shapes_[tensor]; }
  Shapes& shapes() { return shapes_; }
  // The PyOpenCL queue of a tensor; nullptr where it has none.
  PyObject* queue(std::size_t tensor) const;
  // Whether the last that was added is of bytes: bytes, bytearray, a memoryview of them, mmap.
  bool last_is_bytes() const { return last_is_bytes_; }
  bool any_queue() const { return !queues_.empty(); }

  // Never releases the tensors, because a failed device may still read them.
  void keep_for_ever();

 private:
  bool add_torch(PyObject* x);
  bool add_numpy(PyObject* x);
  bool add_dlpack(PyObject* x);
  bool add_buffer(PyObject* x);
  bool add_opencl(PyObject* x);
  bool add_shape(PyObject* tuple, std::uint64_t* element_count);
  // For the tensor that is being added. Its shape must have been added.
  void set_strides(tensorstat_tensor& tensor, const void* stride_bytes);

  std::vector<tensorstat_tensor> tensors_;
  Shapes shapes_;
  std::vector<Ref> owners_;
  std::vector<std::unique_ptr<Py_buffer>> buffers_;
  std::vector<std::vector<std::int64_t>> numbers_;   // shapes and strides that tensors point to
  std::vector<std::pair<std::size_t, Ref>> queues_;  // by the tensor's number, in ascending order
  bool last_is_bytes_ = false;
};

// The number of a dtype by its name; -1, with tensorstat.Error set, of one that the library does not have. `what` is
// the object that is of this dtype, in words.
std::int32_t dtype_number(const std::string& name, const char* what);
// The same of an object of torch, NumPy or PyOpenCL. These have a byte for each element of int4, uint4 and uint1, and
// of NumPy's float4_e2m1fn, where the engine reads several elements in a byte: refused; `readable` says what to do.
std::int32_t dtype_of_object(const std::string& name, const char* what, const char* readable);

}  // namespace tensorstat::python

#include "stats/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels-cl/cl.hpp"
#include "kernels-cl/device.hpp"
#include "kernels-cl/program.hpp"
#include "stats/ledger.hpp"

namespace tensorstat {
namespace cl_engine {

Error error(const std::string& doing, const char* call, cl_int code) {
  return {Code::kDevice, doing + ": " + call + " returned " + std::to_string(code)};
}

namespace {

// As fold.cl has it.
struct Slice {
  std::uint64_t first_byte, count, partial;
};

// Slices are about this long where the device has work enough: long against a work-item's start, short
// against the whole.
constexpr std::uint64_t kLeastSliceBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostSliceBytes = std::uint64_t{256} << 20;  // < 2^30 elements, as the folds want
constexpr std::uint64_t kMostSlices = 8192;                         // a launch
// Host memory that a device cannot share goes through a window of at most this.
constexpr std::uint64_t kWindowBytes = std::uint64_t{64} << 20;

// A buffer that is entered in the ledger, and grows at most.
class Workspace {
 public:
  explicit Workspace(Ledger& ledger) : ledger_(ledger) {}
  ~Workspace() { drop(); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // At least `bytes` of device memory, or an error that says what was in the way.
  Status ensure(const cl::Context& context, std::uint64_t bytes, const char* purpose) {
    if (bytes <= bytes_) return {};
    drop();
    if (!ledger_.reserve(bytes)) {
      return Error{Code::kOverBudget, std::to_string(bytes) + " bytes of device memory for " + purpose +
                                          " exceed the budget, of which " + std::to_string(ledger_.free_bytes()) +
                                          " are free"};
    }
    cl_int code = CL_SUCCESS;
    cl::Buffer made(context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
    if (code != CL_SUCCESS) {
      ledger_.release(bytes);
      return error("allocating " + std::to_string(bytes) + " bytes for " + purpose, "clCreateBuffer", code);
    }
    buffer_ = std::move(made);
    bytes_ = bytes;
    return {};
  }

  const cl::Buffer& buffer() const { return buffer_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void drop() {
    if (bytes_ == 0) return;
    buffer_ = cl::Buffer();
    ledger_.release(bytes_);
    bytes_ = 0;
  }

  Ledger& ledger_;
  cl::Buffer buffer_;
  std::uint64_t bytes_ = 0;
};

// A piece of a tensor, in the memory that it is read from, and where its words go.
struct Piece {
  std::size_t job;
  std::uint64_t first_byte, count;
};

class OpenClEngine final : public DeviceEngine {
 public:
  OpenClEngine(Device device, cl::Context context, cl::CommandQueue queue, Ledger& ledger)
      : device_(std::move(device)), context_(std::move(context)), queue_(std::move(queue)), ledger_(ledger),
        slices_(ledger), partials_(ledger), window_(ledger) {}

  std::string_view name() const override { return "opencl"; }
  std::string description() const override { return device_.info.platform_name + ": " + device_.info.name; }
  bool shares_host_memory() const override { return device_.shares_host_memory; }

  std::string refusal(const Tensor& tensor, Precision precision) const override {
    if (tensor.strides != nullptr) return "strided tensors are host work";
    if (getpid() != pid_) return "the process has forked since the device was opened";
    if (precision == Precision::kLow && is_float(tensor.dtype)) return "`low` sums of floats are host work";
    if (tensor.where == Where::kSharedMemory && !device_.shares_host_memory) {
      return "the device does not share the host's memory";
    }
    const std::uint64_t at = tensor.where == Where::kClBuffer
                                 ? tensor.offset_bytes
                                 : reinterpret_cast<std::uintptr_t>(tensor.address) + tensor.offset_bytes;
    if (in_place(tensor) && at % size_bytes(tensor.dtype) != 0) {
      return "it begins inside an element's alignment";
    }
    return "";
  }

  Status fold(std::span<const Job> jobs) override {
    const std::lock_guard lock(mutex_);
    std::vector<Partial> results;
    results.reserve(jobs.size());
    for (const Job& job : jobs) {
      results.emplace_back(job.partial->dtype(), job.partial->precision(), job.partial->needs());
    }
    if (Status status = fold_into(jobs, results); !status) {
      queue_.finish();  // whatever is still under way must not outlive what it reads and writes
      return status;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (Status status = jobs[i].partial->merge(results[i]); !status) return status;
    }
    return {};
  }

  Status read(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes) override {
    const std::lock_guard lock(mutex_);
    const cl_int code = clEnqueueReadBuffer(queue_(), cl_mem_of(tensor), CL_TRUE, tensor.offset_bytes + first,
                                            bytes.size(), bytes.data(), 0, nullptr, nullptr);
    if (code != CL_SUCCESS) return error("reading a tensor back from the device", "clEnqueueReadBuffer", code);
    return {};
  }

 private:
  static cl_mem cl_mem_of(const Tensor& tensor) {
    return static_cast<cl_mem>(const_cast<void*>(tensor.address));
  }

  bool in_place(const Tensor& tensor) const {
    return tensor.where != Where::kHost || device_.shares_host_memory;
  }

  // Tensors of one dtype and one source buffer share a launch: every tensor of an arena, or one that is
  // in host memory alone.
  Status fold_into(std::span<const Job> jobs, std::span<Partial> results) {
    std::map<std::tuple<Dtype, Needs, const void*>, std::vector<std::size_t>> arenas;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Tensor& tensor = jobs[i].tensor;
      if (tensor.element_count == 0) continue;
      if (tensor.where == Where::kClBuffer) {
        arenas[{tensor.dtype, results[i].needs(), tensor.address}].push_back(i);
      } else if (in_place(tensor)) {
        if (Status status = fold_shared(tensor, results[i]); !status) return status;
      } else if (Status status = fold_uploaded(tensor, results[i]); !status) {
        return status;
      }
    }
    for (const auto& [key, members] : arenas) {
      std::vector<Piece> pieces;
      std::uint64_t total_bytes = 0;
      for (const std::size_t i : members) total_bytes += jobs[i].tensor.bytes();
      for (const std::size_t i : members) cut(jobs[i].tensor, i, jobs[i].tensor.offset_bytes, total_bytes, pieces);
      const cl::Buffer source(static_cast<cl_mem>(const_cast<void*>(std::get<2>(key))), true);
      if (Status status = launch(source, pieces, results); !status) return status;
    }
    return {};
  }

  // In host memory that the device reads in place, as many bytes at a time as one buffer may span.
  Status fold_shared(const Tensor& tensor, Partial& result) {
    const std::uint64_t element_bytes = size_bytes(tensor.dtype);
    const std::uint64_t most = device_.largest_buffer_bytes / element_bytes * element_bytes;
    for (std::uint64_t first = 0; first < tensor.bytes(); first += most) {
      const std::uint64_t bytes = std::min(most, tensor.bytes() - first);
      auto* address = static_cast<std::byte*>(const_cast<void*>(tensor.address)) + tensor.offset_bytes + first;
      cl_int code = CL_SUCCESS;
      const cl::Buffer source(context_, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes, address, &code);
      if (code != CL_SUCCESS) return error("sharing a tensor with the device", "clCreateBuffer", code);
      std::vector<Piece> pieces;
      Tensor part = tensor;
      part.element_count = bytes / element_bytes;
      cut(part, 0, 0, bytes, pieces);
      if (Status status = launch(source, pieces, {&result, 1}); !status) return status;
    }
    return {};
  }

  // Through a window of bounded size, whatever the tensor's.
  Status fold_uploaded(const Tensor& tensor, Partial& result) {
    const std::uint64_t element_bytes = size_bytes(tensor.dtype);
    std::uint64_t most = std::min(kWindowBytes, tensor.bytes());
    if (most > window_.bytes() + ledger_.free_bytes() / 2) most = window_.bytes() + ledger_.free_bytes() / 2;
    most = most / element_bytes * element_bytes;
    if (most == 0) return Error{Code::kOverBudget, "the budget has no room for a staging window"};
    if (Status status = window_.ensure(context_, most, "a staging window"); !status) return status;
    for (std::uint64_t first = 0; first < tensor.bytes(); first += most) {
      const std::uint64_t bytes = std::min(most, tensor.bytes() - first);
      const auto* address = static_cast<const std::byte*>(tensor.address) + tensor.offset_bytes + first;
      const cl_int code = queue_.enqueueWriteBuffer(window_.buffer(), CL_TRUE, 0, bytes, address);
      if (code != CL_SUCCESS) return error("uploading a tensor", "clEnqueueWriteBuffer", code);
      std::vector<Piece> pieces;
      Tensor part = tensor;
      part.element_count = bytes / element_bytes;
      cut(part, 0, 0, bytes, pieces);
      if (Status status = launch(window_.buffer(), pieces, {&result, 1}); !status) return status;
    }
    return {};
  }

  // Cuts a tensor into the slices that a launch over `total_bytes` wants.
  void cut(const Tensor& tensor, std::size_t job, std::uint64_t first_byte, std::uint64_t total_bytes,
           std::vector<Piece>& pieces) const {
    const std::uint64_t wanted = total_bytes / (device_.compute_units * 4) + 1;
    const std::uint64_t element_bytes = size_bytes(tensor.dtype);
    const std::uint64_t most = std::clamp(wanted, kLeastSliceBytes, kMostSliceBytes) / element_bytes;
    for (std::uint64_t first = 0; first < tensor.element_count; first += most) {
      pieces.push_back({job, first_byte + first * element_bytes, std::min(most, tensor.element_count - first)});
    }
  }

  // Folds the pieces, all of one dtype in one buffer, into the results of their jobs: in one launch, or
  // in as many as the budget makes of it.
  Status launch(const cl::Buffer& source, std::span<const Piece> pieces, std::span<Partial> results) {
    Partial& first = results[pieces[0].job];
    const std::size_t words = first.words().size();
    const std::uint64_t slice_bytes = sizeof(Slice) + words * sizeof(std::int64_t);
    const std::uint64_t room = slices_.bytes() + partials_.bytes() + ledger_.free_bytes();
    const std::uint64_t most = std::min({kMostSlices, room / slice_bytes, static_cast<std::uint64_t>(pieces.size())});
    if (most == 0) {
      return Error{Code::kOverBudget, "the budget leaves " + std::to_string(room) + " bytes, and a launch needs " +
                                          std::to_string(slice_bytes)};
    }
    auto kernel = programs_.kernel(context_, device_, first.dtype(), first.needs(), first.precision());
    if (!kernel) return kernel.error();
    if (Status status = slices_.ensure(context_, most * sizeof(Slice), "the table of slices"); !status) return status;
    if (Status status = partials_.ensure(context_, most * words * sizeof(std::int64_t), "partials"); !status) return status;
    for (std::size_t done = 0; done < pieces.size(); done += most) {
      const auto batch = pieces.subspan(done, std::min<std::size_t>(most, pieces.size() - done));
      if (Status status = launch_batch(*kernel, source, batch, words, results); !status) return status;
    }
    return {};
  }

  Status launch_batch(cl::Kernel& kernel, const cl::Buffer& source, std::span<const Piece> batch, std::size_t words,
                      std::span<Partial> results) {
    const std::string doing = "folding " + std::to_string(batch.size()) + " slices on " + device_.info.name;
    table_.clear();
    for (std::size_t i = 0; i < batch.size(); ++i) table_.push_back({batch[i].first_byte, batch[i].count, i});
    read_back_.resize(batch.size() * words);
    for (std::size_t i = 0; i < batch.size(); ++i) clear(std::span(read_back_).subspan(i * words, words));
    const std::size_t result_bytes = read_back_.size() * sizeof(std::int64_t);

    cl_int code = queue_.enqueueWriteBuffer(slices_.buffer(), CL_FALSE, 0, table_.size() * sizeof(Slice), table_.data());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueWriteBuffer", code);
    // Work-groups merge into what is there; and a kernel that was lost leaves counts of 0, which show.
    code = queue_.enqueueWriteBuffer(partials_.buffer(), CL_FALSE, 0, result_bytes, read_back_.data());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueWriteBuffer", code);
    code = kernel.setArg(0, source);
    if (code == CL_SUCCESS) code = kernel.setArg(1, slices_.buffer());
    if (code == CL_SUCCESS) code = kernel.setArg(2, partials_.buffer());
    if (code != CL_SUCCESS) return error(doing, "clSetKernelArg", code);
    code = queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(batch.size() * device_.group_size),
                                       cl::NDRange(device_.group_size));
    if (code != CL_SUCCESS) return error(doing, "clEnqueueNDRangeKernel", code);
    code = queue_.enqueueReadBuffer(partials_.buffer(), CL_TRUE, 0, result_bytes, read_back_.data());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueReadBuffer", code);

    for (std::size_t i = 0; i < batch.size(); ++i) {
      Partial& result = results[batch[i].job];
      const std::uint64_t before = result.count();
      merge(result.dtype(), result.words(), std::span(read_back_).subspan(i * words, words));
      if (result.count() - before != batch[i].count) {
        return Error{Code::kDevice, doing + ": the kernel did not run, though no call failed"};
      }
    }
    return {};
  }

  const Device device_;
  const cl::Context context_;
  const cl::CommandQueue queue_;
  Ledger& ledger_;
  const pid_t pid_ = getpid();
  std::mutex mutex_;
  Programs programs_;
  Workspace slices_, partials_, window_;
  std::vector<Slice> table_;
  std::vector<std::int64_t> read_back_;
};

}  // namespace
}  // namespace cl_engine

Result<std::unique_ptr<DeviceEngine>> make_opencl_engine(const MeterOptions& options, Ledger& ledger) {
  using namespace cl_engine;
  auto device = choose_device(options);
  if (!device) return device.error();
  cl_int code = CL_SUCCESS;
  cl::Context context(device->device, nullptr, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return error("opening " + device->info.name, "clCreateContext", code);
  cl::CommandQueue queue(context, device->device, 0, &code);
  if (code != CL_SUCCESS) return error("opening " + device->info.name, "clCreateCommandQueue", code);
  return std::unique_ptr<DeviceEngine>(
      std::make_unique<OpenClEngine>(*std::move(device), std::move(context), std::move(queue), ledger));
}

}  // namespace tensorstat

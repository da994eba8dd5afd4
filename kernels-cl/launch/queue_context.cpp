#include "kernels-cl/launch/queue_context.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "kernels-cl/driver/host_pointers.hpp"
#include "kernels-cl/launch/self_check.hpp"
#include "kernels-cl/trial/driver_trial.hpp"
#include "stats/core/engine/accumulator_layout.hpp"

namespace tensorstat::cl_engine {

namespace {

// clCreateBuffer takes no const pointer. These buffers are never written.
void* shared(const std::byte* bytes) { return const_cast<std::byte*>(bytes); }

// Buffers over host memory are undefined where tensors overlap, and a driver may copy each at once, beside the budget
// (kernels-cl/README.md). So a device that needs them gets copies instead, unless the user asks.
bool lends_buffers() {
  const char* const asked = std::getenv("TENSORSTAT_CL_ZERO_COPY");
  return asked != nullptr && std::string_view(asked) == "1";
}

std::atomic<bool> is_exiting{false};

// exit() runs the newest handler first. The drivers are loaded by now, so this handler runs before theirs.
void watch_exit() {
  static const int registered = std::atexit([] { is_exiting = true; });
  static_cast<void>(registered);
}

cl_mem memory_of(const Tensor& tensor) { return static_cast<cl_mem>(const_cast<void*>(tensor.address)); }

}  // namespace

QueueContext::QueueContext(Device device, cl::Context context, cl::CommandQueue queue, cl::CommandQueue own_queue,
                           cl::CommandQueue upload_queue, Ledger& ledger)
    : device_(std::move(device)),
      context_(std::move(context)),
      queue_(std::move(queue)),
      own_queue_(std::move(own_queue)),
      upload_queue_(std::move(upload_queue)),
      buffers_(context_, ledger) {}

Result<std::unique_ptr<QueueContext>> QueueContext::open(const MeterOptions& options, Ledger& ledger,
                                                         const KernelKind* soon) {
  cl_int code = CL_SUCCESS;
  if (options.queue != nullptr) {
    const cl::CommandQueue queue(static_cast<cl_command_queue>(options.queue), true);
    cl::Context context = queue.getInfo<CL_QUEUE_CONTEXT>(&code);
    cl::Device callers_device;
    if (code == CL_SUCCESS) callers_device = queue.getInfo<CL_QUEUE_DEVICE>(&code);
    if (code != CL_SUCCESS) return error("asking the caller's queue for its device", "clGetCommandQueueInfo", code);
    auto device = describe(callers_device);
    if (!device) return device.error();
    return open_on(*std::move(device), std::move(context), queue, ledger);
  }
  auto device = choose_device(options, soon);
  if (!device) return device.error();
  cl::Context context(device->device, nullptr, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return error("opening " + device->info.name, "clCreateContext", code);
  return open_on(*std::move(device), std::move(context), {}, ledger);
}

Result<std::unique_ptr<QueueContext>> QueueContext::open_in(const cl::Context& context, const cl::Device& preferred,
                                                            Ledger& ledger) {
  cl_int code = CL_SUCCESS;
  const std::vector<cl::Device> devices = context.getInfo<CL_CONTEXT_DEVICES>(&code);
  if (code != CL_SUCCESS) return error("asking a tensor's context for its devices", "clGetContextInfo", code);
  Result<Device> best = Error{Code::kDevice, "a tensor's context has no device"};
  for (const cl::Device& each : devices) {
    auto described = describe(each);
    const bool is_preferred = each() == preferred();
    if (!best || (described && (is_preferred || described->rank > best->rank))) best = std::move(described);
    if (best && is_preferred) break;
  }
  if (!best) return best.error();
  return open_on(*std::move(best), context, {}, ledger);
}

Result<std::unique_ptr<QueueContext>> QueueContext::open_on(Device device, cl::Context context,
                                                            cl::CommandQueue callers_queue, Ledger& ledger) {
  const std::string doing = "opening " + device.info.name;
  cl_int code = CL_SUCCESS;
  cl::CommandQueue own_queue(context, device.device, 0, &code);
  if (code != CL_SUCCESS) return error(doing, "clCreateCommandQueue", code);
  device.pointers = find_pointers(device, context, own_queue);
  if (!device.follows_any_pointer() && !lends_buffers()) device.shares_host_memory = false;
  cl::CommandQueue upload_queue = own_queue;
  if (!device.shares_host_memory) upload_queue = cl::CommandQueue(context, device.device, 0, &code);
  if (code != CL_SUCCESS) return error(doing, "clCreateCommandQueue", code);
  watch_exit();
  cl::CommandQueue queue = callers_queue() == nullptr ? own_queue : std::move(callers_queue);
  return std::unique_ptr<QueueContext>(new QueueContext(std::move(device), std::move(context), std::move(queue),
                                                        std::move(own_queue), std::move(upload_queue), ledger));
}

bool QueueContext::must_abandon() const { return forked() || is_exiting; }

bool QueueContext::follows(const Tensor& tensor) const {
  if (tensor.where == Where::kClBuffer) return false;
  return device_.follows_any_pointer() || (tensor.where == Where::kSharedMemory && device_.pointers == Pointers::kSvm);
}

bool QueueContext::in_place(const Tensor& tensor) const {
  return tensor.where == Where::kClBuffer || device_.shares_host_memory || follows(tensor);
}

std::string QueueContext::refusal(const Tensor& tensor, Precision precision) const {
  if (tensor.strides != nullptr) return "strided tensors are host work";
  if (is_in_gpu_memory(tensor.where)) return "it is in a GPU's memory, which OpenCL does not see";
  if (is_low(tensor.dtype, precision)) {
    const bool is_double = tensor.dtype == Dtype::kFloat64;
    if (is_double && !device_.fp64) return "`low` holds float64 sums in float64, which the device does not have";
    if (!is_double && !device_.float_subnormals) return "`low` needs float32 subnormals, which the device flushes";
  }
  if (tensor.where == Where::kSharedMemory && !in_place(tensor)) {
    return "the device has no shared virtual memory, nor the host's";
  }
  if (tensor.where == Where::kSharedMemory && device_.pointers == Pointers::kSvm && !has_callers_queue()) {
    return "shared virtual memory belongs to a context, and needs MeterOptions::queue of that context";
  }
  if (in_place(tensor) && source_of(tensor).first_byte % size_bytes(tensor.dtype) != 0)
    return "it begins inside an element's alignment";
  return "";
}

Status QueueContext::check(const Tensor& tensor, KnownBuffer& known) const {
  if (tensor.where != Where::kClBuffer || tensor.element_count == 0) return {};
  known.look_at(tensor.address);
  if (!known.bytes) {
    std::size_t bytes = std::numeric_limits<std::size_t>::max();  // if the driver does not tell
    cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
    const cl_mem memory = memory_of(tensor);
    if (!forked()) {
      static_cast<void>(clGetMemObjectInfo(memory, CL_MEM_TYPE, sizeof type, &type, nullptr));
      static_cast<void>(clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr));
    }
    if (type != CL_MEM_OBJECT_BUFFER) return Error{Code::kInvalid, "its cl_mem is an image or a pipe, not a buffer"};
    known.bytes = bytes;
  }
  const std::uint64_t bytes = *known.bytes;
  if (tensor.offset_bytes <= bytes && tensor.bytes() <= bytes - tensor.offset_bytes) return {};
  return Error{Code::kInvalid, "a tensor of " + std::to_string(tensor.bytes()) + " bytes at byte " +
                                   std::to_string(tensor.offset_bytes) + " reaches beyond its cl_mem, which has " +
                                   std::to_string(bytes)};
}

std::string QueueContext::refusal(const TensorPair& pair) const {
  if (!device_.fp64) return "a pair's distances are held in float64, which the device does not have";
  for (const Tensor& tensor : {pair.a, pair.b}) {
    if (unpacks(tensor.dtype)) return "tensors of " + std::string(name(tensor.dtype)) + " are compared on the host";
  }
  std::string why = refusal(pair.a, Precision::kHigh);
  return why.empty() ? refusal(pair.b, Precision::kHigh) : why;
}

Status QueueContext::add(const Task& task, std::size_t job, std::uint64_t total_bytes, std::vector<Piece>& pieces,
                         std::vector<cl::Buffer>& sources) const {
  const std::span<const Tensor> tensors = task.tensors();
  const auto needs_buffer = [&](const Tensor& tensor) { return tensor.where != Where::kClBuffer && !follows(tensor); };
  // A buffer has a largest size. If a tensor needs buffers, it is cut into parts, and so is the tensor beside it.
  std::uint64_t most = task.count();
  for (const Tensor& tensor : tensors) {
    if (!needs_buffer(tensor)) continue;
    const std::uint64_t tiles = elements_of(tensor.dtype, device_.largest_buffer_bytes) / kTileElements;
    most = std::min(most, std::max(tiles, std::uint64_t{1}) * kTileElements);
  }
  for (std::uint64_t first = 0; first < task.count(); first += most) {
    Piece part = task.piece(job, first, std::min(most, task.count() - first));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!needs_buffer(tensors[i])) {
        part.sources[i] = source_of(tensors[i], first);
        continue;
      }
      const std::byte* const bytes = tensors[i].data() + bytes_of(tensors[i].dtype, first);
      cl_int code = CL_SUCCESS;
      // With HOST_NO_ACCESS a driver can share pages that are read-only, such as a mapped file's.
      constexpr cl_mem_flags kFlags = CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR | CL_MEM_HOST_NO_ACCESS;
      cl::Buffer source(context_, kFlags, bytes_of(tensors[i].dtype, part.count), shared(bytes), &code);
      if (code != CL_SUCCESS) return error("sharing a tensor with the device", "clCreateBuffer", code);
      part.sources[i] = {source(), 0};
      sources.push_back(std::move(source));
    }
    cut(device_, part, total_bytes, pieces);
  }
  return {};
}

Result<std::unique_ptr<Batch>> QueueContext::enqueue(const cl::CommandQueue& queue, std::vector<Piece> pieces,
                                                     std::vector<cl::Buffer> sources,
                                                     std::span<const cl_event> wait_list) {
  return Batch::enqueue(
      device_, buffers_, queue, std::move(pieces), [this](const KernelKind& kind) { return kernel(kind); }, wait_list,
      std::move(sources));
}

std::size_t QueueContext::batch_length(std::span<const Piece> pieces) const {
  const bool takes_room = device_.pointers != Pointers::kSameSpace;
  if (!takes_room && !pieces.empty() && (pieces[0].kind.needs & kQuantiles) == 0) {
    return std::min(pieces.size(), kMostSlices);
  }
  return cl_engine::batch_length(device_, pieces, takes_room ? buffers_.room_bytes() : ~std::uint64_t{0});
}

Status QueueContext::fold_at_once(std::vector<Piece> pieces, std::vector<cl::Buffer> sources, const Merge& merge,
                                  std::uint64_t& held_bytes) {
  if (pieces.empty()) return {};
  auto batch = enqueue(queue_, std::move(pieces), std::move(sources));
  if (!batch) return batch.error();
  held_bytes = std::max(held_bytes, (*batch)->device_bytes());
  if (Status status = (*batch)->wait(); !status) return status;
  merge(**batch);
  return {};
}

Status QueueContext::fold(std::span<const Piece> pieces, const std::vector<cl::Buffer>& sources, const Merge& merge,
                          std::uint64_t& held_bytes) {
  while (!pieces.empty()) {
    const std::size_t taken = batch_length(pieces);
    if (taken == 0) {
      return Error{Code::kOverBudget, "the budget leaves " + std::to_string(buffers_.room_bytes()) +
                                          " bytes, and a slice needs " +
                                          std::to_string(workspace_bytes(device_, {}, pieces[0]))};
    }
    const auto now = pieces.first(taken);
    if (Status status = fold_at_once({now.begin(), now.end()}, sources, merge, held_bytes); !status) return status;
    pieces = pieces.subspan(taken);
  }
  return {};
}

Status QueueContext::prepare(const KernelKind& kind) {
  const auto made = kernel(kind);
  return made ? Status{} : Status(made.error());
}

Result<QueueContext::SharedKernel> QueueContext::kernel(const KernelKind& kind) {
  return kernels_.get(kind, [&] {
    auto made = checked_kernel(device_, kind);
    if (made || device_.ptx == 0) return made;
    // A driver may fail to compile the packed operations, or compute them wrongly. Try again without them.
    Device plain = device_;
    plain.ptx = 0;
    return checked_kernel(plain, kind);
  });
}

Result<QueueContext::SharedKernel> QueueContext::checked_kernel(const Device& device, const KernelKind& kind) {
  const Recipe recipe = recipe_of(device, kind);
  if (Status tried = try_kernel(device, recipe.key, kind); !tried) return tried.error();
  const auto checked = [&](const cl::Program& program) -> Result<SharedKernel> {
    auto kernel = make_kernel(device, program, recipe);
    if (!kernel) return kernel;
    if (Status status = self_check(device, buffers_, context_, own_queue_, *kernel, kind); !status)
      return status.error();
    return kernel;
  };
  // If the program on disk fails its check, it is built again.
  if (const auto recalled = recall_program(context_, device, recipe)) {
    if (auto kernel = checked(*recalled)) return kernel;
  }
  const auto built = build_program(context_, device, recipe);
  if (!built) return built.error();
  auto kernel = checked(*built);
  if (kernel) remember_program(*built, recipe);
  return kernel;
}

Status QueueContext::read(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  cl::Event done;
  const cl_int code = clEnqueueReadBuffer(queue_(), memory_of(tensor), CL_TRUE, tensor.offset_bytes + first,
                                          bytes.size(), bytes.data(), 0, nullptr, &done());
  if (code == CL_SUCCESS) return {};
  if (code == CL_INVALID_OPERATION && done() == nullptr) return read_copy(tensor, first, bytes);
  Error failed = error("reading a tensor back from the device", "clEnqueueReadBuffer", code);
  const bool enqueued = done() != nullptr;
  if (enqueued && come_to_rest(queue_, {&done, 1}, [] { return false; }) == Rest::kUnknown) failed.code = Code::kInUse;
  return failed;
}

// CL_MEM_HOST_NO_ACCESS and CL_MEM_HOST_WRITE_ONLY forbid the host to read a cl_mem, but not a copy of it.
Status QueueContext::read_copy(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::clamp<std::uint64_t>(buffers_.room_bytes(), 1, bytes.size()));
    auto copy = buffers_.take(part.size(), "a copy of a tensor that the host may not read");
    if (!copy) return copy.error();
    const char* call = "clEnqueueCopyBuffer";
    cl::Event copied, done;
    cl_int code = clEnqueueCopyBuffer(queue_(), memory_of(tensor), copy->memory(), tensor.offset_bytes + first, 0,
                                      part.size(), 0, nullptr, &copied());
    if (code == CL_SUCCESS) {
      call = "clEnqueueReadBuffer";
      code = clEnqueueReadBuffer(queue_(), copy->memory(), CL_TRUE, 0, part.size(), part.data(), 1, &copied(), &done());
    }
    if (code != CL_SUCCESS) {
      Error failed = error("reading a tensor back from the device", call, code);
      copy->memory = {};  // from here on only the commands hold it
      const std::array<cl::Event, 1> never;
      const bool enqueued = copied() != nullptr;
      const auto deleted = [&] { return copy->witness.deleted(); };
      if (enqueued && come_to_rest(queue_, never, deleted) == Rest::kUnknown) {
        failed.code = Code::kInUse;
      } else {
        buffers_.forget(copy->bytes);
      }
      return failed;
    }
    buffers_.give_back(*std::move(copy));
    first += part.size();
    bytes = bytes.subspan(part.size());
  }
  return {};
}

}  // namespace tensorstat::cl_engine

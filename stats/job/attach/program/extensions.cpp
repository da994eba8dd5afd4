#include "stats/job/attach/program/extensions.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "stats/job/attach/program/waits.hpp"

namespace tensorstat::attach {
namespace {

// The functions that the layer stands in front of.
enum Function : std::uint8_t {
  kCreate,
  kRetain,
  kRelease,
  kEnqueue,
  kAddKernel,
  kAddFill,
  kAddCopy,
  kAddCopyRectangle,
  kAddCopyImage,
  kAddSharedCopy,
  kAddSharedFill,
  kSetUnified,
  kSetDevicePointer,
  kFunctionCount,
};
// The functions of one platform. Null: the program has not asked for it.
using Theirs = std::array<void*, kFunctionCount>;

std::mutex extensions_mutex;                              // of what follows
auto& platforms = *new std::map<cl_platform_id, Theirs>;  // null: for whoever asked without a platform
auto& command_buffers = *new std::unordered_map<CommandBufferHandle, std::shared_ptr<CommandBuffer>>;

std::shared_ptr<CommandBuffer> commands_of(CommandBufferHandle handle) {
  const std::lock_guard lock(extensions_mutex);
  const auto entry = command_buffers.find(handle);
  return entry == command_buffers.end() ? nullptr : entry->second;
}

cl_platform_id platform_of(cl_command_queue queue) {
  cl_device_id device = nullptr;
  cl_platform_id platform = nullptr;
  below.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
  if (device != nullptr) below.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  return platform;
}

// The platform's function; else the one that was asked for without a platform; else any platform's. One exists, because
// our function is only handed out in place of a platform's.
template <typename Type>
Type theirs(Function function, cl_platform_id platform) {
  const std::lock_guard lock(extensions_mutex);
  for (const cl_platform_id each : {platform, cl_platform_id{nullptr}}) {
    const auto entry = platforms.find(each);
    if (entry != platforms.end() && entry->second[function] != nullptr)
      return reinterpret_cast<Type>(entry->second[function]);
  }
  for (const auto& [each, functions] : platforms) {
    if (functions[function] != nullptr) return reinterpret_cast<Type>(functions[function]);
  }
  std::abort();
}
cl_platform_id platform_of(const CommandBuffer* commands) { return commands == nullptr ? nullptr : commands->platform; }

bool asks_for_mutable(const cl_properties* properties) {
  constexpr cl_properties kFlags = 0x1293, kMutable = 1 << 1;  // CL_COMMAND_BUFFER_FLAGS_KHR, ..._MUTABLE_KHR
  for (; properties != nullptr && *properties != 0; properties += 2) {
    if (*properties == kFlags && (properties[1] & kMutable) != 0) return true;
  }
  return false;
}

using Create = CommandBufferHandle(CL_API_CALL*)(cl_uint, const cl_command_queue*, const cl_properties*, cl_int*);
CommandBufferHandle CL_API_CALL create_commands(cl_uint count, const cl_command_queue* queues,
                                                const cl_properties* properties, cl_int* code) {
  const cl_platform_id platform = count != 0 && queues != nullptr ? platform_of(queues[0]) : nullptr;
  const CommandBufferHandle made = theirs<Create>(kCreate, platform)(count, queues, properties, code);
  if (made == nullptr) return made;
  guarded([&] {
    auto commands = std::make_shared<CommandBuffer>();
    commands->handle = made;
    commands->platform = platform;
    commands->queue = queues[0];
    commands->is_mutable = asks_for_mutable(properties);
    commands->kernel = std::make_shared<Kernel>();
    // Nobody is asked for its types: they are added with each of its kernels.
    std::call_once(commands->kernel->once, [] {});
    std::call_once(commands->kernel->once_dtypes, [] {});
    const std::lock_guard lock(extensions_mutex);
    command_buffers[made] = std::move(commands);
  });
  return made;
}

using Hold = cl_int(CL_API_CALL*)(CommandBufferHandle);
cl_int CL_API_CALL retain_commands(CommandBufferHandle handle) {
  const auto commands = commands_of(handle);
  if (commands != nullptr) {
    const std::lock_guard lock(extensions_mutex);
    ++commands->references;
  }
  return theirs<Hold>(kRetain, platform_of(commands.get()))(handle);
}

cl_int CL_API_CALL release_commands(CommandBufferHandle handle) {
  const auto commands = commands_of(handle);
  if (commands != nullptr) {
    const std::lock_guard lock(extensions_mutex);
    if (--commands->references == 0) command_buffers.erase(handle);
  }
  return theirs<Hold>(kRelease, platform_of(commands.get()))(handle);
}

// "scale+root", and of many names the first four.
std::string name_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  std::string name;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) name += (i == 0 ? "" : "+") + names[i];
  return names.size() <= kMost ? name : name + "+" + std::to_string(names.size() - kMost) + " more";
}

// Adds a kernel with the arguments that it has now.
void record(CommandBuffer& commands, cl_kernel handle, cl_command_queue queue) {
  std::shared_ptr<Kernel> added;
  std::shared_ptr<Queue> facts;
  {
    const std::lock_guard lock(layer().objects.mutex);
    added = layer().objects.kernel(handle);
    facts = layer().objects.queue(queue != nullptr ? queue : commands.queue);
  }
  if (added == nullptr || facts == nullptr) return;
  find_types(handle, *added, *facts, added->is_chosen);
  Kernel& all = *commands.kernel;
  for (std::size_t i = 0; i < std::min(added->values.size(), added->types.size()); ++i) {
    const Kernel::Value& value = added->values[i];
    const ArgumentType& type = added->types[i];
    if (type.kind == ArgumentType::Kind::kValue || (value.handle == nullptr && !value.is_unknown_memory)) continue;
    const auto dtype = i < added->dtypes.size() ? added->dtypes[i] : std::nullopt;
    const auto same = std::ranges::find(all.values, value.handle, &Kernel::Value::handle);
    const auto index = static_cast<std::size_t>(same - all.values.begin());
    if (same == all.values.end() || value.handle == nullptr) {
      all.values.push_back(value);
      all.types.push_back(type);
      all.dtypes.push_back(dtype);
    } else {
      all.types[index].is_const &= type.is_const;
      if (!all.dtypes[index]) all.dtypes[index] = dtype;
    }
  }
  if (std::ranges::count(commands.names, added->name) == 0) commands.names.push_back(added->name);
  all.name = name_of(commands.names);
  all.is_chosen = !layer().settings.kernels || layer().settings.kernels->matches(all.name);
}

void also_writes(CommandBuffer& commands, cl_mem buffer) {
  if (buffer != nullptr) commands.kernel->also_written.push_back(buffer);
}
void also_writes(CommandBuffer& commands, void* shared) {
  const std::lock_guard lock(layer().objects.mutex);
  also_writes(commands, layer().objects.shared_at(shared).buffer);
}

// A function that records a command, in both forms. `kSubject`: which of the arguments behind the properties is the
// kernel, or the memory that the command writes.
template <Function kFunction, std::size_t kSubject, typename... Arguments>
struct Recording {
  static cl_int CL_API_CALL without_properties(CommandBufferHandle handle, cl_command_queue queue,
                                               Arguments... arguments) {
    return add<cl_int(CL_API_CALL*)(CommandBufferHandle, cl_command_queue, Arguments...)>(
        handle, queue, std::tuple(arguments...), [&](auto their) { return their(handle, queue, arguments...); });
  }
  static cl_int CL_API_CALL with_properties(CommandBufferHandle handle, cl_command_queue queue, const void* properties,
                                            Arguments... arguments) {
    return add<cl_int(CL_API_CALL*)(CommandBufferHandle, cl_command_queue, const void*, Arguments...)>(
        handle, queue, std::tuple(arguments...),
        [&](auto their) { return their(handle, queue, properties, arguments...); });
  }

 private:
  template <typename Type, typename Call>
  static cl_int add(CommandBufferHandle handle, cl_command_queue queue, const std::tuple<Arguments...>& arguments,
                    const Call& call) {
    const auto commands = commands_of(handle);
    const cl_int code = call(theirs<Type>(kFunction, platform_of(commands.get())));
    if (code != CL_SUCCESS || commands == nullptr || !layer().is_active()) return code;
    guarded([&] {
      const auto subject = std::get<kSubject>(arguments);
      if constexpr (std::is_same_v<decltype(subject), const cl_kernel>) {
        record(*commands, subject, queue);
      } else {
        also_writes(*commands, subject);
      }
    });
    return code;
  }
};

// Each ends with the sync points that it waits for, and where the driver says its own sync point and the command.
using Point = cl_uint;
template <Function kFunction, std::size_t kSubject, typename... Arguments>
using Recorded = Recording<kFunction, kSubject, Arguments..., cl_uint, const Point*, Point*, void**>;
// Since its first version the function for kernels has had properties.
using AddKernel = Recorded<kAddKernel, 0, cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*>;
using AddFill = Recorded<kAddFill, 0, cl_mem, const void*, size_t, size_t, size_t>;
using AddCopy = Recorded<kAddCopy, 1, cl_mem, cl_mem, size_t, size_t, size_t>;
using AddCopyRectangle = Recorded<kAddCopyRectangle, 1, cl_mem, cl_mem, const size_t*, const size_t*, const size_t*,
                                  size_t, size_t, size_t, size_t>;
using AddCopyImage = Recorded<kAddCopyImage, 1, cl_mem, cl_mem, const size_t*, const size_t*, size_t>;
using AddSharedCopy = Recorded<kAddSharedCopy, 0, void*, const void*, size_t>;
using AddSharedFill = Recorded<kAddSharedFill, 0, void*, const void*, size_t, size_t>;

cl_int CL_API_CALL enqueue_commands(cl_uint queue_count, cl_command_queue* queues, CommandBufferHandle handle,
                                    cl_uint count, const cl_event* wait, cl_event* event) {
  const auto commands = commands_of(handle);
  const auto enqueue_theirs = theirs<EnqueueCommands>(kEnqueue, platform_of(commands.get()));
  if (commands != nullptr) return launch_commands(enqueue_theirs, *commands, queue_count, queues, count, wait, event);
  // Made by a function that the layer does not follow, as clRemapCommandBufferKHR does.
  return launch_commands(enqueue_theirs, {.handle = handle, .is_mutable = true}, queue_count, queues, count, wait,
                         event);
}

using SetPointer = cl_int(CL_API_CALL*)(cl_kernel, cl_uint, const void*);
cl_int CL_API_CALL set_unified(cl_kernel kernel, cl_uint index, const void* pointer) {
  const cl_int code = theirs<SetPointer>(kSetUnified, nullptr)(kernel, index, pointer);
  if (code == CL_SUCCESS) set_pointer(kernel, index, pointer);
  return code;
}

// An address on the device, which is of no buffer that the layer could name.
using SetDevicePointer = cl_int(CL_API_CALL*)(cl_kernel, cl_uint, cl_ulong);
cl_int CL_API_CALL set_device_pointer(cl_kernel kernel, cl_uint index, cl_ulong address) {
  const cl_int code = theirs<SetDevicePointer>(kSetDevicePointer, nullptr)(kernel, index, address);
  if (code == CL_SUCCESS) set_unknown_pointer(kernel, index, address != 0);
  return code;
}

struct Replaced {
  const char* name;
  Function function;
  void* ours;                  // in either form
  void* ours_with_properties;  // null: the function has one form
};
template <typename Type>
void* pointer(Type function) {
  return reinterpret_cast<void*>(function);
}
template <typename Recorded>
Replaced recording(const char* name, Function function) {
  return {name, function, pointer(Recorded::without_properties), pointer(Recorded::with_properties)};
}
const std::vector<Replaced>& replaced() {
  static const auto& all = *new std::vector<Replaced>{
      {"clCreateCommandBufferKHR", kCreate, pointer(create_commands), nullptr},
      {"clRetainCommandBufferKHR", kRetain, pointer(retain_commands), nullptr},
      {"clReleaseCommandBufferKHR", kRelease, pointer(release_commands), nullptr},
      {"clEnqueueCommandBufferKHR", kEnqueue, pointer(enqueue_commands), nullptr},
      {"clCommandNDRangeKernelKHR", kAddKernel, pointer(AddKernel::with_properties), nullptr},
      recording<AddFill>("clCommandFillBufferKHR", kAddFill),
      recording<AddCopy>("clCommandCopyBufferKHR", kAddCopy),
      recording<AddCopyRectangle>("clCommandCopyBufferRectKHR", kAddCopyRectangle),
      recording<AddCopyImage>("clCommandCopyImageToBufferKHR", kAddCopyImage),
      recording<AddSharedCopy>("clCommandSVMMemcpyKHR", kAddSharedCopy),
      recording<AddSharedFill>("clCommandSVMMemFillKHR", kAddSharedFill),
      {"clSetKernelArgMemPointerINTEL", kSetUnified, pointer(set_unified), nullptr},
      {"clSetKernelArgDevicePointerEXT", kSetDevicePointer, pointer(set_device_pointer), nullptr},
  };
  return all;
}
bool is_of_command_buffers(Function function) { return function <= kAddSharedFill; }

void* ours_for(cl_platform_id platform, const char* name, void* theirs) {
  if (theirs == nullptr || name == nullptr || !layer().is_active()) return theirs;
  void* ours = theirs;
  guarded([&] {
    for (const Replaced& each : replaced()) {
      if (std::strcmp(each.name, name) != 0) continue;
      const bool is_command = is_of_command_buffers(each.function);
      const auto form = is_command ? recording_form_of(platform) : RecordingForm::kWithoutProperties;
      if (form == RecordingForm::kUnknown) {
        // An unknown version: the program gets the driver's own functions, and the tally counts them as unseen.
        layer().tally->unknown_commands = 1;
        return;
      }
      const std::lock_guard lock(extensions_mutex);
      platforms[platform][each.function] = theirs;
      const bool has_more = form == RecordingForm::kWithProperties && each.ours_with_properties != nullptr;
      ours = has_more ? each.ours_with_properties : each.ours;
    }
  });
  return ours;
}

void* CL_API_CALL address_for_platform(cl_platform_id platform, const char* name) {
  return ours_for(platform, name, below.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void* CL_API_CALL address(const char* name) {
  return ours_for(nullptr, name, below.clGetExtensionFunctionAddress(name));
}

}  // namespace

void fill_extensions(cl_icd_dispatch& table) {
  table.clGetExtensionFunctionAddressForPlatform = address_for_platform;
  table.clGetExtensionFunctionAddress = address;
}

}  // namespace tensorstat::attach

#include "stats/attach/program/extensions.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tensorstat::attach {
namespace {

std::mutex extensions_mutex;                                          // of what follows
auto& platforms = *new std::map<cl_platform_id, ExtensionFunctions>;  // null: for whoever asked without a platform
auto& command_buffers = *new std::unordered_map<cl_command_buffer_khr, std::shared_ptr<CommandBuffer>>;

std::shared_ptr<CommandBuffer> commands_of(cl_command_buffer_khr handle) {
  const std::lock_guard lock(extensions_mutex);
  const auto found = command_buffers.find(handle);
  return found == command_buffers.end() ? nullptr : found->second;
}

const ExtensionFunctions& functions_of(cl_command_queue queue) {
  cl_device_id device = nullptr;
  cl_platform_id platform = nullptr;
  below.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
  if (device != nullptr) below.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  const std::lock_guard lock(extensions_mutex);
  const auto found = platforms.find(platform);
  return found == platforms.end() ? platforms[nullptr] : found->second;
}

// The function of the object's platform. If the layer does not know the object, it is the function of any platform that
// has one. There is one: our function is only handed out in place of a platform's.
template <auto ExtensionFunctions::*kMember>
auto theirs(const CommandBuffer* commands) {
  if (commands != nullptr && commands->functions->*kMember != nullptr) return commands->functions->*kMember;
  const std::lock_guard lock(extensions_mutex);
  for (const auto& [platform, functions] : platforms) {
    if (functions.*kMember != nullptr) return functions.*kMember;
  }
  std::abort();
}
using Functions = ExtensionFunctions;

cl_command_buffer_khr CL_API_CALL create_commands(cl_uint count, const cl_command_queue* queues,
                                                  const cl_command_buffer_properties_khr* properties, cl_int* code) {
  CommandBuffer asked;
  if (count != 0 && queues != nullptr) asked.functions = &functions_of(queues[0]);
  const cl_command_buffer_khr made =
      theirs<&Functions::create>(asked.functions == nullptr ? nullptr : &asked)(count, queues, properties, code);
  if (made == nullptr) return made;
  guarded([&] {
    auto commands = std::make_shared<CommandBuffer>(asked);
    commands->handle = made;
    commands->queue = queues[0];
    commands->kernel = std::make_shared<Kernel>();
    // Nobody is asked for its types: they are added with each of its kernels.
    std::call_once(commands->kernel->once, [] {});
    std::call_once(commands->kernel->once_dtypes, [] {});
    const std::lock_guard lock(extensions_mutex);
    command_buffers[made] = std::move(commands);
  });
  return made;
}

cl_int CL_API_CALL retain_commands(cl_command_buffer_khr handle) {
  const auto commands = commands_of(handle);
  if (commands != nullptr) {
    const std::lock_guard lock(extensions_mutex);
    ++commands->references;
  }
  return theirs<&Functions::retain>(commands.get())(handle);
}

cl_int CL_API_CALL release_commands(cl_command_buffer_khr handle) {
  const auto commands = commands_of(handle);
  if (commands != nullptr) {
    const std::lock_guard lock(extensions_mutex);
    if (--commands->references == 0) command_buffers.erase(handle);
  }
  return theirs<&Functions::release>(commands.get())(handle);
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
    const auto at = static_cast<std::size_t>(same - all.values.begin());
    if (same == all.values.end() || value.handle == nullptr) {
      all.values.push_back(value);
      all.types.push_back(type);
      all.dtypes.push_back(dtype);
    } else {
      all.types[at].is_const &= type.is_const;
      if (!all.dtypes[at]) all.dtypes[at] = dtype;
    }
  }
  if (std::ranges::count(commands.names, added->name) == 0) commands.names.push_back(added->name);
  all.name = name_of(commands.names);
  all.is_chosen = !layer().settings.kernels || layer().settings.kernels->matches(all.name);
}

cl_int CL_API_CALL add_range(cl_command_buffer_khr handle, cl_command_queue queue,
                             const cl_ndrange_kernel_command_properties_khr* properties, cl_kernel kernel,
                             cl_uint dimensions, const size_t* offset, const size_t* global, const size_t* local,
                             cl_uint count, const cl_sync_point_khr* wait, cl_sync_point_khr* point,
                             cl_mutable_command_khr* command) {
  const auto commands = commands_of(handle);
  const cl_int code = theirs<&Functions::kernel>(commands.get())(handle, queue, properties, kernel, dimensions, offset,
                                                                 global, local, count, wait, point, command);
  if (code == CL_SUCCESS && commands != nullptr && layer().is_active())
    guarded([&] { record(*commands, kernel, queue); });
  return code;
}

// Any command that writes a buffer, without a kernel.
template <auto kMember, typename Add>
cl_int add_writing(cl_command_buffer_khr handle, cl_mem written, const Add& add) {
  const auto commands = commands_of(handle);
  const cl_int code = add(theirs<kMember>(commands.get()));
  if (code == CL_SUCCESS && commands != nullptr) guarded([&] { commands->kernel->also_written.push_back(written); });
  return code;
}

cl_int CL_API_CALL add_fill(cl_command_buffer_khr handle, cl_command_queue queue, cl_mem buffer, const void* pattern,
                            size_t pattern_bytes, size_t at, size_t bytes, cl_uint count, const cl_sync_point_khr* wait,
                            cl_sync_point_khr* point, cl_mutable_command_khr* command) {
  return add_writing<&Functions::fill>(handle, buffer, [&](auto add) {
    return add(handle, queue, buffer, pattern, pattern_bytes, at, bytes, count, wait, point, command);
  });
}

cl_int CL_API_CALL add_copy(cl_command_buffer_khr handle, cl_command_queue queue, cl_mem from, cl_mem to,
                            size_t from_at, size_t to_at, size_t bytes, cl_uint count, const cl_sync_point_khr* wait,
                            cl_sync_point_khr* point, cl_mutable_command_khr* command) {
  return add_writing<&Functions::copy>(handle, to, [&](auto add) {
    return add(handle, queue, from, to, from_at, to_at, bytes, count, wait, point, command);
  });
}

cl_int CL_API_CALL add_copy_rectangle(cl_command_buffer_khr handle, cl_command_queue queue, cl_mem from, cl_mem to,
                                      const size_t* from_origin, const size_t* to_origin, const size_t* region,
                                      size_t from_row, size_t from_slice, size_t to_row, size_t to_slice, cl_uint count,
                                      const cl_sync_point_khr* wait, cl_sync_point_khr* point,
                                      cl_mutable_command_khr* command) {
  return add_writing<&Functions::copy_rectangle>(handle, to, [&](auto add) {
    return add(handle, queue, from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice, count,
               wait, point, command);
  });
}

cl_int CL_API_CALL add_copy_image(cl_command_buffer_khr handle, cl_command_queue queue, cl_mem from, cl_mem to,
                                  const size_t* origin, const size_t* region, size_t at, cl_uint count,
                                  const cl_sync_point_khr* wait, cl_sync_point_khr* point,
                                  cl_mutable_command_khr* command) {
  return add_writing<&Functions::copy_image>(handle, to, [&](auto add) {
    return add(handle, queue, from, to, origin, region, at, count, wait, point, command);
  });
}

cl_int CL_API_CALL enqueue_commands(cl_uint queue_count, cl_command_queue* queues, cl_command_buffer_khr handle,
                                    cl_uint count, const cl_event* wait, cl_event* event) {
  const auto commands = commands_of(handle);
  const auto enqueue_theirs = theirs<&Functions::enqueue>(commands.get());
  if (commands == nullptr) return enqueue_theirs(queue_count, queues, handle, count, wait, event);
  return launch_commands(enqueue_theirs, *commands, queue_count, queues, count, wait, event);
}

cl_int CL_API_CALL set_unified(cl_kernel kernel, cl_uint index, const void* pointer) {
  const cl_int code = theirs<&Functions::set_unified>(nullptr)(kernel, index, pointer);
  if (code == CL_SUCCESS) set_pointer(kernel, index, pointer);
  return code;
}

template <auto Functions::*kMember, auto kOurs>
void* replace(ExtensionFunctions& functions, void* theirs) {
  auto& to = functions.*kMember;
  to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(theirs);
  return reinterpret_cast<void*>(kOurs);
}

struct Replaced {
  const char* name;
  void* (*replace)(ExtensionFunctions&, void*);
};
constexpr Replaced kReplaced[] = {
    {"clCreateCommandBufferKHR", replace<&Functions::create, create_commands>},
    {"clRetainCommandBufferKHR", replace<&Functions::retain, retain_commands>},
    {"clReleaseCommandBufferKHR", replace<&Functions::release, release_commands>},
    {"clCommandNDRangeKernelKHR", replace<&Functions::kernel, add_range>},
    {"clCommandFillBufferKHR", replace<&Functions::fill, add_fill>},
    {"clCommandCopyBufferKHR", replace<&Functions::copy, add_copy>},
    {"clCommandCopyBufferRectKHR", replace<&Functions::copy_rectangle, add_copy_rectangle>},
    {"clCommandCopyImageToBufferKHR", replace<&Functions::copy_image, add_copy_image>},
    {"clEnqueueCommandBufferKHR", replace<&Functions::enqueue, enqueue_commands>},
    {"clSetKernelArgMemPointerINTEL", replace<&Functions::set_unified, set_unified>},
};

void* ours_for(cl_platform_id platform, const char* name, void* theirs) {
  if (theirs == nullptr || name == nullptr || !layer().is_active()) return theirs;
  void* ours = theirs;
  guarded([&] {
    for (const Replaced& each : kReplaced) {
      if (std::strcmp(each.name, name) != 0) continue;
      const std::lock_guard lock(extensions_mutex);
      ours = each.replace(platforms[platform], theirs);
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

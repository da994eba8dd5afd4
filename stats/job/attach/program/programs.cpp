// Programs and kernels: their build options and the values of their arguments.
#include <string>
#include <string_view>

#include "stats/job/attach/collector.hpp"
#include "stats/job/attach/program/objects.hpp"

namespace tensorstat::attach {
namespace {

constexpr const char* kMore = "-cl-kernel-arg-info";

std::shared_ptr<Program> program_of(cl_program handle) {
  const std::lock_guard lock(layer().objects.mutex);
  const auto entry = layer().objects.programs.find(handle);
  return entry == layer().objects.programs.end() ? nullptr : entry->second;
}

cl_program add_program(cl_program made, bool is_from_source) {
  if (made == nullptr || !layer().is_active()) return made;
  guarded([&] {
    auto program = std::make_shared<Program>();
    program->is_from_source = is_from_source;
    const std::lock_guard lock(layer().objects.mutex);
    layer().objects.programs.insert_or_assign(made, std::move(program));
  });
  return made;
}

cl_program CL_API_CALL create_from_source(cl_context context, cl_uint count, const char** texts, const size_t* lengths,
                                          cl_int* code) {
  return add_program(below.clCreateProgramWithSource(context, count, texts, lengths, code), true);
}

cl_program CL_API_CALL create_from_il(cl_context context, const void* text, size_t bytes, cl_int* code) {
  return add_program(below.clCreateProgramWithIL(context, text, bytes, code), false);
}

cl_program CL_API_CALL create_from_binary(cl_context context, cl_uint count, const cl_device_id* devices,
                                          const size_t* lengths, const unsigned char** binaries, cl_int* status,
                                          cl_int* code) {
  if (layer().is_active() && layer().settings.refuse_binaries) {
    for (cl_uint i = 0; status != nullptr && i < count; ++i) status[i] = CL_INVALID_BINARY;
    if (code != nullptr) *code = CL_INVALID_BINARY;
    return nullptr;
  }
  return add_program(below.clCreateProgramWithBinary(context, count, devices, lengths, binaries, status, code), false);
}

// References of programs and kernels are not counted: an entry of one that is gone is replaced when its handle is used
// again, and a kernel holds its program.
cl_program CL_API_CALL link_program(cl_context context, cl_uint count, const cl_device_id* devices, const char* options,
                                    cl_uint input_count, const cl_program* inputs,
                                    void(CL_CALLBACK* notify)(cl_program, void*), void* data, cl_int* code) {
  return add_program(below.clLinkProgram(context, count, devices, options, input_count, inputs, notify, data, code),
                     false);
}

// Builds with the kernels' arguments told as well; where that fails, as asked. `build(options)`.
template <typename Build>
cl_int build_with_more(cl_program handle, const char* options, const Build& build) {
  const auto program = layer().is_active() ? program_of(handle) : nullptr;
  if (program == nullptr) return build(options);
  const std::string_view asked = options == nullptr ? "" : options;
  std::string more;
  guarded([&] {
    program->options = std::string(asked);
    if (asked.find(kMore) == asked.npos) more = std::string(asked) + (asked.empty() ? "" : " ") + kMore;
  });
  if (more.empty()) return build(options);
  program->is_built_with_more = true;
  if (const cl_int code = build(more.c_str()); code == CL_SUCCESS) return code;
  program->is_built_with_more = false;
  return build(options);
}

cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                                 void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  // With a callback, the program could hear of a build that failed because of us, and we could not build again.
  if (notify != nullptr) {
    const auto known = layer().is_active() ? program_of(program) : nullptr;
    if (known) guarded([&] { known->options = options == nullptr ? "" : options; });
    return below.clBuildProgram(program, count, devices, options, notify, data);
  }
  return build_with_more(program, options, [&](const char* with) {
    return below.clBuildProgram(program, count, devices, with, notify, data);
  });
}

cl_int CL_API_CALL compile_program(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                                   cl_uint header_count, const cl_program* headers, const char** names,
                                   void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  const auto compile = [&](const char* with) {
    return below.clCompileProgram(program, count, devices, with, header_count, headers, names, notify, data);
  };
  return notify != nullptr ? compile(options) : build_with_more(program, options, compile);
}

cl_int CL_API_CALL build_info(cl_program handle, cl_device_id device, cl_program_build_info what, size_t bytes,
                              void* value, size_t* needed) {
  const auto program = what == CL_PROGRAM_BUILD_OPTIONS && layer().is_active() ? program_of(handle) : nullptr;
  if (program == nullptr || !program->options || !program->is_built_with_more) {
    return below.clGetProgramBuildInfo(handle, device, what, bytes, value, needed);
  }
  const std::string& options = *program->options;
  if (value != nullptr && bytes < options.size() + 1) return CL_INVALID_VALUE;
  if (value != nullptr) options.copy(static_cast<char*>(value), options.size());
  if (value != nullptr) static_cast<char*>(value)[options.size()] = '\0';
  if (needed != nullptr) *needed = options.size() + 1;
  return CL_SUCCESS;
}

std::shared_ptr<Kernel> kernel_of(cl_kernel handle) {
  const std::lock_guard lock(layer().objects.mutex);
  return layer().objects.kernel(handle);
}

void add_kernel(cl_kernel made, cl_program program, std::string name, const Kernel* copied = nullptr) {
  auto kernel = std::make_shared<Kernel>();
  kernel->name = std::move(name);
  kernel->program = program == nullptr ? nullptr : program_of(program);
  if (copied != nullptr) {
    kernel->program = copied->program;
    kernel->values = copied->values;
  }
  kernel->is_chosen = !layer().settings.kernels || layer().settings.kernels->matches(kernel->name);
  const std::lock_guard lock(layer().objects.mutex);
  layer().objects.kernels.insert_or_assign(made, std::move(kernel));
}

cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* code) {
  const cl_kernel made = below.clCreateKernel(program, name, code);
  if (made != nullptr && layer().is_active()) guarded([&] { add_kernel(made, program, name); });
  return made;
}

cl_int CL_API_CALL create_kernels(cl_program program, cl_uint count, cl_kernel* kernels, cl_uint* made) {
  cl_uint there = 0;
  const cl_int code = below.clCreateKernelsInProgram(program, count, kernels, made == nullptr ? &there : made);
  if (code != CL_SUCCESS || kernels == nullptr || !layer().is_active()) return code;
  guarded([&] {
    for (cl_uint i = 0; i < (made == nullptr ? there : *made); ++i) {
      size_t bytes = 0;
      if (below.clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, 0, nullptr, &bytes) != CL_SUCCESS) continue;
      std::string name(bytes, '\0');
      if (below.clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, bytes, name.data(), nullptr) != CL_SUCCESS)
        continue;
      name.resize(name.find('\0'));
      add_kernel(kernels[i], program, std::move(name));
    }
  });
  return code;
}

cl_kernel CL_API_CALL clone_kernel(cl_kernel source, cl_int* code) {
  const cl_kernel made = below.clCloneKernel(source, code);
  if (made != nullptr && layer().is_active()) {
    guarded([&] {
      if (const auto kernel = kernel_of(source)) add_kernel(made, nullptr, kernel->name, kernel.get());
    });
  }
  return made;
}

cl_int CL_API_CALL retain_kernel(cl_kernel handle) {
  if (layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    const auto entry = layer().objects.kernels.find(handle);
    if (entry != layer().objects.kernels.end()) ++entry->second->references;
  }
  return below.clRetainKernel(handle);
}

cl_int CL_API_CALL release_kernel(cl_kernel handle) {
  if (layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    const auto entry = layer().objects.kernels.find(handle);
    if (entry != layer().objects.kernels.end() && --entry->second->references == 0)
      layer().objects.kernels.erase(entry);
  }
  return below.clReleaseKernel(handle);
}

void set_value(cl_kernel handle, cl_uint index, Kernel::Value value) {
  constexpr cl_uint kMostArguments = 4096;
  if (index >= kMostArguments || !layer().is_active()) return;
  guarded([&] {
    const auto kernel = kernel_of(handle);
    if (kernel == nullptr) return;
    if (kernel->values.size() <= index) kernel->values.resize(index + 1);
    kernel->values[index] = value;
  });
}

cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void* value) {
  const cl_int code = below.clSetKernelArg(kernel, index, bytes, value);
  if (code != CL_SUCCESS) return code;
  Kernel::Value kept;
  if (bytes == sizeof(cl_mem) && value != nullptr) kept.handle = *static_cast<void* const*>(value);
  set_value(kernel, index, kept);
  return code;
}

cl_int CL_API_CALL set_shared_argument(cl_kernel kernel, cl_uint index, const void* value) {
  const cl_int code = below.clSetKernelArgSVMPointer(kernel, index, value);
  if (code == CL_SUCCESS) set_pointer(kernel, index, value);
  return code;
}

}  // namespace

void set_pointer(cl_kernel kernel, cl_uint index, const void* pointer) {
  if (!layer().is_active()) return;
  Kernel::Value kept;
  {
    const std::lock_guard lock(layer().objects.mutex);
    kept.handle = layer().objects.shared_at(pointer).buffer;
  }
  kept.is_unknown_memory = pointer != nullptr && kept.handle == nullptr;
  set_value(kernel, index, kept);
}

void set_unknown_pointer(cl_kernel kernel, cl_uint index, bool is_there) {
  set_value(kernel, index, {.is_unknown_memory = is_there});
}

void fill_programs(cl_icd_dispatch& table) {
  table.clCreateProgramWithSource = create_from_source;
  table.clCreateProgramWithIL = create_from_il;
  table.clCreateProgramWithBinary = create_from_binary;
  table.clLinkProgram = link_program;
  table.clBuildProgram = build_program;
  table.clCompileProgram = compile_program;
  table.clGetProgramBuildInfo = build_info;
  table.clCreateKernel = create_kernel;
  table.clCreateKernelsInProgram = create_kernels;
  table.clCloneKernel = clone_kernel;
  table.clRetainKernel = retain_kernel;
  table.clReleaseKernel = release_kernel;
  table.clSetKernelArg = set_argument;
  table.clSetKernelArgSVMPointer = set_shared_argument;
}

}  // namespace tensorstat::attach

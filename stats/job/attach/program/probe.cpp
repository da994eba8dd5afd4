#include "stats/job/attach/program/probe.hpp"

#include <algorithm>
#include <string_view>

namespace tensorstat::attach {
namespace {

// The facts of T: its bytes, its elements, whether 1/2 of it is not 0, and whether half of -1 is negative.
constexpr std::string_view kKernel = R"(
__kernel void tensorstat_probe(__global uint* facts) {
  union { TENSORSTAT_T value; uchar bytes[sizeof(TENSORSTAT_T)]; } seen;
  facts[0] = sizeof(TENSORSTAT_T);
  facts[1] = vec_step(TENSORSTAT_T);
  seen.value = (TENSORSTAT_T)(0.5f);
  uint any = 0;
  for (uint i = 0; i < sizeof(TENSORSTAT_T); ++i) any |= seen.bytes[i];
  facts[2] = any != 0;
  seen.value = (TENSORSTAT_T)(-1);
  seen.value = seen.value / (TENSORSTAT_T)(2);
  facts[3] = seen.bytes[sizeof(TENSORSTAT_T) - 1] == 0x7f;
}
)";

// Releases a handle at the end of a block.
template <typename Handle, cl_int(CL_API_CALL*(cl_icd_dispatch::*kRelease))(Handle)>
struct Owned {
  Handle handle = nullptr;
  explicit Owned(Handle object) : handle(object) {}
  ~Owned() {
    if (handle != nullptr) (below.*kRelease)(handle);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
};

std::optional<Dtype> dtype_of(const cl_uint (&facts)[4]) {
  const cl_uint bytes = facts[0], elements = facts[1];
  if (elements == 0 || elements == 3 || bytes % elements != 0) return std::nullopt;
  const bool is_float = facts[2] != 0, is_unsigned = facts[3] != 0;
  switch (bytes / elements) {
    case 8:
      return is_float ? Dtype::kFloat64 : is_unsigned ? Dtype::kUint64 : Dtype::kInt64;
    case 4:
      return is_float ? Dtype::kFloat32 : is_unsigned ? Dtype::kUint32 : Dtype::kInt32;
    case 2:
      return is_float ? Dtype::kFloat16 : is_unsigned ? Dtype::kUint16 : Dtype::kInt16;
    default:
      return std::nullopt;  // bytes may be anything
  }
}

std::string source_of(cl_kernel kernel) {
  cl_program program = nullptr;
  size_t bytes = 0;
  if (below.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, nullptr) != CL_SUCCESS) return {};
  if (below.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, nullptr, &bytes) != CL_SUCCESS || bytes < 2) return {};
  std::string source(bytes, '\0');
  if (below.clGetProgramInfo(program, CL_PROGRAM_SOURCE, bytes, source.data(), nullptr) != CL_SUCCESS) return {};
  source.resize(std::min(source.find('\0'), source.size()));
  return source;
}

bool is_name(std::string_view text) {
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ' ';
    if (!is_letter && (c < '0' || c > '9')) return false;
  }
  return !text.empty();
}

std::optional<Dtype> run_probe(const std::string& source, const std::string& options, const Queue& queue,
                               cl_command_queue own_queue) {
  const char* text = source.c_str();
  cl_int code = CL_SUCCESS;
  const cl_context context = queue.context->handle;
  const Owned<cl_program, &cl_icd_dispatch::clReleaseProgram> program(
      below.clCreateProgramWithSource(context, 1, &text, nullptr, &code));
  if (code != CL_SUCCESS ||
      below.clBuildProgram(program.handle, 1, &queue.device, options.c_str(), nullptr, nullptr) != CL_SUCCESS) {
    return std::nullopt;
  }
  const Owned<cl_kernel, &cl_icd_dispatch::clReleaseKernel> kernel(
      below.clCreateKernel(program.handle, "tensorstat_probe", &code));
  if (code != CL_SUCCESS) return std::nullopt;
  cl_uint facts[4] = {};
  const Owned<cl_mem, &cl_icd_dispatch::clReleaseMemObject> memory(
      below.clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof facts, nullptr, &code));
  if (code != CL_SUCCESS ||
      below.clSetKernelArg(kernel.handle, 0, sizeof memory.handle, &memory.handle) != CL_SUCCESS) {
    return std::nullopt;
  }
  const size_t one = 1;
  if (below.clEnqueueNDRangeKernel(own_queue, kernel.handle, 1, nullptr, &one, &one, 0, nullptr, nullptr) !=
          CL_SUCCESS ||
      below.clEnqueueReadBuffer(own_queue, memory.handle, CL_TRUE, 0, sizeof facts, facts, 0, nullptr, nullptr) !=
          CL_SUCCESS) {
    return std::nullopt;
  }
  return dtype_of(facts);
}

}  // namespace

bool is_in_source(const std::string& word, cl_kernel handle) {
  return source_of(handle).find(word) != std::string::npos;
}

std::optional<Dtype> probed(const std::string& type_name, cl_kernel handle, Kernel& kernel, const Queue& queue) {
  if (kernel.program == nullptr || !kernel.program->is_from_source || !is_name(type_name)) return std::nullopt;
  Program& program = *kernel.program;
  const std::lock_guard lock(program.mutex);
  if (const auto entry = program.probed.find(type_name); entry != program.probed.end()) return entry->second;
  std::optional<Dtype>& result = program.probed[type_name];
  Reader* reader = reader_of(queue);
  const std::string source = source_of(handle);
  if (reader == nullptr || source.empty()) return result;
  std::string text(kKernel);
  for (auto position = text.find("TENSORSTAT_T"); position != text.npos;
       position = text.find("TENSORSTAT_T", position)) {
    text.replace(position, std::string_view("TENSORSTAT_T").size(), type_name);
  }
  // Programs are made anew again and again, in one context after another.
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<std::string, cl_device_id>, std::optional<Dtype>>;
  const std::string options = program.options.value_or("");
  const std::pair key(std::to_string(std::hash<std::string>()(source + "\n" + options)) + " " +
                          std::to_string(source.size()) + " " + type_name,
                      queue.device);
  const std::lock_guard known_lock(mutex);
  if (const auto entry = known.find(key); entry != known.end()) return result = entry->second;
  result = known[key] = run_probe(source + text, options, queue, reader->own_queue());
  return result;
}

}  // namespace tensorstat::attach

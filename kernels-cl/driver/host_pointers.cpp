#include "kernels-cl/driver/host_pointers.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "kernels-cl/launch/at_rest.hpp"

// Functions of OpenCL 2.0, which cl.hpp does not include. Called only for devices with shared virtual memory.

namespace tensorstat::cl_engine {
namespace {

constexpr cl_device_info kSvmCapabilities = 0x1053;
constexpr cl_bitfield kCoarseBuffers = 1, kFineBuffers = 2, kFineSystem = 4;
constexpr cl_uint kSvmPointers = 0x11B6, kFineGrainSystem = 0x11B7;

// The argument of a native kernel. OpenCL replaces `memory` by the device's address of the memory.
struct Question {
  void* memory;
  void** answer;
};

void CL_CALLBACK answer(void* given) {
  const Question& question = *static_cast<const Question*>(given);
  std::atomic_ref(*question.answer).store(question.memory, std::memory_order_release);
}

bool runs_in_this_address_space(const Device& device, const cl::Context& context, const cl::CommandQueue& queue) {
  if (!device.is_cpu || !device.shares_host_memory) return false;
  cl_int code = CL_SUCCESS;
  const cl_device_exec_capabilities executes = device.device.getInfo<CL_DEVICE_EXECUTION_CAPABILITIES>(&code);
  if (code != CL_SUCCESS || (executes & CL_EXEC_NATIVE_KERNEL) == 0) return false;
  struct Talk {
    alignas(4096) std::byte lent[4096];
    void* heard = nullptr;
  };
  auto talk = std::make_unique<Talk>();
  const cl::Buffer memory(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizeof talk->lent, talk->lent, &code);
  if (code != CL_SUCCESS) return false;
  Question question{nullptr, &talk->heard};
  const void* place = &question.memory;
  cl::Event done;
  code = clEnqueueNativeKernel(queue(), answer, &question, sizeof question, 1, &memory(), &place, 0, nullptr, &done());
  if (code != CL_SUCCESS) return false;
  if (clWaitForEvents(1, &done()) != CL_SUCCESS) {
    const auto answered = [&] { return std::atomic_ref(talk->heard).load(std::memory_order_acquire) != nullptr; };
    if (come_to_rest(queue, {&done, 1}, answered) == Rest::kUnknown) keep_for_ever(talk.release());
    return false;
  }
  return talk->heard == talk->lent;
}

}  // namespace

Pointers find_pointers(const Device& device, const cl::Context& context, const cl::CommandQueue& queue) {
  const char* forced = std::getenv("TENSORSTAT_CL_POINTERS");
  if (forced != nullptr && std::string_view(forced) == "0") return Pointers::kNone;
  cl_bitfield svm = 0;  // a device of OpenCL 1.2 does not know the question
  if (clGetDeviceInfo(device.device(), kSvmCapabilities, sizeof svm, &svm, nullptr) != CL_SUCCESS) svm = 0;
  if ((svm & kFineSystem) != 0) return Pointers::kSystemSvm;
  if (runs_in_this_address_space(device, context, queue)) return Pointers::kSameSpace;
  return (svm & (kCoarseBuffers | kFineBuffers)) != 0 ? Pointers::kSvm : Pointers::kNone;
}

cl_int announce(const cl::Kernel& kernel, Pointers pointers, std::span<const Piece> pieces) {
  if (pointers == Pointers::kSystemSvm) {
    const cl_bool any = CL_TRUE;
    return clSetKernelExecInfo(kernel(), kFineGrainSystem, sizeof any, &any);
  }
  if (pointers != Pointers::kSvm) return CL_SUCCESS;
  std::vector<const void*> shared;  // one in each allocation would do, but these are not known
  for (const Piece& piece : pieces) {
    if (!shared.empty() && piece.job == (&piece)[-1].job) continue;
    for (const Source& source : std::span(piece.sources).first(piece.kind.tensors())) {
      if (source.memory == nullptr) shared.push_back(reinterpret_cast<const void*>(source.first_byte));
    }
  }
  return clSetKernelExecInfo(kernel(), kSvmPointers, shared.size() * sizeof shared[0], shared.data());
}

}  // namespace tensorstat::cl_engine

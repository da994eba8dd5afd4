#include "stats/job/attach/unwritten.hpp"

#include <array>
#include <string>

namespace tensorstat::attach {
namespace {

// Beyond this, elements that were NaN or Inf count as not written, whatever bits they have afterwards.
constexpr std::uint64_t kMostCopiedBytes = std::uint64_t{16} << 20;

// WORD is an element's bits. A work-item has 32 elements, a word of the map.
constexpr const char* kSource = R"(
#define IS_SPECIAL(bits) (((bits) & EXPONENT) == EXPONENT)
#define IS_NAN(bits) (((bits) & ABSOLUTE) > EXPONENT)

__kernel void tensorstat_note(__global const WORD* elements, ulong count, __global uint* map, __global uint* counts,
                              __global WORD* copy, uint has_copy) {
  ulong first = (ulong)get_global_id(0) * 32;
  uint seen = 0;
  uint last = (uint)min(count - first, (ulong)32);
  for (uint i = 0; i < last; ++i) {
    if (!IS_SPECIAL(elements[first + i])) continue;
    seen |= 1u << i;
    if (has_copy != 0) copy[first + i] = elements[first + i];
  }
  map[get_global_id(0)] = seen;
  if (seen != 0) atomic_or(counts + 3, 1u);
}

__kernel void tensorstat_find(__global const WORD* elements, ulong count, __global const uint* map,
                              __global uint* counts, __global const WORD* copy, uint has_map, uint has_copy,
                              ulong poison) {
  ulong first = (ulong)get_global_id(0) * 32;
  uint seen = has_map != 0 && counts[3] != 0 ? map[get_global_id(0)] : 0;
  uint last = (uint)min(count - first, (ulong)32);
  uint nans = 0, infs = 0, poisoned = 0;
  for (uint i = 0; i < last; ++i) {
    WORD bits = elements[first + i];
    if (!IS_SPECIAL(bits) || ((seen >> i & 1) != 0 && (has_copy == 0 || copy[first + i] == bits))) continue;
    if (has_map == 0 && bits == (WORD)poison) continue;
    if (has_map == 0 && (bits & ~(WORD)NUMBER) == TAG) ++poisoned;
    if (IS_NAN(bits)) ++nans;
    else ++infs;
  }
  if (nans != 0) atomic_add(counts, nans);
  if (infs != 0) atomic_add(counts + 1, infs);
  if (poisoned != 0) atomic_add(counts + 2, poisoned);
}
)";

// The poison is a quiet NaN: a tag that no arithmetic makes, and the buffer's number. What computes with a NaN hands
// its bits on.
struct Format {
  Dtype dtype;
  const char* options;
  std::uint64_t tag, most_number;
};
constexpr Format kFormats[] = {
    {Dtype::kFloat32,
     "-D WORD=uint -D EXPONENT=0x7f800000u -D ABSOLUTE=0x7fffffffu -D TAG=0x7fe50000u -D NUMBER=0xffffu", 0x7fe50000,
     0xffff},
    {Dtype::kFloat64,
     "-D WORD=ulong -D EXPONENT=0x7ff0000000000000ul -D ABSOLUTE=0x7ffffffffffffffful -D TAG=0x7ffe500000000000ul "
     "-D NUMBER=0xfffffffful",
     0x7ffe500000000000, 0xffffffff},
    {Dtype::kFloat16, "-D WORD=ushort -D EXPONENT=0x7c00 -D ABSOLUTE=0x7fff -D TAG=0x7f80 -D NUMBER=0x3f", 0x7f80,
     0x3f},
    {Dtype::kBfloat16, "-D WORD=ushort -D EXPONENT=0x7f80 -D ABSOLUTE=0x7fff -D TAG=0x7fe0 -D NUMBER=0xf", 0x7fe0, 0xf},
};

template <typename Handle, cl_int(CL_API_CALL*(cl_icd_dispatch::*kRelease))(Handle)>
class UniqueHandle {
 public:
  UniqueHandle() = default;
  explicit UniqueHandle(Handle handle) : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~UniqueHandle() {
    if (handle_ != nullptr) (below.*kRelease)(handle_);
  }
  Handle get() const { return handle_; }
  Handle* to() { return &handle_; }

 private:
  Handle handle_ = nullptr;
};
using UniqueEvent = UniqueHandle<cl_event, &cl_icd_dispatch::clReleaseEvent>;
using UniqueMemory = UniqueHandle<cl_mem, &cl_icd_dispatch::clReleaseMemObject>;
using UniqueKernel = UniqueHandle<cl_kernel, &cl_icd_dispatch::clReleaseKernel>;
using UniqueProgram = UniqueHandle<cl_program, &cl_icd_dispatch::clReleaseProgram>;

}  // namespace

struct UnwrittenPrograms {
  std::map<std::pair<cl_device_id, Dtype>, UniqueProgram> all;
};

namespace {

cl_program program_for(Context& context, cl_device_id device, const Format& format) {
  const std::lock_guard lock(context.mutex);
  if (!context.unwritten) context.unwritten = std::make_shared<UnwrittenPrograms>();
  const auto [entry, is_new] = context.unwritten->all.try_emplace({device, format.dtype});
  if (!is_new) return entry->second.get();
  cl_int code = CL_SUCCESS;
  const char* text = kSource;
  UniqueProgram made(below.clCreateProgramWithSource(context.handle, 1, &text, nullptr, &code));
  if (code == CL_SUCCESS &&
      below.clBuildProgram(made.get(), 1, &device, format.options, nullptr, nullptr) == CL_SUCCESS) {
    entry->second = std::move(made);
  }
  return entry->second.get();
}

class Look final : public UnwrittenLook {
 public:
  Look(const Format& format, const Extent& extent, std::uint32_t buffer_number)
      : format_(format), extent_(extent), poison_(format.tag | (1 + buffer_number % format.most_number)) {}

  bool look_before(const Queue& facts, cl_command_queue queue, const std::vector<UnwrittenBytes>& undefined,
                   const std::vector<cl_event>& wait_list) {
    program_ = program_for(*facts.context, facts.device, format_);
    if (program_ == nullptr) return false;
    const auto count = static_cast<cl_uint>(wait_list.size());
    const cl_event* events = wait_list.empty() ? nullptr : wait_list.data();
    cl_int code = CL_SUCCESS;
    const cl_context context = facts.context->handle;
    std::array<cl_uint, 4> nothing{};
    results_ = UniqueMemory(
        below.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof nothing, nothing.data(), &code));
    if (code != CL_SUCCESS) return false;
    if (layer().settings.poison) return fill(queue, undefined, count, events);
    if (undefined.empty()) return true;
    map_ = UniqueMemory(below.clCreateBuffer(context, CL_MEM_READ_WRITE, words() * sizeof(cl_uint), nullptr, &code));
    if (code != CL_SUCCESS) return false;
    // Written only where there is something to keep. A large copy might take memory that the program needs.
    if (extent_.count * size_bytes(format_.dtype) <= kMostCopiedBytes) {
      copy_ = UniqueMemory(
          below.clCreateBuffer(context, CL_MEM_READ_WRITE, extent_.count * size_bytes(format_.dtype), nullptr, &code));
    }
    const cl_uint has_copy = copy_.get() != nullptr ? 1 : 0;
    const UniqueKernel note(below.clCreateKernel(program_, "tensorstat_note", &code));
    if (code != CL_SUCCESS) return false;
    const cl_ulong elements = extent_.count;
    set(code, note, 0, extent_.memory);
    set(code, note, 1, elements);
    set(code, note, 2, map_.get());
    set(code, note, 3, results_.get());
    set(code, note, 4, has_copy != 0 ? copy_.get() : results_.get());
    set(code, note, 5, has_copy);
    const size_t size = words();
    if (code != CL_SUCCESS) return false;
    return below.clEnqueueNDRangeKernel(queue, note.get(), 1, nullptr, &size, nullptr, count, events, before_.to()) ==
           CL_SUCCESS;
  }

  bool look_after(cl_command_queue queue, cl_event launched) override {
    cl_int code = CL_SUCCESS;
    const UniqueKernel find(below.clCreateKernel(program_, "tensorstat_find", &code));
    if (code != CL_SUCCESS) return false;
    const cl_ulong elements = extent_.count, poison = poison_;
    const bool has_map = !layer().settings.poison;
    const cl_uint takes_map = has_map ? 1 : 0;
    set(code, find, 0, extent_.memory);
    set(code, find, 1, elements);
    set(code, find, 2, has_map ? map_.get() : results_.get());
    set(code, find, 3, results_.get());
    const cl_uint has_copy = copy_.get() != nullptr ? 1 : 0;
    set(code, find, 4, has_copy != 0 ? copy_.get() : results_.get());
    set(code, find, 5, takes_map);
    set(code, find, 6, has_copy);
    set(code, find, 7, poison);
    if (code != CL_SUCCESS) return false;
    const size_t size = words();
    code = below.clEnqueueNDRangeKernel(queue, find.get(), 1, nullptr, &size, nullptr, launched == nullptr ? 0 : 1,
                                        launched == nullptr ? nullptr : &launched, after_.to());
    if (code != CL_SUCCESS) return false;
    const cl_event behind = after_.get();
    code =
        below.clEnqueueReadBuffer(queue, results_.get(), CL_FALSE, 0, sizeof found_, &found_, 1, &behind, read_.to());
    return code == CL_SUCCESS && below.clFlush(queue) == CL_SUCCESS;
  }

  cl_event event() const override {
    return read_.get() != nullptr ? read_.get() : after_.get() != nullptr ? after_.get() : before_.get();
  }
  cl_event before_event() const override { return before_.get(); }
  const BufferFaults& found() const override { return found_; }

 private:
  size_t words() const { return (extent_.count + 31) / 32; }

  template <typename T>
  static void set(cl_int& code, const UniqueKernel& kernel, cl_uint index, const T& value) {
    if (code == CL_SUCCESS) code = below.clSetKernelArg(kernel.get(), index, sizeof value, &value);
  }

  bool fill(cl_command_queue queue, const std::vector<UnwrittenBytes>& undefined, cl_uint count,
            const cl_event* events) {
    const size_t bytes = size_bytes(format_.dtype);
    for (const UnwrittenBytes& each : undefined) {
      const std::uint64_t begin = (each.begin + bytes - 1) / bytes * bytes, end = each.end / bytes * bytes;
      if (begin >= end) continue;
      // Behind the one before it: the launch waits for the last one alone.
      const cl_event behind = before_.get();
      const bool is_first = behind == nullptr;
      UniqueEvent filled;
      if (below.clEnqueueFillBuffer(queue, extent_.memory, &poison_, bytes, begin, end - begin, is_first ? count : 1,
                                    is_first ? events : &behind, filled.to()) != CL_SUCCESS) {
        return false;
      }
      before_ = std::move(filled);
    }
    return true;
  }

  const Format& format_;
  const Extent extent_;
  const cl_ulong poison_;
  cl_program program_ = nullptr;
  UniqueMemory map_, copy_, results_;
  UniqueEvent before_, after_, read_;
  BufferFaults found_;
};

}  // namespace

std::unique_ptr<UnwrittenLook> look_at_unwritten(const Queue& facts, cl_command_queue queue, const Extent& extent,
                                                 const std::vector<UnwrittenBytes>& undefined,
                                                 std::uint32_t buffer_number, const std::vector<cl_event>& wait_list) {
  for (const Format& format : kFormats) {
    if (format.dtype != extent.dtype) continue;
    auto look = std::make_unique<Look>(format, extent, buffer_number);
    if (look->look_before(facts, queue, undefined, wait_list)) return look;
  }
  return nullptr;
}

}  // namespace tensorstat::attach

#include "kernels-cl/launch/cl_sheet.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "kernels-cl/launch/arguments.hpp"
#include "kernels-cl/launch/at_rest.hpp"

namespace tensorstat::cl_engine {

std::uint64_t ClSheet::held_bytes() const {
  std::uint64_t bytes = 0;
  for (const Memory& memory : memory_) bytes += memory.buffer.bytes;
  return bytes;
}

Status ClSheet::upload(std::size_t page, std::size_t first, std::size_t end, const char* what) {
  if (in_place() || first == end) return {};
  const Memory& memory = memory_[page];
  const cl_int code = clEnqueueWriteBuffer(context_.queue()(), memory.buffer.memory(), CL_FALSE, first * kWordBytes,
                                           (end - first) * kWordBytes, memory.image.get() + first, 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return error(what, "clEnqueueWriteBuffer", code);
  is_under_way_ = true;
  return {};
}

Result<Sheet::Page> ClSheet::make_page(std::uint64_t bytes, std::uint64_t least) {
  Memory memory;
  while (!in_place()) {
    auto buffer = context_.buffers().take(bytes, "a board");
    if (buffer) {
      memory.buffer = *std::move(buffer);
      break;
    }
    if (buffer.error().code != Code::kOverBudget || bytes == least) return buffer.error();
    bytes = std::max(bytes / 2 / kWordBytes * kWordBytes, least);
  }
  const std::size_t words = bytes / kWordBytes;
  try {
    done_.reserve(memory_.size() + 1);  // close() must not throw
    memory.image = std::make_unique<std::int64_t[]>(words);
    memory_.push_back(std::move(memory));
  } catch (const std::bad_alloc&) {
    if (memory.buffer.bytes != 0) context_.buffers().give_back(std::move(memory.buffer));
    throw;
  }
  return Page{.image = memory_.back().image.get(), .words = words};
}

Status ClSheet::launch(std::size_t page, const Launch& each, cl_mem source, Kernel& kernel) {
  const cl::Kernel& chosen = kernel.of_memory;
  const std::uint64_t base = base_of(pages()[page]);
  const std::lock_guard lock(kernel.arguments);
  cl_int code = CL_SUCCESS;
  set_argument(code, chosen, 0, source);
  set_argument(code, chosen, 1, memory_[page].buffer.memory());
  set_argument(code, chosen, 2, base + each.slices_at * kWordBytes);
  set_argument(code, chosen, 3, base + each.partials_at * kWordBytes);
  const std::size_t local = device_.group_size, global = each.slices * local;
  if (code == CL_SUCCESS) {
    code = clEnqueueNDRangeKernel(context_.queue()(), chosen(), 1, nullptr, &global, &local, 0, nullptr, nullptr);
  }
  if (code != CL_SUCCESS) {
    return error("folding on a board of " + device_.info.name, "clEnqueueNDRangeKernel or its arguments", code);
  }
  is_under_way_ = true;
  return {};
}

Result<std::size_t> ClSheet::fold(const Task& task, Kernel& kernel) {
  const Source source = source_of(task.operands[0]);
  return Sheet::fold(task, source.first_byte,
                     [&](std::size_t page, const Launch& each) { return launch(page, each, source.memory, kernel); });
}

void ClSheet::close() noexcept {
  if (!is_under_way_) return;
  const cl_command_queue queue = context_.queue()();
  if (in_place()) {
    call_ = "clEnqueueMarkerWithWaitList";
    code_ = clEnqueueMarkerWithWaitList(queue, 0, nullptr, &done_.emplace_back()());
  }
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const Page& page = pages()[i];
    if (in_place() || page.partials_end == 0 || code_ != CL_SUCCESS) continue;
    call_ = "clEnqueueReadBuffer";
    code_ = clEnqueueReadBuffer(queue, memory_[i].buffer.memory(), CL_FALSE, 0, page.partials_end * kWordBytes,
                                page.image, 0, nullptr, &done_.emplace_back()());
  }
  if (code_ != CL_SUCCESS) return;
  call_ = "clFlush";
  code_ = clFlush(queue);
}

Error ClSheet::failure() const {
  Error why = error("reading a board", call_, code_);
  if (!is_in_use_) return why;
  why.code = Code::kInUse;
  return with_advice(std::move(why));
}

bool ClSheet::come_to_end() noexcept {
  if (done_.empty() && code_ == CL_SUCCESS) close();
  if (!is_under_way_) return code_ == CL_SUCCESS;
  for (std::size_t i = 0; code_ == CL_SUCCESS && i < done_.size(); ++i) {
    call_ = "clWaitForEvents";
    code_ = clWaitForEvents(1, &done_[i]());
  }
  is_under_way_ = false;
  if (code_ != CL_SUCCESS) settle();
  return code_ == CL_SUCCESS;
}

// After a failure: waits until nothing is under way, as Batch does. Launches have no events here, so the pages tell.
void ClSheet::settle() noexcept {
  for (Memory& memory : memory_) memory.buffer.memory = {};  // from here on only the commands hold it
  const std::array<cl::Event, 1> never;
  const auto is_deleted = [](const Memory& memory) { return memory.buffer.witness.deleted(); };
  // For a device in the host's address space the results tell, as in Batch.
  const Rest rest = come_to_rest(context_.queue(), never, [&] {
    return in_place() ? results_are_there() : std::ranges::all_of(memory_, is_deleted);
  });
  is_in_use_ = rest == Rest::kUnknown;
  for (Memory& memory : memory_) {
    if (!is_in_use_ && !in_place()) context_.buffers().forget(memory.buffer.bytes);
    // If the counts are there, other words may still be on their way.
    if (is_in_use_ || in_place()) keep_for_ever(memory.image.release());
    memory.buffer = {};
  }
}

ClSheet::~ClSheet() {
  static_cast<void>(come_to_end());
  for (Memory& memory : memory_) {
    if (memory.buffer.bytes != 0) context_.buffers().give_back(std::move(memory.buffer));
  }
}

}  // namespace tensorstat::cl_engine

#include "kernels-cl/cuda/gpu_sheet.hpp"

#include <memory>
#include <utility>

namespace tensorstat::cl_engine {

using gpu::Called;
using gpu::Driver;
using gpu::Handle;

std::uint64_t SheetOnGpu::held_bytes() const {
  std::uint64_t bytes = 0;
  for (const OnGpu::Workspace& each : memory_) bytes += each.bytes;
  return bytes;
}

Result<Sheet::Page> SheetOnGpu::make_page(std::uint64_t bytes, std::uint64_t least) {
  memory_.reserve(memory_.size() + 1);
  auto made = gpu_.take_workspace(lane_, bytes);
  if (!made && made.error().code == Code::kOverBudget && least < bytes) made = gpu_.take_workspace(lane_, least);
  if (!made) return made.error();
  memory_.push_back(*made);
  return Page{.image = static_cast<std::int64_t*>(made->on_host), .words = made->bytes / kWordBytes};
}

Result<std::unique_ptr<Sheet>> GpuSheet::make(OnGpu& gpu, gpu::Lane& lane) {
  std::unique_ptr<GpuSheet> sheet(new GpuSheet(gpu, lane));
  const Driver& driver = gpu.driver();
  const Called called = driver.inside(gpu.context(), [&] {
    const Called made = driver.call(driver.event_create, &sheet->opened_, gpu::kDisableTiming);
    if (!made) return made;
    return driver.call(driver.event_create, &sheet->closed_, gpu::kDisableTiming | gpu::kBlockingSync);
  });
  if (!called) return gpu.failure(called, "opening a board");
  return std::unique_ptr<Sheet>(std::move(sheet));
}

Status GpuSheet::upload(std::size_t page, std::size_t first, std::size_t end, const char* what) {
  if (first == end) return {};
  const Driver& driver = gpu_.driver();
  is_under_way_ = true;
  const Called called =
      driver.call(driver.copy_to_device, memory_[page].on_device + first * kWordBytes,
                  static_cast<const void*>(pages()[page].image + first), (end - first) * kWordBytes, stream_);
  return called ? Status{} : Status(gpu_.failure(called, what));
}

Status GpuSheet::open() {
  const Driver& driver = gpu_.driver();
  has_closed_ = false;
  stream_ = lane_.stream();
  Status status;
  const Called called = driver.inside(gpu_.context(), [&] {
    status = Sheet::open();
    return driver.call(driver.event_record, opened_, stream_);
  });
  is_opening_ = true;
  if (status && !called) status = gpu_.failure(called, "emptying a board");
  return status;
}

// Asks first: the emptying is usually over, and then no stream has to wait for it.
Called GpuSheet::wait_for_opening() {
  if (!is_opening_) return {};
  const Driver& driver = gpu_.driver();
  const Called asked = driver.call(driver.event_query, opened_);
  is_opening_ = !asked;
  return asked.outcome == gpu::kNotReady ? driver.call(driver.stream_wait_event, stream_, opened_, 0u) : asked;
}

// Whatever was enqueued is followed, also behind a failed call: then the copy of this step waits for it, and the memory
// can be used again.
Result<std::size_t> GpuSheet::fold(const Task& task, Handle kernel) {
  stream_ = static_cast<Handle>(task.operands[0].stream);
  if (Status status = lane_.refuse_capture(stream_); !status) return status.error();
  const auto begin = [&] { return wait_for_opening(); };
  const auto prepare = [&](std::size_t) {
    is_under_way_ = true;
    return Called();
  };
  const auto end = [&] {
    const Called joined = lane_.join(stream_);
    is_in_doubt_ = is_in_doubt_ || !joined;
    return joined;
  };
  return fold_inside(task, kernel, stream_, "folding on a board of ", begin, prepare, end);
}

void GpuSheet::close() noexcept {
  has_closed_ = true;
  if (!is_under_way_) return;
  const Driver& driver = gpu_.driver();
  failed_ = driver.inside(gpu_.context(), [&] {
    Called done;
    for (std::size_t i = 0; done && i < memory_.size(); ++i) {
      const Page& page = pages()[i];
      if (page.partials_end == 0) continue;
      done = driver.call(driver.copy_to_host, static_cast<void*>(page.image), memory_[i].on_device,
                         page.partials_end * kWordBytes, lane_.stream());
    }
    return done ? driver.call(driver.event_record, closed_, lane_.stream()) : done;
  });
}

bool GpuSheet::come_to_end() noexcept {
  if (!has_closed_) close();
  if (std::exchange(is_under_way_, false) && failed_) {
    const Driver& driver = gpu_.driver();
    failed_ = driver.inside(gpu_.context(), [&] { return driver.call(driver.event_synchronize, closed_); });
  }
  is_in_doubt_ = is_in_doubt_ || !failed_;
  return bool(failed_);
}

GpuSheet::~GpuSheet() {
  static_cast<void>(come_to_end());
  for (const OnGpu::Workspace& each : memory_) gpu_.give_back(each, !is_in_doubt_);
  const Driver& driver = gpu_.driver();
  const auto destroy = [&] {
    for (Handle* const each : {&opened_, &closed_}) {
      if (*each != nullptr) driver.event_destroy.address(std::exchange(*each, nullptr));
    }
    return Called();
  };
  driver.inside(gpu_.context(), destroy);
  destroy();  // if the context could not be set
}

}  // namespace tensorstat::cl_engine

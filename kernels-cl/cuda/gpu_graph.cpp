#include "kernels-cl/cuda/gpu_graph.hpp"

#include <optional>
#include <string>
#include <utility>

#include "stats/core/base/abandon.hpp"

namespace tensorstat::cl_engine {

using gpu::Called;
using gpu::Driver;
using gpu::Handle;

namespace {

// Replays whose steps may be there.
constexpr std::size_t kMostReplays = 64;
constexpr std::size_t kMostSpareMirrors = 4;

}  // namespace

GraphSheet::~GraphSheet() {
  const Driver& driver = gpu_.driver();
  for (const OnGpu::Workspace& each : memory_) gpu_.give_back(each, false);
  const auto destroy = [&] {
    for (Upload& each : uploads_) {
      if (each.begun != nullptr) driver.event_destroy.address(std::exchange(each.begun, nullptr));
    }
    return Called();
  };
  driver.inside(gpu_.context(), destroy);
  destroy();  // if the context could not be set
}

// A replay reads the page's image when it comes to the upload: with the words of folds that are added later. The folds
// on other streams of the capture are behind it, too.
Called GraphSheet::begin_page(std::size_t page, Handle stream) {
  const Driver& driver = gpu_.driver();
  uploads_.resize(memory_.size());
  Upload& upload = uploads_[page];
  if (upload.begins_on == stream) return {};
  if (upload.begins_on != nullptr) return driver.call(driver.stream_wait_event, stream, upload.begun, 0u);
  const OnGpu::Workspace& memory = memory_[page];
  Called done;
  if (upload.begun == nullptr) done = driver.call(driver.event_create, &upload.begun, gpu::kDisableTiming);
  if (done) {
    done = driver.call(driver.copy_to_device, memory.on_device, static_cast<const void*>(memory.on_host),
                       std::size_t{memory.bytes}, stream);
  }
  if (done) done = driver.call(driver.event_record, upload.begun, stream);
  if (done) upload.begins_on = stream;
  return done;
}

Result<std::size_t> GraphSheet::fold(const Task& task, Handle kernel) {
  const auto stream = static_cast<Handle>(task.operands[0].stream);
  const auto nothing = [] { return Called(); };
  const auto prepare = [&](std::size_t page) { return begin_page(page, stream); };
  return fold_inside(task, kernel, stream, "adding a fold to a graph on ", nothing, prepare, nothing);
}

std::uint64_t GraphSheet::result_bytes() const {
  std::uint64_t bytes = 0;
  for (const Page& page : pages()) bytes += page.partials_end * kWordBytes;
  return bytes;
}

Called GraphSheet::copy_results(std::byte* to, Handle stream) const {
  const Driver& driver = gpu_.driver();
  Called done;
  for (std::size_t i = 0; done && i < memory_.size(); ++i) {
    const std::size_t bytes = pages()[i].partials_end * kWordBytes;
    if (bytes == 0) continue;
    done = driver.call(driver.copy_to_host, static_cast<void*>(to), memory_[i].on_device, bytes, stream);
    to += bytes;
  }
  return done;
}

Status GraphSheet::merge_copied(std::byte* results, std::size_t fold, Partial& partial) const {
  std::vector<std::int64_t*> images;
  for (const Page& page : pages()) {
    images.push_back(reinterpret_cast<std::int64_t*>(results));
    results += page.partials_end * kWordBytes;
  }
  return merge_from(images, fold, partial);
}

// The results of one replay.
class GpuGraph::Replay final : public DeviceStep {
 public:
  Replay(std::shared_ptr<GpuGraph> graph, const Mirror& mirror) : graph_(std::move(graph)), mirror_(mirror) {}
  ~Replay() override {
    if (graph_->lanes_.forked()) {
      abandon(std::make_unique<std::shared_ptr<GpuGraph>>(std::move(graph_)));
    } else {
      graph_->give_back(mirror_, wait().operator bool());
    }
  }

  Status wait() override {
    if (graph_->lanes_.forked()) return Error{Code::kDevice, "a forked child cannot use its parent's GPU"};
    const std::lock_guard lock(mutex_);
    if (!outcome_) {
      const OnGpu& gpu = *graph_->gpu_;
      const Driver& driver = gpu.driver();
      outcome_ = driver.inside(gpu.context(), [&] { return driver.call(driver.event_synchronize, mirror_.copied); });
    }
    return *outcome_ ? Status{} : Status(graph_->gpu_->failure(*outcome_, "reading the results of a graph"));
  }
  Status merge_into(std::size_t fold, Partial& partial) override {
    const std::lock_guard lock(graph_->mutex_);
    return graph_->sheet_->merge_copied(static_cast<std::byte*>(mirror_.memory), fold, partial);
  }
  std::uint64_t held_bytes() const override { return graph_->sheet_->held_bytes(); }

 private:
  std::shared_ptr<GpuGraph> graph_;
  const Mirror mirror_;
  std::mutex mutex_;  // of wait()
  std::optional<Called> outcome_;
};

GpuGraph::GpuGraph(gpu::Lanes& lanes, gpu::Lanes::Lent lane, std::shared_ptr<OnGpu> gpu, const Wanted& wanted)
    : lanes_(lanes),
      gpu_(std::move(gpu)),
      lane_(std::move(lane)),
      folds_(lanes, gpu_, lane_->device(), wanted),
      sheet_(std::make_unique<GraphSheet>(*gpu_, *lane_)) {
  spare_.reserve(kMostReplays);
  in_doubt_.reserve(kMostReplays);
}

GpuGraph::~GpuGraph() {
  if (lanes_.forked()) {
    abandon(std::move(sheet_));
    return;
  }
  for (const auto* all : {&spare_, &in_doubt_}) {
    for (const Mirror& each : *all) free(each);
  }
}

Result<std::size_t> GpuGraph::fold(const Tensor& tensor) {
  const auto maker = folds_.get(tensor.dtype);
  if (!maker) return maker.error();
  const std::lock_guard lock(mutex_);
  if (is_complete_) return Error{Code::kInvalid, "the graph has been replayed: its capture is over"};
  const auto capture = lane_->capture_of(static_cast<Handle>(tensor.stream));
  if (!capture) return capture.error();
  if (*capture == 0) return Error{Code::kInvalid, "the tensor's stream is not being captured"};
  if (capture_ != 0 && capture_ != *capture) {
    return Error{Code::kUnsupported, "the tensor's stream is captured into another graph"};
  }
  capture_ = *capture;
  return sheet_->fold(maker->task_of(tensor), maker->kernel);
}

Result<GpuGraph::Mirror> GpuGraph::take_mirror(std::uint64_t bytes) {
  if (replays_ + in_doubt_.size() >= kMostReplays) {
    return Error{Code::kOverBudget, std::to_string(replays_) + " replays of the graph wait for the GPU, or are kept"};
  }
  if (!spare_.empty()) {
    const Mirror mirror = spare_.back();
    spare_.pop_back();
    return mirror;
  }
  Mirror made;
  const Driver& driver = gpu_->driver();
  const Called called = driver.inside(gpu_->context(), [&] {
    const Called done = driver.call(driver.host_allocate, &made.memory, std::size_t{bytes}, 0u);
    return done ? driver.call(driver.event_create, &made.copied, gpu::kDisableTiming | gpu::kBlockingSync) : done;
  });
  if (called) return made;
  free(made);
  return gpu_->failure(called, "the memory for a graph's results");
}

void GpuGraph::give_back(const Mirror& mirror, bool is_quiet) noexcept {
  const std::lock_guard lock(mutex_);
  --replays_;
  if (!is_quiet) return in_doubt_.push_back(mirror);
  if (spare_.size() < kMostSpareMirrors) return spare_.push_back(mirror);
  free(mirror);
}

void GpuGraph::free(Mirror mirror) const {
  const Driver& driver = gpu_->driver();
  const auto free_all = [&] {
    if (mirror.copied != nullptr) driver.event_destroy.address(std::exchange(mirror.copied, nullptr));
    if (mirror.memory != nullptr) driver.host_free.address(std::exchange(mirror.memory, nullptr));
    return Called();
  };
  driver.inside(gpu_->context(), free_all);
  free_all();  // if the context could not be set
}

Result<std::shared_ptr<DeviceStep>> GpuGraph::replayed(void* stream) {
  const auto on = static_cast<Handle>(stream);
  const std::lock_guard lock(mutex_);
  if (const auto capture = lane_->capture_of(on); !capture || *capture != 0) {
    return capture ? Error{Code::kUnsupported, "a graph inside of a captured graph has no results"} : capture.error();
  }
  is_complete_ = true;  // results have one layout
  if (sheet_->result_bytes() == 0) return Error{Code::kInvalid, "the graph has no folds"};
  const auto mirror = take_mirror(sheet_->result_bytes());
  if (!mirror) return mirror.error();
  ++replays_;
  const Driver& driver = gpu_->driver();
  const Called called = driver.inside(gpu_->context(), [&] {
    const Called copied = sheet_->copy_results(static_cast<std::byte*>(mirror->memory), on);
    return copied ? driver.call(driver.event_record, mirror->copied, on) : copied;
  });
  if (!called) {
    --replays_;
    in_doubt_.push_back(*mirror);  // a copy may be under way
    return gpu_->failure(called, "reading the results of a graph");
  }
  return std::shared_ptr<DeviceStep>(std::make_shared<Replay>(shared_from_this(), *mirror));
}

}  // namespace tensorstat::cl_engine

#include "stats/engine.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels-cl/session.hpp"
#include "stats/ledger.hpp"

namespace tensorstat {
namespace cl_engine {
namespace {

// Slices in one batch: what it takes on the way stays small beside the tensors.
constexpr std::size_t kMostSlices = 1 << 16;
// Host memory that a device cannot share goes through a window of at most this.
constexpr std::uint64_t kWindowBytes = std::uint64_t{64} << 20;

class OpenClEngine final : public DeviceEngine {
 public:
  explicit OpenClEngine(std::unique_ptr<Session> session) : session_(std::move(session)) {}

  // A forked child cannot release what is the parent's: it would wait for threads that it does not have.
  ~OpenClEngine() override {
    if (session_->forked()) static_cast<void>(session_.release());
  }

  std::string_view name() const override { return "opencl"; }
  std::string description() const override {
    return session_->device().info.platform_name + ": " + session_->device().info.name;
  }
  bool shares_host_memory() const override { return session_->device().shares_host_memory; }
  std::string refusal(const Tensor& tensor, Precision precision) const override {
    return session_->refusal(tensor, precision);
  }

  Status fold(std::span<const Job> jobs) override {
    std::vector<Partial> results;
    results.reserve(jobs.size());
    for (const Job& job : jobs) {
      results.emplace_back(job.partial->dtype(), job.partial->precision(), job.partial->needs());
    }
    if (Status status = fold_in_place(jobs, results); !status) return status;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (session_->in_place(jobs[i].tensor)) continue;
      if (Status status = fold_uploaded(jobs[i].tensor, results[i]); !status) return status;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (Status status = jobs[i].partial->merge(results[i]); !status) return status;
    }
    return {};
  }

  Status read(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes) override {
    if (session_->forked()) return Error{Code::kDevice, "the process has forked since the device was opened"};
    const char* doing = "reading a tensor back from the device";
    const cl_command_queue queue = session_->queue()();
    cl::Event done;
    cl_int code = clEnqueueReadBuffer(queue, static_cast<cl_mem>(const_cast<void*>(tensor.address)), CL_FALSE,
                                      tensor.offset_bytes + first, bytes.size(), bytes.data(), 0, nullptr, &done());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueReadBuffer", code);
    code = clWaitForEvents(1, &done());
    if (code == CL_SUCCESS) return {};
    clFinish(queue);  // or it might still write into `bytes`
    return error(doing, "clWaitForEvents", code);
  }

 private:
  // In one batch, or in as many as the budget makes of it.
  Status fold_in_place(std::span<const Job> jobs, std::span<Partial> results) {
    std::uint64_t total_bytes = 0;
    for (const Job& job : jobs) total_bytes += job.tensor.bytes();
    std::vector<Piece> pieces;
    std::vector<cl::Buffer> sources;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!session_->in_place(jobs[i].tensor)) continue;
      if (Status status = session_->add(jobs[i].tensor, results[i].needs(), i, total_bytes, pieces, sources); !status) {
        return status;
      }
    }
    return fold_pieces(session_->queue(), pieces, sources, results);
  }

  Status fold_pieces(const cl::CommandQueue& queue, std::span<const Piece> pieces, const std::vector<cl::Buffer>& sources,
                     std::span<Partial> results) {
    while (!pieces.empty()) {
      const std::uint64_t room = session_->pool().room_bytes();
      std::uint64_t bytes = 0;
      std::size_t taken = 0;
      while (taken < std::min(pieces.size(), kMostSlices) && bytes + workspace_bytes(pieces[taken]) <= room) {
        bytes += workspace_bytes(pieces[taken++]);
      }
      if (taken == 0) {
        return Error{Code::kOverBudget, "the budget leaves " + std::to_string(room) + " bytes, and a slice needs " +
                                            std::to_string(workspace_bytes(pieces[0]))};
      }
      auto batch = session_->enqueue(queue, {pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(taken)},
                                     sources);
      if (!batch) return batch.error();
      if (Status status = batch->collect(results); !status) return status;
      pieces = pieces.subspan(taken);
    }
    return {};
  }

  // Through a window of bounded size, whatever the tensor's.
  Status fold_uploaded(const Tensor& tensor, Partial& result) {
    const std::uint64_t element_bytes = size_bytes(tensor.dtype);
    const std::uint64_t most =
        std::min({kWindowBytes, tensor.bytes(), session_->pool().room_bytes() / 2}) / element_bytes * element_bytes;
    if (tensor.element_count == 0) return {};
    if (most == 0) return Error{Code::kOverBudget, "the budget has no room for a staging window"};
    auto window = session_->pool().take(most, "a staging window");
    if (!window) return window.error();
    const Status status = fold_through(*window, most, tensor, result);
    session_->pool().give_back(*std::move(window));
    return status;
  }

  Status fold_through(const Pool::Buffer& window, std::uint64_t window_bytes, const Tensor& tensor, Partial& result) {
    for (std::uint64_t first = 0; first < tensor.bytes(); first += window_bytes) {
      const std::uint64_t bytes = std::min(window_bytes, tensor.bytes() - first);
      const auto* address = static_cast<const std::byte*>(tensor.address) + tensor.offset_bytes + first;
      const cl_int code = session_->own_queue().enqueueWriteBuffer(window.memory, CL_TRUE, 0, bytes, address);
      if (code != CL_SUCCESS) return error("uploading a tensor", "clEnqueueWriteBuffer", code);
      std::vector<Piece> pieces;
      cut(session_->device(),
          {window.memory(), tensor.dtype, result.needs(), 0, 0, bytes / size_bytes(tensor.dtype)}, bytes, pieces);
      if (Status status = fold_pieces(session_->own_queue(), pieces, {}, {&result, 1}); !status) return status;
    }
    return {};
  }

  std::unique_ptr<Session> session_;
};

}  // namespace
}  // namespace cl_engine

Result<std::unique_ptr<DeviceEngine>> make_opencl_engine(const MeterOptions& options, Ledger& ledger) {
  auto session = cl_engine::Session::open(options, ledger);
  if (!session) return session.error();
  return std::unique_ptr<DeviceEngine>(std::make_unique<cl_engine::OpenClEngine>(*std::move(session)));
}

}  // namespace tensorstat

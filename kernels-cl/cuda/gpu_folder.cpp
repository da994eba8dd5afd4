// The engine over CUDA's driver. It sorts tensors by their GPUs, has the streams of their values followed, and cuts
// them into the pieces that OnGpu folds.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels-cl/cuda/gpu_board.hpp"
#include "kernels-cl/cuda/gpu_graph.hpp"
#include "kernels-cl/launch/batch.hpp"
#include "stats/core/base/abandon.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::cl_engine {
namespace {

using gpu::Driver;
using gpu::Handle;
using gpu::Lane;
using gpu::Lanes;

class CudaFolder final : public GpuFolder {
 public:
  CudaFolder(Lanes& lanes, Ledger& ledger) : lanes_(lanes), ledger_(ledger), gpus_(std::make_unique<Gpus>()) {}
  ~CudaFolder() override {
    if (lanes_.forked()) abandon(std::move(gpus_));
  }

  std::string refusal(const Tensor& tensor, const Wanted& wanted) override {
    if ((wanted.needs & kQuantiles) != 0) return "the host counts quantiles";
    const Needs needs = static_cast<Needs>(wanted.needs & ~kDigests);
    const Partial partial(tensor.dtype, wanted.precision, needs, wanted.cast_scale);
    return refusal_of(std::array{tensor}, {tensor.dtype, kernel_needs(partial)});
  }
  std::string refusal(const TensorPair& pair) override {
    for (const Tensor& tensor : {pair.a, pair.b}) {
      if (unpacks(tensor.dtype)) return "tensors of " + std::string(name(tensor.dtype)) + " are compared on the host";
    }
    return refusal_of(std::array{pair.a, pair.b}, {pair.a.dtype, kNothing, pair.b.dtype});
  }

  std::unique_ptr<DeviceBoard> board(const Wanted& wanted) override { return std::make_unique<Boards>(*this, wanted); }
  std::unique_ptr<DeviceGraph> graph(const Wanted& wanted) override { return std::make_unique<Graph>(*this, wanted); }

  Result<std::uint64_t> fold(std::span<const Job> jobs) override { return fold_all(jobs); }
  Result<std::uint64_t> compare(std::span<const PairJob> jobs) override { return fold_all(jobs); }

 private:
  using Gpus = MadeOnce<int, std::shared_ptr<OnGpu>>;

  // A board on each GPU that has tensors.
  class Boards final : public DeviceBoard {
   public:
    Boards(CudaFolder& folder, const Wanted& wanted) : folder_(folder), wanted_(wanted) {}

    Result<Fold> fold(const Tensor& tensor) override {
      const auto place = folder_.lanes_.find(tensor);
      if (!place) return place.error();
      if (std::string why = folder_.refusal_there(tensor, *place); !why.empty()) {
        return Error{Code::kUnsupported, std::move(why)};
      }
      const auto board = boards_.get({place->device, place->context}, [&] { return open(*place); });
      return board ? (*board)->fold(tensor) : board.error();
    }
    void end_step() override {
      if (folder_.lanes_.forked()) return;
      boards_.for_each([](const std::shared_ptr<GpuBoard>& each) { each->end_step(); });
    }

   private:
    Result<std::shared_ptr<GpuBoard>> open(const Lanes::Place& place) {
      auto lane = folder_.lanes_.lend(place);
      if (!lane) return lane.error();
      auto gpu = folder_.on(**lane);
      if (!gpu) return gpu.error();
      return std::make_shared<GpuBoard>(folder_.lanes_, *std::move(lane), *std::move(gpu), wanted_);
    }

    CudaFolder& folder_;
    const Wanted wanted_;
    MadeOnce<std::pair<int, Handle>, std::shared_ptr<GpuBoard>> boards_;  // lend() refuses another context
  };

  // A graph on the GPU of its first tensor.
  class Graph final : public DeviceGraph {
   public:
    Graph(CudaFolder& folder, const Wanted& wanted) : folder_(folder), wanted_(wanted) {}

    Result<std::size_t> fold(const Tensor& tensor) override {
      const auto place = folder_.lanes_.find(tensor);
      if (!place) return place.error();
      if (std::string why = folder_.refusal_there(tensor, *place); !why.empty()) {
        return Error{Code::kUnsupported, std::move(why)};
      }
      const auto graph = on(*place);
      return graph ? (*graph)->fold(tensor) : graph.error();
    }
    Result<std::shared_ptr<DeviceStep>> replayed(void* stream) override {
      if (folder_.lanes_.forked()) return Error{Code::kDevice, "a forked child cannot use its parent's GPU"};
      std::shared_ptr<GpuGraph> graph;
      {
        const std::lock_guard lock(mutex_);
        graph = graph_;
      }
      if (graph == nullptr) return Error{Code::kInvalid, "the graph has no folds"};
      return graph->replayed(stream);
    }

   private:
    Result<std::shared_ptr<GpuGraph>> on(Lanes::Place place) {
      const std::lock_guard lock(mutex_);
      if (graph_ != nullptr && place.context == nullptr) place.context = place_.context;
      if (graph_ != nullptr && place_ != place) {
        return Error{Code::kUnsupported, "the graph has tensors on another GPU"};
      }
      if (graph_ == nullptr) {
        auto lane = folder_.lanes_.lend(place);
        if (!lane) return lane.error();
        auto gpu = folder_.on(**lane);
        if (!gpu) return gpu.error();
        graph_ = std::make_shared<GpuGraph>(folder_.lanes_, *std::move(lane), *std::move(gpu), wanted_);
        place_ = place;
        place_.context = graph_->context();
      }
      return graph_;
    }

    CudaFolder& folder_;
    const Wanted wanted_;
    std::mutex mutex_;
    std::shared_ptr<GpuGraph> graph_;
    Lanes::Place place_;
  };

  // The tensors on one GPU. The lane follows their streams.
  struct Party {
    Lanes::Place place;
    Lanes::Lent lane;
    std::shared_ptr<OnGpu> gpu;
    std::vector<const void*> streams{};
    std::vector<Piece> pieces{};
  };

  Result<std::shared_ptr<OnGpu>> on(Lane& lane) {
    return gpus_->get(lane.device(), [&]() -> Result<std::shared_ptr<OnGpu>> {
      auto made = std::make_shared<OnGpu>(lane.driver(), lane.device(), ledger_);
      if (Status status = made->open(lane); !status) return status.error();
      return made;
    });
  }

  // Why no kernel can fold this tensor, whatever is wanted; empty if one can.
  std::string refusal_there(const Tensor& tensor, const Lanes::Place& place) {
    if (has_failed_) return "a kernel failed there earlier";
    if (tensor.where == Where::kRocm) return "ROCm's runtime takes no PTX";
    if (reinterpret_cast<std::uintptr_t>(tensor.data()) % size_bytes(tensor.dtype) != 0)
      return "it begins inside an element's alignment";
    const Driver& driver = *place.driver;
    if (driver.launches_miss != nullptr) return std::string("the driver has no ") + driver.launches_miss;
    return "";
  }

  // Why the kernel cannot fold these tensors; empty if it can.
  std::string refusal_of(std::span<const Tensor> tensors, const KernelKind& kind) {
    Result<Lanes::Place> place = Lanes::Place();
    for (const Tensor& tensor : tensors) {
      if (!is_in_gpu_memory(tensor.where)) return "the other tensor is not in its memory";
      const auto next = lanes_.find(tensor);
      if (!next) return next.error().message;
      if (&tensor != &tensors.front() && *next != *place) return "the other tensor is on another GPU";
      place = next;
      if (std::string why = refusal_there(tensor, *next); !why.empty()) return why;
    }
    auto lane = lanes_.lend(*place);
    if (!lane) return lane.error().message;
    const auto gpu = on(**lane);
    if (!gpu) return gpu.error().message;
    bool are_allocated = true;
    const gpu::Called asked = (*lane)->driver().inside((*lane)->context(), [&] {
      are_allocated =
          std::ranges::all_of(tensors, [&](const Tensor& each) { return is_allocated((*lane)->driver(), each); });
      return gpu::Called();
    });
    if (!asked) return (*lane)->driver().words(asked);
    if (!are_allocated) return kIsNotAllocated;
    const auto kernel = (*gpu)->kernel(**lane, kind);
    return kernel ? "" : kernel.error().message;
  }

  template <typename AnyJob>
  Result<std::uint64_t> fold_all(std::span<const AnyJob> jobs) {
    std::vector<Party> parties;
    std::uint64_t total_bytes = 0, held_bytes = 0;
    for (const AnyJob& job : jobs) total_bytes += job.bytes();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Task task = task_of(jobs[i]);
      if (task.count() == 0) continue;
      auto party = party_of(task.tensors(), parties);
      if (!party) return party.error();
      Piece whole = task.piece(i, 0, task.count());
      for (std::size_t k = 0; k < task.tensors().size(); ++k) whole.sources[k] = source_of(task.tensors()[k]);
      cut((*party)->gpu->device(), whole, total_bytes, (*party)->pieces);
    }
    for (Party& party : parties) {
      const Status folded = party.gpu->fold(
          *party.lane, party.pieces, [&party](const KernelKind& kind) { return party.gpu->kernel(*party.lane, kind); },
          [jobs](const BatchLayout::Target& target, std::span<const std::int64_t> words) {
            merge_words(*jobs[target.job].partial, words, target.first_element, Maxima::kBiased);
          },
          held_bytes);
      if (folded) continue;
      has_failed_ = has_failed_ || folded.error().code == Code::kDevice;
      return folded.error();
    }
    return held_bytes;
  }

  Result<Party*> party_of(std::span<const Tensor> tensors, std::vector<Party>& parties) {
    const auto place = lanes_.find(tensors[0]);
    if (!place) return place.error();
    auto party = std::ranges::find(parties, *place, &Party::place);
    if (party == parties.end()) {
      auto lane = lanes_.lend(*place);
      if (!lane) return lane.error();
      auto gpu = on(**lane);
      if (!gpu) return gpu.error();
      party = parties.insert(party, {*place, *std::move(lane), *std::move(gpu)});
    }
    for (const Tensor& tensor : tensors) {
      if (std::ranges::find(party->streams, tensor.stream) != party->streams.end()) continue;
      if (Status status = party->lane->follow(static_cast<Handle>(tensor.stream)); !status) return status.error();
      party->streams.push_back(tensor.stream);
    }
    return &*party;
  }

  Lanes& lanes_;
  Ledger& ledger_;
  std::unique_ptr<Gpus> gpus_;
  std::atomic<bool> has_failed_{false};
};

}  // namespace
}  // namespace tensorstat::cl_engine

namespace tensorstat {

std::unique_ptr<GpuFolder> make_gpu_folder(gpu::Lanes& lanes, Ledger& ledger) {
  return std::make_unique<cl_engine::CudaFolder>(lanes, ledger);
}

}  // namespace tensorstat

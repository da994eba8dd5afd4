#include "kernels-cl/cuda/on_gpu.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "kernels-cl/launch/batch.hpp"
#include "kernels-cl/launch/self_check.hpp"

namespace tensorstat::cl_engine {

using gpu::Called;
using gpu::Handle;
using gpu::Lane;

// A kernel that reads memory without an allocation ends all work of the process on the GPU. A tensor can lie in several
// adjacent allocations (PyTorch's expandable segments).
bool is_allocated(const gpu::Driver& driver, const Tensor& tensor) {
  auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(tensor.data()));
  const std::uint64_t end = address + tensor.bytes();
  while (address < end) {
    std::uint64_t base = 0;
    std::size_t bytes = 0;
    if (!driver.call(driver.address_range, &base, &bytes, address) || base + bytes <= address) return false;
    address = base + bytes;
  }
  return true;
}

Error OnGpu::failure(const Called& called, const std::string& doing) const {
  const Code code = called.outcome == gpu::kOutOfMemory ? Code::kOverBudget : Code::kDevice;
  return {code, doing + ": " + driver_.words(called)};
}

// Everything is freed, whatever fails.
OnGpu::~OnGpu() {
  if (context_ == nullptr) return;
  const auto free_all = [this] {
    for (auto* all : {&idle_, &in_doubt_}) {
      for (const Workspace& each : std::exchange(*all, {})) free(each);
    }
    for (const Handle module : std::exchange(modules_, {})) driver_.module_unload.address(module);
    return Called();
  };
  driver_.inside(context_, free_all);
  free_all();
  driver_.context_release.address(device_);
}

Status OnGpu::open(Lane& lane) {
  std::array<char, 256> name{};
  int units = 0, major = 0, minor = 0;
  Called called = driver_.call(driver_.context_retain, &context_, device_);
  if (!called) context_ = nullptr;
  if (called) called = driver_.call(driver_.device_name, name.data(), static_cast<int>(name.size()) - 1, device_);
  if (called) called = driver_.call(driver_.driver_version, &gpu_.driver_version);
  if (called) called = driver_.call(driver_.device_attribute, &units, gpu::kUnits, device_);
  if (called) called = driver_.call(driver_.device_attribute, &major, gpu::kMajor, device_);
  if (called) called = driver_.call(driver_.device_attribute, &minor, gpu::kMinor, device_);
  if (!called) return failure(called, "asking for the GPU");
  gpu_.name = name.data();
  gpu_.capability = static_cast<std::uint32_t>(10 * major + minor);
  gpu_.units = static_cast<std::uint32_t>(std::max(units, 1));
  gpu_.folder = lane.driver().folder;
  traits_ = device_of(gpu_);
  return {};
}

Result<Handle> OnGpu::kernel(Lane& lane, const KernelKind& kind) {
  auto made = kernels_.get(kind, [&]() -> Result<Result<Handle>> {
    auto attempt = made_kernel(lane, kind);
    if (!attempt && attempt.error().code == Code::kOverBudget) return attempt.error();
    return attempt;
  });
  return made ? *std::move(made) : Result<Handle>(made.error());
}

Result<Handle> OnGpu::made_kernel(Lane& lane, const KernelKind& kind) {
  const auto ptx = ptx_of(gpu_, kind);
  if (!ptx) return ptx.error();
  const std::string doing = "the kernel of " + kind.name() + " on " + gpu_.name;
  Handle module = nullptr, function = nullptr;
  const Called called = lane.inside([&] {
    const Called loaded = driver_.call(driver_.module_load, &module, static_cast<const void*>(ptx->c_str()));
    return loaded ? driver_.call(driver_.module_function, &function, module, "fold") : loaded;
  });
  if (module != nullptr) {
    const std::lock_guard lock(mutex_);
    modules_.push_back(module);
  }
  if (!called) return failure(called, doing);
  // The check: the kernel folds a tensor, and we know the partial.
  const KnownAnswer answer(kind);
  auto memory = take_workspace(lane, answer.bytes().size());
  if (!memory) return memory.error();
  std::memcpy(memory->on_host, answer.bytes().data(), answer.bytes().size());
  const Called copied = lane.inside([&] {
    return driver_.call(driver_.copy_to_device, memory->on_device, static_cast<const void*>(memory->on_host),
                        answer.bytes().size(), lane.stream());
  });
  std::vector<std::int64_t> words_folded;
  const auto fold_into = [&](auto partial) -> Status {
    if (!copied) return failure(copied, doing);
    std::uint64_t held_bytes = 0;
    Status folded = fold(
        lane, answer.pieces(traits_, {nullptr, memory->on_device}), [&](const KernelKind&) { return function; },
        [&](const BatchLayout::Target& target, std::span<const std::int64_t> words) {
          merge_words(partial, words, target.first_element, Maxima::kBiased);
        },
        held_bytes);
    words_folded.assign(partial.words().begin(), partial.words().end());
    return folded;
  };
  const Status folded = kind.beside ? fold_into(PairPartial(kind.dtype, *kind.beside, answer.tolerance()))
                                    : fold_into(Partial(kind.dtype, Precision::kHigh, kind.needs));
  give_back(*memory, folded.operator bool());
  if (!folded) return folded.error();
  if (Status status = answer.check(words_folded, {}, doing); !status) return status.error();
  return function;
}

Result<OnGpu::Workspace> OnGpu::take_workspace(Lane& lane, std::uint64_t bytes) {
  Workspace workspace;
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::ranges::find_if(idle_, [&](const Workspace& each) { return each.bytes >= bytes; });
    if (fits != idle_.end()) {
      workspace = *fits;
      idle_.erase(fits);
      return workspace;
    }
  }
  workspace.bytes = std::max(std::bit_ceil(bytes), kLeastWorkspace);
  if (!ledger_.reserve(workspace.bytes)) {
    return Error{Code::kOverBudget, "the budget leaves " + std::to_string(ledger_.free_bytes()) +
                                        " bytes, and a batch needs " + std::to_string(workspace.bytes)};
  }
  const Called called = lane.inside([&] {
    const Called allocated = driver_.call(driver_.allocate, &workspace.on_device, std::size_t{workspace.bytes});
    return allocated ? driver_.call(driver_.host_allocate, &workspace.on_host, std::size_t{workspace.bytes}, 0u)
                     : allocated;
  });
  if (called) {
    const std::lock_guard lock(mutex_);
    ++workspaces_;
    idle_.reserve(workspaces_);  // so that giving back needs no memory
    in_doubt_.reserve(workspaces_);
    return workspace;
  }
  const auto free_workspace = [&] { return free(std::exchange(workspace, {})), Called(); };
  lane.inside(free_workspace);
  free_workspace();
  return failure(called, "the memory of a batch");
}

// If not all work is known to have ended, it is not used again.
void OnGpu::give_back(const Workspace& workspace, bool is_quiet) noexcept {
  const std::lock_guard lock(mutex_);
  (is_quiet ? idle_ : in_doubt_).push_back(workspace);
}

void OnGpu::free(const Workspace& workspace) const {
  if (workspace.on_device != 0) driver_.free.address(workspace.on_device);
  if (workspace.on_host != nullptr) driver_.host_free.address(workspace.on_host);
  ledger_.release(workspace.bytes);
}

Status OnGpu::fold(Lane& lane, std::span<const Piece> pieces, const KernelOf& kernel_of, const Take& take,
                   std::uint64_t& held_bytes) {
  while (!pieces.empty()) {
    const auto now = pieces.first(std::max<std::size_t>(batch_length(traits_, pieces, kMostWorkspace), 1));
    if (Status status = fold_batch(lane, {now.begin(), now.end()}, kernel_of, take, held_bytes); !status) return status;
    pieces = pieces.subspan(now.size());
  }
  return {};
}

Called OnGpu::launch(const BatchLayout& layout, const BatchLayout::Launch& each, Handle kernel, std::uint64_t workspace,
                     Handle stream) const {
  const std::span<const Piece> pieces = layout.pieces(each);
  const PairTolerance& tolerance = pieces[0].tolerance;
  // No sources: slices have addresses. The last three are a pair's.
  std::uint64_t none = 0, slices_at = each.slices_at * kWordBytes, partials_at = each.partials_at * kWordBytes;
  auto rtol = std::bit_cast<std::uint64_t>(tolerance.rtol), atol = std::bit_cast<std::uint64_t>(tolerance.atol);
  std::uint64_t greater = tolerance.scale == PairTolerance::Scale::kGreater ? 1 : 0;
  std::array<void*, 8> arguments = {&none, &none, &workspace, &slices_at, &partials_at, &rtol, &atol, &greater};
  void** const first = arguments.data() + (pieces[0].kind.beside ? 0 : 1);
  return launch(kernel, pieces.size(), stream, first);
}

Called OnGpu::launch(Handle kernel, std::size_t groups, Handle stream, void** arguments) const {
  return driver_.call(driver_.launch, kernel, static_cast<unsigned>(groups), 1u, 1u,
                      static_cast<unsigned>(traits_.group_size), 1u, 1u, 0u, stream, arguments, nullptr);
}

Status OnGpu::fold_batch(Lane& lane, std::vector<Piece> pieces, const KernelOf& kernel_of, const Take& take,
                         std::uint64_t& held_bytes) {
  const BatchLayout layout(traits_, std::move(pieces));
  std::vector<Handle> kernels;
  for (const BatchLayout::Launch& each : layout.launches()) {
    const auto kernel = kernel_of(layout.pieces()[each.first_piece].kind);
    if (!kernel) return kernel.error();
    kernels.push_back(*kernel);
  }
  const auto workspace = take_workspace(lane, layout.words() * kWordBytes);
  if (!workspace) return workspace.error();
  held_bytes = std::max(held_bytes, workspace->bytes);
  auto* const image = static_cast<std::int64_t*>(workspace->on_host);
  layout.fill(image, 0);
  layout.clear(image);
  bool is_quiet = false;  // nothing uses the workspace
  const Called called = lane.inside([&] {
    Called done = driver_.call(driver_.copy_to_device, workspace->on_device, static_cast<const void*>(image),
                               layout.zeros_end() * kWordBytes, lane.stream());
    for (std::size_t i = 0; done && i < kernels.size(); ++i) {
      done = launch(layout, layout.launches()[i], kernels[i], workspace->on_device, lane.stream());
    }
    const std::size_t results_at = layout.partials_at() * kWordBytes;
    if (done) {
      done = driver_.call(driver_.copy_to_host, static_cast<void*>(image + layout.partials_at()),
                          workspace->on_device + results_at, layout.words() * kWordBytes - results_at, lane.stream());
    }
    const Called waited = driver_.call(driver_.stream_synchronize, lane.stream());
    is_quiet = bool(waited);
    return done ? waited : done;
  });
  Status status;
  if (!called) status = failure(called, "folding on " + gpu_.name);
  for (const BatchLayout::Target& target : layout.targets()) {
    if (status && !target.is_written(image)) {
      status = Error{Code::kDevice, "a kernel left no result, though no call failed"};
    }
  }
  std::size_t next = 0;
  for (const BatchLayout::Launch& each : layout.launches()) {
    for (; status && next < each.end_target; ++next) {
      const BatchLayout::Target& target = layout.targets()[next];
      take(target, {image + target.words_at, each.words});
    }
  }
  give_back(*workspace, is_quiet);
  return status;
}

}  // namespace tensorstat::cl_engine

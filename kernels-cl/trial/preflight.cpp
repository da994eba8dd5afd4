// tensorstat-preflight makes the OpenCL calls that its parent process is about to make. If the driver aborts, it ends
// this process and not the parent (kernels-cl/trial/driver_trial.hpp).
//
//   tensorstat-preflight LIMITS [only=LIBRARY...] devices [DTYPE NEEDS [DTYPE]]
//   tensorstat-preflight LIMITS [only=LIBRARY...] kernel KEY DTYPE NEEDS [DTYPE]
//   tensorstat-preflight LIMITS ptx GPU CAPABILITY VERSION FOLDER DTYPE NEEDS [DTYPE]
//
// With only=LIBRARY these drivers alone are loaded, without OpenCL's loader. After the devices it writes kFoundDevices,
// and folds with the kernel, if one is named. The last makes a kernel for CUDA's driver
// (kernels-cl/cuda/ptx.hpp). A line that begins with kTriedKernel says the KEY of the kernel that it folded with.
// LIMITS are the three arguments that to_arguments (limits.hpp) writes. If everything succeeds, the last line on stdout
// is kTrialPassed, and the exit code is 0.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels-cl/cuda/ptx.hpp"
#include "kernels-cl/driver/opencl.hpp"
#include "kernels-cl/launch/queue_context.hpp"
#include "kernels-cl/program/binary_cache.hpp"
#include "kernels-cl/program/program.hpp"
#include "kernels-cl/trial/driver_trial.hpp"
#include "kernels-cl/trial/limits.hpp"
#include "stats/core/engine/ledger.hpp"

namespace tensorstat::cl_engine {
namespace {

// Leaves nothing behind: writes no core dump, ends with the parent, and closes the parent's descriptors.
void keep_quiet() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  std::ofstream("/proc/self/oom_score_adj") << 1000;  // where memory is short, this one goes
  const long open_max = sysconf(_SC_OPEN_MAX);
  if (close_range(3, ~0u, 0) != 0) {
    for (int each = 3; each < open_max; ++each) close(each);
  }
  setenv("TENSORSTAT_PREFLIGHT", "0", 1);
}

bool say(std::string_view words) {
  return write(STDOUT_FILENO, words.data(), words.size()) == static_cast<ssize_t>(words.size());
}

Status fold_a_tile(const Device& device, const KernelKind& kind) {
  Ledger ledger(std::nullopt);
  MeterOptions options;
  options.platform = device.info.platform;
  options.device = device.info.device;
  auto queue_context = QueueContext::open(options, ledger);
  if (!queue_context) return queue_context.error();
  const QueueContext& opened = **queue_context;
  std::vector<std::byte> zeros(kTileElements * sizeof(std::uint64_t));  // of the widest dtype
  cl_int code = CL_SUCCESS;
  cl::Buffer source(opened.queue().getInfo<CL_QUEUE_CONTEXT>(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, zeros.size(),
                    zeros.data(), &code);
  if (code != CL_SUCCESS) return error("holding a tile", "clCreateBuffer", code);
  const Piece piece{.kind = kind, .sources = {Source{source()}, Source{source()}}, .count = kTileElements};
  auto batch = (*queue_context)->enqueue(opened.queue(), {piece}, {source});
  return batch ? (*batch)->wait() : Status(batch.error());
}

// Folds as the parent will, with the kernel from the disk. If the kernel was just compiled, folds once more. `name`
// names the kernel. If it is empty, the first device's kernel is folded, and its name is written to it.
Status fold_from_disk(std::string& name, const KernelKind& kind) {
  for (const Device& device : find_devices()) {
    if (!may_kill(device.info.platform_name) || !device.info.refusal.empty()) continue;
    const std::string key = recipe_of(device, kind).key;
    if (!name.empty() && entry_name(key) != name) continue;
    name = entry_name(key);
    const Binary before = load_binary(key);
    Status folded = fold_a_tile(device, kind);
    const bool was_on_disk = !before.empty() && load_binary(key) == before;
    return folded && !was_on_disk ? fold_a_tile(device, kind) : folded;
  }
  return Error{Code::kDevice, "this program finds no such device, or is of another version than the library"};
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto read = std::from_chars(text.begin(), text.end(), value);
  return read.ec == std::errc() && read.ptr == text.end() ? std::optional(value) : std::nullopt;
}

// `kernel` becomes the name of the kernel that was tried.
Status perform(int argc, char** argv, std::string& kernel) {
  const Error misused{Code::kInvalid, "this program is started by the tensorstat library, and has no use by hand"};
  if (argc < kLimitArguments + 2) return misused;
  keep_quiet();
  limit_to(limits_from(argv + 1));
  char** what = argv + 1 + kLimitArguments;
  int count = argc - 1 - kLimitArguments;
  std::vector<std::string> only;
  for (; count > 0 && std::string_view(*what).starts_with(kOnly); ++what, --count) {
    only.emplace_back(std::string_view(*what).substr(kOnly.size()));
  }
  if (!only.empty()) call_drivers(only);
  const std::string_view task = count == 0 ? "" : what[0];
  if (task == "devices") {
    static_cast<void>(find_devices());
    if (!say(kFoundDevices)) return Error{Code::kDevice, "nobody listens"};
    if (count == 1) return {};
  }
  const int before = task == "devices"  ? 1
                     : task == "kernel" ? 2
                     : task == "ptx"    ? 5
                                        : 0;  // the arguments before DTYPE
  if (before == 0 || (count != before + 2 && count != before + 3)) return misused;
  const auto dtype = dtype_from(what[before]),
             beside = count == before + 3 ? dtype_from(what[before + 2]) : std::nullopt;
  const auto needs = number<Needs>(what[before + 1]);
  if (!dtype || !needs || (count == before + 3 && !beside)) return misused;
  const KernelKind kind{*dtype, *needs, beside};
  if (task == "kernel") kernel = what[1];
  if (task != "ptx") return fold_from_disk(kernel, kind);
  const auto capability = number<std::uint32_t>(what[2]);
  const auto version = number<int>(what[3]);
  if (!capability || !version) return misused;
  return make_ptx({.name = what[1], .capability = *capability, .driver_version = *version, .folder = what[4]}, kind);
}

}  // namespace
}  // namespace tensorstat::cl_engine

int main(int argc, char** argv) {
  using namespace tensorstat::cl_engine;
  std::string kernel;
  const tensorstat::Status status = perform(argc, argv, kernel);
  std::string last;
  if (status && !kernel.empty()) last.append("\n").append(kTriedKernel).append(kernel).append("\n");
  last += status ? std::string(kTrialPassed) : status.error().message + "\n";
  _exit(say(last) && status ? 0 : 1);  // skips the drivers' exit handlers: a crash there fails no trial
}

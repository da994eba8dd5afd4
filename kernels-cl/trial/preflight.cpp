// tensorstat-preflight makes the OpenCL calls that its parent process is about to make. If the driver aborts, it ends
// this process and not the parent (kernels-cl/trial/driver_trial.hpp).
//
//   tensorstat-preflight LIMITS devices
//   tensorstat-preflight LIMITS kernel KEY DTYPE NEEDS [DTYPE]
//
// LIMITS are the three arguments that to_arguments (limits.hpp) writes. If everything succeeds, the last line on stdout
// is kTrialPassed, and the exit code is 0.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "kernels-cl/launch/queue_context.hpp"
#include "kernels-cl/program/binary_cache.hpp"
#include "kernels-cl/program/program.hpp"
#include "kernels-cl/trial/driver_trial.hpp"
#include "kernels-cl/trial/limits.hpp"
#include "stats/engine/ledger.hpp"

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

// Folds as the parent will, with the kernel from the disk. If the kernel was just compiled, folds once more.
Status fold_from_disk(const std::string& name, const KernelKind& kind) {
  for (const Device& device : find_devices()) {
    if (!may_kill(device.info.platform_name) || !device.info.refusal.empty()) continue;
    const std::string key = recipe_of(device, kind).key;
    if (entry_name(key) != name) continue;
    const Binary before = load_binary(key);
    Status folded = fold_a_tile(device, kind);
    const bool was_on_disk = !before.empty() && load_binary(key) == before;
    return folded && !was_on_disk ? fold_a_tile(device, kind) : folded;
  }
  return Error{Code::kDevice, "this program finds no such device, or is of another version than the library"};
}

Status perform(int argc, char** argv) {
  const Error misused{Code::kInvalid, "this program is started by the tensorstat library, and has no use by hand"};
  if (argc < kLimitArguments + 2) return misused;
  keep_quiet();
  limit_to(limits_from(argv + 1));
  char** const what = argv + 1 + kLimitArguments;
  const int count = argc - 1 - kLimitArguments;
  if (count == 1 && std::string_view(what[0]) == "devices") {
    static_cast<void>(find_devices());
    return {};
  }
  if ((count != 4 && count != 5) || std::string_view(what[0]) != "kernel") return misused;
  const std::string_view needs_text = what[3];
  const auto dtype = dtype_from(what[2]), beside = count == 5 ? dtype_from(what[4]) : std::nullopt;
  Needs needs = 0;
  if (std::from_chars(needs_text.begin(), needs_text.end(), needs).ec != std::errc() || !dtype) return misused;
  if (count == 5 && !beside) return misused;
  return fold_from_disk(what[1], {*dtype, needs, beside});
}

}  // namespace
}  // namespace tensorstat::cl_engine

int main(int argc, char** argv) {
  const tensorstat::Status status = tensorstat::cl_engine::perform(argc, argv);
  const std::string last(status ? std::string(tensorstat::cl_engine::kTrialPassed) : status.error().message + "\n");
  const bool told = write(STDOUT_FILENO, last.data(), last.size()) == static_cast<ssize_t>(last.size());
  _exit(status && told ? 0 : 1);  // what a driver does at exit is not what was to be tried
}

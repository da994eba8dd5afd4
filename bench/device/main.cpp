// gpu_bench runs one stage of bench/gpu per call.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include "bench/device/measure.hpp"

namespace {

using namespace tensorstat;
using namespace tensorstat::bench;

constexpr const char* kUsage =
    "usage: gpu_bench [--cuda FOLDER] [--quick] [--mib N] STAGE\n"
    "  devices   what OpenCL has here, and whether inline PTX compiles\n"
    "  ceiling   the read-only stream by shape\n"
    "  check     the folds against the host engine, bit by bit\n"
    "  folds     one large tensor of each dtype beside the read-only stream\n"
    "  beside    what is asked beside the ten statistics, as a share of those\n"
    "  batch     10,000 tensors of 1,024 float32 in one launch\n"
    "  api       the same through the public API, and uploads, by the wall clock\n"
    "  tune      a row for the table in kernels-cl/driver/device.cpp\n"
    "  kernels   names of the kernels that these stages run on an NVIDIA GPU\n"
    "  text NAME, options NAME   of one of them\n"
    "--cuda uses CUDA's driver and the PTX files of FOLDER instead of OpenCL. Figures are appended to the\n"
    "file that TENSORSTAT_FIGURES names.\n";

struct Arguments {
  std::string_view stage, name;
  const char* cuda = nullptr;
  Plan plan;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--quick") {
      arguments.plan = {std::uint64_t{2} << 20, 3, 256, false};
    } else if (word == "--cuda" && i + 1 < argc) {
      arguments.cuda = argv[++i];
    } else if (word == "--mib" && i + 1 < argc) {
      const std::string_view digits = argv[++i];
      if (std::from_chars(digits.begin(), digits.end(), arguments.plan.bytes).ec != std::errc{}) return false;
      arguments.plan.bytes <<= 20;
    } else if (arguments.stage.empty()) {
      arguments.stage = word;
    } else {
      arguments.name = word;
    }
  }
  return !arguments.stage.empty() && arguments.plan.bytes != 0;
}

int run(const Arguments& arguments) {
  const std::string_view stage = arguments.stage;
  const auto gpu = [&] {
    auto opened = arguments.cuda == nullptr ? open_opencl() : open_cuda(arguments.cuda);
    std::printf("%s\n", opened->description().c_str());
    return opened;
  };
  if (stage == "devices") return print_devices(), 0;
  if (stage == "ceiling") return measure_ceiling(*gpu(), arguments.plan), 0;
  if (stage == "check") return check_folds(*gpu(), arguments.plan), 0;
  if (stage == "folds") return measure_folds(*gpu(), arguments.plan), 0;
  if (stage == "beside") return measure_beside(*gpu(), arguments.plan), 0;
  if (stage == "batch") return measure_batch(*gpu(), arguments.plan), 0;
  if (stage == "api") return measure_api(arguments.plan), 0;
  if (stage == "tune") return tune(*gpu(), arguments.plan), 0;
  for (const KernelSpec& spec : nvidia_kernels()) {
    if (stage == "kernels") std::printf("%s\n", name(spec).c_str());
    if (name(spec) != arguments.name) continue;
    if (stage == "text") return std::fputs(text(nvidia_gpu(), spec).c_str(), stdout), 0;
    if (stage == "options") return std::puts(options(nvidia_gpu(), spec).c_str()), 0;
  }
  if (stage == "kernels") return 0;
  std::fputs(kUsage, stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    return run(arguments);
  } catch (const std::exception& failed) {
    std::fflush(stdout);
    std::fprintf(stderr, "gpu_bench: %s\n", failed.what());
    return 1;
  }
}

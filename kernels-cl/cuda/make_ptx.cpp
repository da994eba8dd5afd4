#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "kernels-cl/cuda/ptx.hpp"
#include "kernels-cl/launch/queue_context.hpp"
#include "kernels-cl/program/binary_cache.hpp"
#include "stats/core/engine/ledger.hpp"

namespace tensorstat::cl_engine {
namespace {

namespace fs = std::filesystem;

// Has OpenCL's loader find NVIDIA's driver, which containers often have without the file that names it.
class NamedDriver {
 public:
  explicit NamedDriver(const std::string& folder) {
    std::string name = (fs::temp_directory_path() / "tensorstat-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return;
    folder_ = name;
    const std::string file = "libnvidia-opencl.so.1";
    std::error_code failed;
    std::ofstream(folder_ / "nvidia.icd") << (fs::exists(folder + file, failed) ? folder : "") + file << "\n";
    setenv("OCL_ICD_VENDORS", folder_.c_str(), 1);
  }
  ~NamedDriver() {
    std::error_code failed;
    if (!folder_.empty()) fs::remove_all(folder_, failed);
  }
  NamedDriver(const NamedDriver&) = delete;
  NamedDriver& operator=(const NamedDriver&) = delete;

 private:
  fs::path folder_;
};

// OpenCL's launches set %envreg0 to the number of the first group. CUDA's do not, and begin at 0.
Result<std::string> as_cuda_launches(const Binary& binary) {
  std::string ptx(binary.begin(), binary.end());
  ptx.erase(std::min(ptx.find('\0'), ptx.size()));
  constexpr std::string_view kFirstGroup = "%envreg0;";
  for (std::size_t position = 0; (position = ptx.find(kFirstGroup, position)) != ptx.npos;)
    ptx.replace(position, kFirstGroup.size(), "0;");
  if (ptx.find(".entry fold") == ptx.npos || ptx.find("%envreg") != ptx.npos) {
    return Error{Code::kDevice, "NVIDIA's OpenCL driver gave no PTX that is understood"};
  }
  return ptx;
}

}  // namespace

Status make_ptx(const CudaGpu& gpu, const KernelKind& kind) {
  const NamedDriver named(gpu.folder);
  for (const Device& device : find_devices()) {
    if (device.ptx != gpu.capability || !device.info.refusal.empty()) continue;
    Ledger ledger(std::nullopt);
    MeterOptions options;
    options.platform = device.info.platform;
    options.device = device.info.device;
    const auto opened = QueueContext::open(options, ledger);
    if (!opened) return opened.error();
    if (Status status = (*opened)->prepare(kind); !status) return status;
    const auto ptx = as_cuda_launches(load_binary(recipe_of((*opened)->device(), kind).key));
    if (!ptx) return ptx.error();
    store_binary(recipe_of(device_of(gpu), kind).key, {ptx->begin(), ptx->end()});
    return {};
  }
  return Error{Code::kDevice, gpu.folder + kCompiler + " shows OpenCL no such GPU"};
}

}  // namespace tensorstat::cl_engine

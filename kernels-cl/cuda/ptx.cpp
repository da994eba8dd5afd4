#include "kernels-cl/cuda/ptx.hpp"

#include <filesystem>
#include <system_error>
#include <vector>

#include "kernels-cl/program/binary_cache.hpp"
#include "kernels-cl/trial/driver_trial.hpp"

namespace tensorstat::cl_engine {
namespace {

std::string kept(const std::string& key) {
  const Binary binary = load_binary(key);
  return {binary.begin(), binary.end()};
}

}  // namespace

Device device_of(const CudaGpu& gpu) {
  Device device;
  device.info.platform_name = "CUDA";
  device.info.name = gpu.name;
  device.info.driver = std::to_string(gpu.driver_version);
  device.fp64 = device.float_subnormals = true;
  device.compute_units = gpu.units;
  device.shape = Shape::kGroup;
  device.group = group_shape("NVIDIA");
  device.group_size = device.group.lanes;
  device.pointers = Pointers::kSystemSvm;
  device.ptx = gpu.capability;
  return device;
}

Result<std::string> ptx_of(const CudaGpu& gpu, const KernelKind& kind) {
  const Recipe recipe = recipe_of(device_of(gpu), kind);
  if (std::string ptx = kept(recipe.key); !ptx.empty()) return ptx;
  std::error_code failed;
  if (!std::filesystem::exists(gpu.folder + kCompiler, failed)) {
    return Error{Code::kDevice, std::string(kCompiler) + ", which has the compiler of its kernels, is not in " +
                                    (gpu.folder.empty() ? "the driver's folder" : gpu.folder)};
  }
  std::vector<std::string> what = {"ptx",
                                   gpu.name,
                                   std::to_string(gpu.capability),
                                   std::to_string(gpu.driver_version),
                                   gpu.folder,
                                   std::string(name(kind.dtype)),
                                   std::to_string(kind.needs)};
  if (kind.beside) what.emplace_back(name(*kind.beside));
  Status made = run_helper(what);
  std::string ptx = kept(recipe.key);
  if (!ptx.empty()) return ptx;
  if (made) made = Error{Code::kDevice, "kernels are not kept on disk (TENSORSTAT_CACHE, XDG_CACHE_HOME)"};
  return Error{Code::kDevice, recipe.doing + ": " + made.error().message};
}

}  // namespace tensorstat::cl_engine

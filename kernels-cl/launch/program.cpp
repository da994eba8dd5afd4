#include "kernels-cl/launch/program.hpp"

#include <algorithm>
#include <array>

#include "kernels-cl/launch/binary_cache.hpp"
#include "kernels-cl/launch/texts.hpp"
#include "precision/families.h"
#include "precision/formats.h"
#include "stats/core/accumulator_layout.hpp"

namespace tensorstat::cl_engine {
namespace {

#define STRING_(text) #text
#define STRING(text) STRING_(text)
#define ROW(id, name, ...) STRING(FAMILY_OF(name)),
constexpr std::array<std::string_view, kDtypeCount> kFamilies = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

struct FamilyTexts {
  std::string_view family, lift, fold, group;
};
#define GROUP_TEXT_Integer "kernels-cl/cl/gpu_integer.cl"
#define GROUP_TEXT_Integer64 "kernels-cl/cl/gpu_integer64.cl"
#define GROUP_TEXT_Float "kernels-cl/cl/gpu_float.cl"
#define GROUP_TEXT_Double "kernels-cl/cl/gpu_double.cl"
#define GROUP_TEXT_Coded "kernels-cl/cl/gpu_coded.cl"  // which has a kernel of its own
#define GROUP_TEXT_Scale GROUP_TEXT_Coded
#define GROUP_TEXT_PackedFloat GROUP_TEXT_Coded
#define GROUP_TEXT_PackedInteger GROUP_TEXT_Coded
#define ROW(family, ...) FamilyTexts{#family, LIFT_TEXT_##family, FOLD_TEXT_##family, GROUP_TEXT_##family},
constexpr std::array kFamilyTexts = {FAMILIES(ROW)};
#undef ROW
static_assert((kLowKernel & (kDigests | Needs{NEED_ALL})) == 0);

// How long the sums of gpu_float.cl and gpu_double.cl stay exact; of bytes, the rest do for longer.
int log2_steps(Dtype dtype) { return dtype == Dtype::kFloat64 ? 8 : size_bytes(dtype) == 1 ? 10 : 9; }

constexpr std::uint64_t kLoadBytes = 16;
constexpr std::uint64_t kLeastSteps = 2;  // fewer, and a slice costs more to open and close than to read

// Whether it is counted by its bytes, which are codes.
bool counts_codes(Dtype dtype) {
  return unpacks(dtype) || kFamilies[static_cast<std::size_t>(dtype)] == "Coded";
}

// Without fp64 a float's every element is lifted, with integers: slower, and the same bits.
bool folds(const Device& device, Dtype dtype) {
  return device.fp64 || !is_float(dtype) || counts_codes(dtype);
}

}  // namespace

std::uint64_t most_elements_a_group(const Device& device, Dtype dtype, std::uint64_t total_bytes) {
  // A step of a group: a load in flight for each lane. Beside its steps a lane may take an element or
  // two of the head and of the tail.
  const std::uint64_t step = device.group_size * device.group.loads * kLoadBytes / size_bytes(dtype);
  const std::uint64_t most = device.group_size * ((std::uint64_t{1} << log2_steps(dtype)) - 64) / step * step;
  const std::uint64_t slices = std::uint64_t{device.compute_units} * device.group.slices_a_unit;
  const std::uint64_t wanted = total_bytes / size_bytes(dtype) / slices / step * step;
  return std::clamp(wanted, kLeastSteps * step, most) * elements_a_byte(dtype);
}

Needs kernel_needs(const Partial& partial) {
  return partial.needs() | (is_low(partial.dtype(), partial.precision()) ? kLowKernel : 0);
}

std::string source(const Device& device, Dtype dtype, bool low) {
  const bool group = device.shape == Shape::kGroup;
  std::string whole;
  const auto add = [&](std::string_view file) {
    whole.append("#line 1 \"").append(file).append("\"\n").append(texts().at(file)).append("\n");
  };
  for (const char* file : {"precision/formats.h", "precision/sizes.h", "kernels-cl/cl/vectors.cl",
                           "precision/fold/vector_interface.h", "precision/families.h", "precision/elements.h",
                           "precision/exponents.h", "precision/fingerprints.h", "precision/indices.h", "precision/partial.h",
                           "precision/checksum.h", "precision/exact.h", "precision/keyed.h", "precision/lift/lift.h",
                           "precision/lift/lift_elements.h", "kernels-cl/cl/slice.cl"}) {
    add(file);
  }
  for (const FamilyTexts& each : kFamilyTexts) {
    if (each.family != kFamilies[static_cast<std::size_t>(dtype)]) continue;
    add(each.lift);
    add("precision/lift/lift_indices.h");
    add("kernels-cl/cl/fingerprints.cl");
    if (low || group) add("kernels-cl/cl/indices.cl");
    if (low) {
      for (const char* file : {"precision/low/low.h", "precision/low/low_tile.h", "kernels-cl/cl/low.cl"}) add(file);
      return whole;
    }
    if (group) add("kernels-cl/cl/gpu_merge.cl");
    if (group && counts_codes(dtype)) {
      add(each.group);
      return whole;
    }
    if (unpacks(dtype)) {
      add(FOLD_TEXT_Coded);
      add(each.fold);
      break;
    }
    if (group) {
      for (const char* file : {"kernels-cl/cl/gpu_lift.cl", "kernels-cl/cl/gpu_elements.cl"}) add(file);
    } else {
      for (const char* file : {"precision/fold/fold_elements.h", "precision/fold/fold_exponents.h"}) add(file);
    }
    if (!folds(device, dtype)) continue;
    if (!group && each.fold == FOLD_TEXT_Float) {
      add("precision/fold/fold_extremes.h");
      add("precision/fold/fold_bins.h");
    }
    if (!group && each.fold == FOLD_TEXT_Double) add("precision/fold/fold_bins_double.h");
    if (group) {
      for (const char* file : {"kernels-cl/cl/gpu_packed.cl", "kernels-cl/cl/gpu_window.cl"}) add(file);
    }
    add(group ? each.group : each.fold);
    if (!group) add("precision/fold/fold_indices.h");
  }
  add(group ? "kernels-cl/cl/gpu.cl" : "kernels-cl/cl/cpu.cl");
  return whole;
}

std::string build_options(const Device& device, Dtype dtype, Needs needs) {
  std::string options = "-cl-std=CL1.2 -DDTYPE=" + std::string(name(dtype)) + " -DNEEDS=" + std::to_string(needs & ~kLowKernel);
  if (device.shape == Shape::kSlice) {
    options += " -DSHAPE_SLICE";
  } else {
    options += " -DSHAPE_GROUP -DLANES_A_GROUP=" + std::to_string(device.group_size) +
               " -DLOADS=" + std::to_string(device.group.loads) + " -DLOG2_STEPS=" + std::to_string(log2_steps(dtype));
    if (device.ptx != 0) options += " -DPTX=" + std::to_string(device.ptx);
  }
  if (device.is_cpu) options += " -DON_CPU";
  options += device.float_subnormals ? " -DSUBNORMALS_CONVERT=1" : " -DSUBNORMALS_CONVERT=0";
  if (device.fp64) options += " -DFP64";
  if (folds(device, dtype)) options += " -DFOLDS";
  return options;
}

Recipe recipe_of(const Device& device, Dtype dtype, Needs needs) {
  Recipe made{"building the kernel of " + std::string(name(dtype)) + " for " + device.info.name,
              source(device, dtype, (needs & kLowKernel) != 0), build_options(device, dtype, needs), ""};
  const std::string separator(1, '\0');
  made.key = cache_key(device.info.platform_name + separator + device.info.name + separator + device.info.driver +
                         separator + made.options + separator + made.source);
  return made;
}

std::optional<cl::Program> recall_program(const cl::Context& context, const Device& device, const Recipe& recipe) {
  Binary binary = load_binary(recipe.key);
  if (binary.empty()) return std::nullopt;
  const cl_device_id id = device.device();
  const unsigned char* bytes = binary.data();
  const std::size_t size = binary.size();
  cl_int code = CL_SUCCESS, loaded = CL_SUCCESS;
  const cl::Program program(clCreateProgramWithBinary(context(), 1, &id, &size, &bytes, &loaded, &code));
  if (code != CL_SUCCESS || loaded != CL_SUCCESS) return std::nullopt;
  if (program.build({device.device}, recipe.options.c_str()) != CL_SUCCESS) return std::nullopt;
  return program;
}

Result<cl::Program> build_program(const cl::Context& context, const Device& device, const Recipe& recipe) {
  cl_int code = CL_SUCCESS;
  const cl::Program program(context, recipe.source, false, &code);
  if (code != CL_SUCCESS) return error(recipe.doing, "clCreateProgramWithSource", code);
  code = program.build({device.device}, recipe.options.c_str());
  if (code != CL_SUCCESS) {
    Error failed = error(recipe.doing, "clBuildProgram", code);
    const std::string log = program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device.device);
    if (!log.empty()) failed.message += "; the compiler said: " + log.substr(0, 2000);
    return failed;
  }
  return program;
}

void remember_program(const cl::Program& program, const Recipe& recipe) {
  std::size_t devices = 0, bytes = 0;
  // A caller's context may have more devices than ours; then the binaries are not worth the trouble.
  if (clGetProgramInfo(program(), CL_PROGRAM_BINARY_SIZES, 0, nullptr, &devices) != CL_SUCCESS) return;
  if (devices != sizeof bytes) return;
  if (clGetProgramInfo(program(), CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr) != CL_SUCCESS) return;
  Binary binary(bytes);
  unsigned char* to = binary.data();
  if (clGetProgramInfo(program(), CL_PROGRAM_BINARIES, sizeof to, &to, nullptr) == CL_SUCCESS) {
    store_binary(recipe.key, binary);
  }
}

Result<std::shared_ptr<Kernel>> make_kernel(const Device& device, const cl::Program& program, const Recipe& recipe) {
  auto kernel = std::make_shared<Kernel>();
  cl_int code = CL_SUCCESS;
  kernel->of_memory = cl::Kernel(program, "fold", &code);
  const bool announces = device.pointers == Pointers::kSvm || device.pointers == Pointers::kSystemSvm;
  if (code == CL_SUCCESS) kernel->of_pointers = announces ? cl::Kernel(program, "fold", &code) : kernel->of_memory;
  if (code != CL_SUCCESS) return error(recipe.doing, "clCreateKernel", code);
  return kernel;
}

}  // namespace tensorstat::cl_engine

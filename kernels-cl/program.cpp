#include "kernels-cl/program.hpp"

#include <array>

#include "kernels-cl/texts.hpp"
#include "precision/formats.h"

namespace tensorstat::cl_engine {
namespace {

#define STRING_(text) #text
#define STRING(text) STRING_(text)
#define ROW(id, name, ...) STRING(CALL(COLUMN_0, FORMAT_##name)),
constexpr std::array<std::string_view, kDtypeCount> kFamilies = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

struct FamilyTexts {
  std::string_view family, lift, fold;
};
constexpr std::array kFamilyTexts = {
    FamilyTexts{"Integer", LIFT_TEXT_Integer, FOLD_TEXT_Integer},
    FamilyTexts{"Integer64", LIFT_TEXT_Integer64, FOLD_TEXT_Integer64},
    FamilyTexts{"Float", LIFT_TEXT_Float, FOLD_TEXT_Float},
    FamilyTexts{"Double", LIFT_TEXT_Double, FOLD_TEXT_Double},
};

}  // namespace

std::string source(Dtype dtype) {
  std::string whole;
  const auto add = [&](std::string_view file) {
    whole.append("#line 1 \"").append(file).append("\"\n").append(texts().at(file)).append("\n");
  };
  for (const char* file : {"precision/formats.h", "kernels-cl/lanes.cl", "precision/families.h",
                           "precision/partial.h", "precision/exact.h", "precision/lift.h"}) {
    add(file);
  }
  for (const FamilyTexts& each : kFamilyTexts) {
    if (each.family != kFamilies[static_cast<std::size_t>(dtype)]) continue;
    add(each.lift);
    whole += "#ifdef FOLDS\n";
    if (each.fold == FOLD_TEXT_Float || each.fold == FOLD_TEXT_Double) add("precision/fold_extremes.h");
    if (each.fold == FOLD_TEXT_Float) {
      whole += "#ifdef BINS\n";
      add("precision/fold_bins.h");
      whole += "#endif\n";
    }
    add(each.fold);
    whole += "#endif\n";
  }
  add("kernels-cl/fold.cl");
  return whole;
}

std::string build_options(const Device& device, Dtype dtype, Needs needs, Precision) {
  std::string options = "-cl-std=CL1.2 -DDTYPE=" + std::string(name(dtype)) + " -DNEEDS=" + std::to_string(needs);
  options += device.shape == Shape::kSlice ? " -DSHAPE_SLICE" : " -DSHAPE_GROUP";
  options += device.float_subnormals ? " -DSUBNORMALS_CONVERT=1" : " -DSUBNORMALS_CONVERT=0";
  if (device.fp64) options += " -DFP64";
  // Without fp64 a float's every element is lifted, with integers: slower, and the same bits.
  if (device.fp64 || !is_float(dtype)) options += " -DFOLDS";
  return options;
}

Result<cl::Kernel> Programs::kernel(const cl::Context& context, const Device& device, Dtype dtype, Needs needs,
                                    Precision precision) {
  const auto key = std::make_tuple(dtype, needs, precision);
  if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second;
  const std::string doing = "building the kernel of " + std::string(name(dtype)) + " for " + device.info.name;
  cl_int code = CL_SUCCESS;
  cl::Program program(context, source(dtype), false, &code);
  if (code != CL_SUCCESS) return error(doing, "clCreateProgramWithSource", code);
  code = program.build({device.device}, build_options(device, dtype, needs, precision).c_str());
  if (code != CL_SUCCESS) {
    Error failed = error(doing, "clBuildProgram", code);
    const std::string log = program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device.device);
    if (!log.empty()) failed.message += "; the compiler said: " + log.substr(0, 2000);
    return failed;
  }
  cl::Kernel kernel(program, "fold", &code);
  if (code != CL_SUCCESS) return error(doing, "clCreateKernel", code);
  kernels_.emplace(key, kernel);
  return kernel;
}

}  // namespace tensorstat::cl_engine

#include "kernels-cl/program/program.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "kernels-cl/program/binary_cache.hpp"
#include "kernels-cl/program/texts.hpp"
#include "kernels-cl/trial/driver_trial.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/cast_bounds.hpp"
#include "stats/core/engine/pair_layout.hpp"

namespace tensorstat::cl_engine {
namespace {

static_assert(((kLowKernel | kScaledCasts) & (kDigests | kQuantiles | Needs{NEED_ALL})) == 0);

// A lane's sums stay exact for 2^log2_steps elements. Sums of bytes stay exact for longer.
int log2_steps(Dtype dtype) { return dtype == Dtype::kFloat64 ? 8 : size_bytes(dtype) == 1 ? 10 : 9; }

constexpr std::uint64_t kLoadBytes = 16;
constexpr std::uint64_t kLeastSteps = 2;  // with fewer, a slice costs more to open and close than to read

// Elements of a pair for each lane of a slice. A slice has a partial, which should be small compared with the slice.
constexpr std::uint64_t kLeastPairSteps = 32, kMostPairSteps = 1 << 16;

// Whether elements are counted by code: a byte is one code.
bool counts_codes(Dtype dtype) { return facts(dtype).is_coded; }

// Without fp64 every element of a float is lifted with integer arithmetic. That is slower, with the same bits.
bool folds(const Device& device, Dtype dtype) { return device.fp64 || !is_float(dtype) || counts_codes(dtype); }

// How often a lane may add its sums to integers. The integers of a work-group's lanes are added, and each flush brings
// less than 2^51 for each lane. 16 flushes of float16's squares fill 64 bits.
std::uint64_t flushes(const Device& device, Dtype dtype) {
  if (!is_float(dtype) || counts_codes(dtype)) return 1;
  return std::clamp<std::uint64_t>((1 << 11) / device.group_size, 1, 16);
}

// Whether float32 holds a dtype, and whether 11 bits hold a mantissa of it.
bool is_single(Dtype dtype) { return size_bytes(dtype) <= 2 || dtype == Dtype::kFloat32; }
bool is_short(Dtype dtype) { return size_bytes(dtype) == 1 || dtype == Dtype::kFloat16 || dtype == Dtype::kBfloat16; }

// Whether a kernel of two tensors folds with vectors; else it lifts.
bool folds_pairs(const Device& device, Dtype a, Dtype b) {
  return device.shape == Shape::kSlice && device.float_subnormals && is_single(a) && is_single(b);
}

// For `#include NAME`: the path that the macro NAME stands for.
using Named = std::map<std::string, std::string, std::less<>>;

// Appends a text, as #include does. The texts that it includes replace its #include lines.
void include(std::string& whole, std::string_view file, Named& named) {
  const auto begin_line = [&](std::size_t number) {
    whole.append("#line ").append(std::to_string(number)).append(" \"").append(file).append("\"\n");
  };
  begin_line(1);
  std::size_t number = 1;
  for (std::string_view rest = texts().at(file); !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    constexpr std::string_view kInclude = "#include ", kDefine = "#define ", kText = "_TEXT \"";
    if (line.starts_with(kInclude)) {
      const std::string_view word = line.substr(kInclude.size());
      if (word.starts_with('"')) {
        include(whole, word.substr(1, word.find('"', 1) - 1), named);
      } else if (const auto text = named.find(word); text != named.end()) {
        include(whole, std::string(text->second), named);  // if the macro is not defined, an #if skips this line
      }
      begin_line(number + 1);
      continue;
    }
    if (const std::size_t end = line.find(kText); line.starts_with(kDefine) && end != line.npos) {
      const std::string_view text = line.substr(end + kText.size());
      named.insert_or_assign(std::string(line.substr(kDefine.size(), end + 5 - kDefine.size())),
                             std::string(text.substr(0, text.find('"'))));
    }
    whole.append(line).append("\n");
  }
}
std::string whole_text(std::string_view kernel, Named named) {
  std::string whole;
  include(whole, kernel, named);
  return whole;
}
std::string header_of(Dtype dtype) { return "precision/generated/" + std::string(name(dtype)) + ".h"; }

}  // namespace

std::uint64_t most_elements_a_group(const Device& device, Dtype dtype, std::uint64_t total_bytes) {
  if (is_complex(dtype)) return most_elements_a_group(device, part_of(dtype), total_bytes) / 2;
  // In a step each lane has `loads` loads in flight. Beside its steps a lane may take an element or two of the head and
  // of the tail.
  const std::uint64_t step = device.group_size * device.group.loads * kLoadBytes / size_bytes(dtype);
  const std::uint64_t most =
      flushes(device, dtype) * device.group_size * ((std::uint64_t{1} << log2_steps(dtype)) - 64) / step * step;
  const std::uint64_t slices = std::uint64_t{device.compute_units} * device.group.slices_a_unit;
  const std::uint64_t wanted = total_bytes / size_bytes(dtype) / slices / step * step;
  return std::clamp(wanted, kLeastSteps * step, most) * elements_a_byte(dtype);
}

std::uint64_t most_pairs_a_group(const Device& device, std::uint64_t element_bytes, std::uint64_t total_bytes) {
  const std::uint64_t slices = std::uint64_t{device.compute_units} * device.group.slices_a_unit;
  return std::clamp(total_bytes / element_bytes / slices, device.group_size * kLeastPairSteps,
                    device.group_size * kMostPairSteps);
}

Needs kernel_needs(const Partial& partial) {
  return partial.needs() | (is_low(partial.dtype(), partial.precision()) ? kLowKernel : 0) |
         (scales_casts(partial.needs(), partial.cast_scale()) ? kScaledCasts : 0);
}

std::size_t KernelKind::words() const { return beside ? pair_words(dtype, *beside) : partial_words(dtype, needs); }
std::size_t KernelKind::count_word() const { return beside ? std::size_t{PAIR_COUNT} : std::size_t{PARTIAL_COUNT}; }
std::string KernelKind::name() const {
  std::string text(tensorstat::name(dtype));
  if (beside) text.append(" and ").append(tensorstat::name(*beside));
  return text;
}

std::string source(const Device& device, Dtype dtype, bool low) {
  const bool group = device.shape == Shape::kGroup;
  const std::string_view kernel = low                            ? "low.cl"
                                  : group && counts_codes(dtype) ? "gpu_coded.cl"
                                  : group                        ? "gpu.cl"
                                  : is_complex(dtype)            ? "cpu_complex.cl"
                                                                 : "cpu.cl";
  return whole_text("kernels-cl/cl/" + std::string(kernel), {{"DTYPE_TEXT", header_of(dtype)}});
}

std::string pair_source(const Device& device, Dtype a, Dtype b) {
  return whole_text(device.shape == Shape::kGroup ? "kernels-cl/cl/pair/gpu.cl" : "kernels-cl/cl/pair/cpu.cl",
                    {{"DTYPE_A_TEXT", header_of(a)}, {"DTYPE_B_TEXT", header_of(b)}});
}

namespace {

std::string options_of_device(const Device& device) {
  std::string options;
  if (device.shape == Shape::kSlice) {
    options += " -DSHAPE_SLICE";
  } else {
    options += " -DSHAPE_GROUP -DLANES_A_GROUP=" + std::to_string(device.group_size);
  }
  if (device.is_cpu) options += " -DON_CPU";
  // For tests that only compare bits: pocl compiles in half the time. Oclgrind computes optimised code wrongly
  // (kernels-cl/README.md).
  const char* const optimize = std::getenv("TENSORSTAT_CL_OPTIMIZE");
  if ((optimize != nullptr && *optimize == '0') || device.info.name == "Oclgrind Simulator") {
    options += " -cl-opt-disable";
  }
  options += device.float_subnormals ? " -DSUBNORMALS_CONVERT=1" : " -DSUBNORMALS_CONVERT=0";
  if (device.fp64) options += " -DFP64";
  return options;
}

}  // namespace

std::string build_options(const Device& device, Dtype dtype, Needs needs) {
  if (is_complex(dtype)) {  // without kSigns: the family of the parts would count parts, not elements
    return build_options(device, part_of(dtype), kept(dtype, needs) & ~Needs{kSigns});
  }
  const Needs scaled = (needs & kScaledCasts) != 0 ? needs & kCasts : 0;
  std::string options = "-cl-std=CL1.2 -DNEEDS=" + std::to_string(needs & ~(kLowKernel | kScaledCasts | scaled)) +
                        " -DSCALED_CASTS=" + std::to_string(scaled) + options_of_device(device);
  if (device.shape == Shape::kGroup) {
    options += " -DLOADS=" + std::to_string(device.group.loads) + " -DLOG2_STEPS=" + std::to_string(log2_steps(dtype));
    if (device.ptx != 0) options += " -DPTX=" + std::to_string(device.ptx);
  }
  if (folds(device, dtype)) options += " -DFOLDS";
  return options;
}

std::string pair_build_options(const Device& device, Dtype a, Dtype b) {
  const pair_kind kind = pair_kind_of(a, b);
  std::string fold;
  if (folds_pairs(device, a, b)) {
    const bool is_float32 = a == Dtype::kFloat32;
    fold = " -DPAIR_FOLDS -DPAIR_MANTISSA=" + std::to_string(a == b && is_short(a) ? 11 : 24) +
           " -DIS_FLOAT32=" + std::to_string(is_float32) + " -DBITS_BESIDE=" + std::to_string(a == b && !is_float32) +
           " -DSIZE_A=" + std::to_string(size_bytes(a)) + " -DSIZE_B=" + std::to_string(size_bytes(b));
  }
  return "-cl-std=CL1.2 -DDTYPE_A=" + std::string(name(a)) + " -DDTYPE_B=" + std::string(name(b)) +
         " -DSAME_DTYPE=" + std::to_string(kind.same_dtype) + " -DSTEPS=" + std::to_string(kind.steps) +
         " -DIS_WIDE=" + std::to_string(kind.is_wide) + fold + options_of_device(device);
}

Recipe recipe_of(const Device& device, const KernelKind& kind) {
  Recipe made{"building the kernel of " + kind.name() + " for " + device.info.name, "", "", ""};
  if (kind.beside) {
    made.source = pair_source(device, kind.dtype, *kind.beside);
    made.options = pair_build_options(device, kind.dtype, *kind.beside);
  } else {
    made.source = source(device, kind.dtype, (kind.needs & kLowKernel) != 0);
    made.options = build_options(device, kind.dtype, kind.needs);
  }
  const std::string separator(1, '\0');
  made.key = device.info.platform_name + separator + device.info.name + separator + device.info.driver + separator +
             made.options + separator + made.source;
  return made;
}

namespace {

// Builds the program for one device. After a failed build of pocl the program is never released: pocl 6 that has no
// memory left keeps a lock of its own, and clReleaseProgram would wait for it for ever.
cl_int build(const cl::Program& program, const Device& device, const std::string& options) {
  const cl_int code = program.build({device.device}, options.c_str());
  if (code != CL_SUCCESS && may_kill(device.info.platform_name)) clRetainProgram(program());
  return code;
}

}  // namespace

std::optional<cl::Program> recall_program(const cl::Context& context, const Device& device, const Recipe& recipe) {
  Binary binary = load_binary(recipe.key);
  if (binary.empty()) return std::nullopt;
  const cl_device_id id = device.device();
  const unsigned char* bytes = binary.data();
  const std::size_t size = binary.size();
  cl_int code = CL_SUCCESS, loaded = CL_SUCCESS;
  const cl::Program program(clCreateProgramWithBinary(context(), 1, &id, &size, &bytes, &loaded, &code));
  if (code != CL_SUCCESS || loaded != CL_SUCCESS) return std::nullopt;
  if (build(program, device, recipe.options) != CL_SUCCESS) return std::nullopt;
  return program;
}

Result<cl::Program> build_program(const cl::Context& context, const Device& device, const Recipe& recipe) {
  cl_int code = CL_SUCCESS;
  const cl::Program program(context, recipe.source, false, &code);
  if (code != CL_SUCCESS) return error(recipe.doing, "clCreateProgramWithSource", code);
  code = build(program, device, recipe.options);
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
  // A caller's context may have several devices. Then the binaries are not kept.
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

// The element types of a kernel's arguments: from what the driver tells, the probe, and the user's rules.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "stats/job/attach/program/objects.hpp"
#include "stats/job/attach/program/probe.hpp"

namespace tensorstat::attach {
namespace {

struct BuiltIn {
  std::string_view name;
  Dtype dtype;
};
// Not char, uchar and void: these are how programs pass bytes of any type.
constexpr BuiltIn kBuiltIn[] = {
    {"float", Dtype::kFloat32},        {"double", Dtype::kFloat64},
    {"half", Dtype::kFloat16},         {"int", Dtype::kInt32},
    {"uint", Dtype::kUint32},          {"long", Dtype::kInt64},
    {"ulong", Dtype::kUint64},         {"short", Dtype::kInt16},
    {"ushort", Dtype::kUint16},        {"unsigned int", Dtype::kUint32},
    {"unsigned long", Dtype::kUint64}, {"unsigned short", Dtype::kUint16},
    {"size_t", Dtype::kUint64},        {"bool", Dtype::kBool},
    {"cfloat_t", Dtype::kFloat32},     {"cdouble_t", Dtype::kFloat64},  // PyOpenCL's complex numbers: two each
};

// "float" for "float4"; "" if the number is not a vector width. A vector of three has a fourth element as padding.
std::string_view scalar_of(std::string_view name) {
  const auto digits = name.find_last_not_of("0123456789") + 1;
  const std::string_view width = name.substr(digits);
  if (width.empty()) return name;
  for (const std::string_view each : {"2", "4", "8", "16"}) {
    if (width == each) return name.substr(0, digits);
  }
  return {};
}

std::optional<Dtype> built_in(std::string_view name) {
  const std::string_view scalar = scalar_of(name);
  for (const BuiltIn& each : kBuiltIn) {
    if (each.name == scalar) return each.dtype;
  }
  return std::nullopt;
}

bool is_bytes(std::string_view name) {
  for (const std::string_view each : {"char", "uchar", "unsigned char", "void"}) {
    if (name == each) return true;
  }
  return scalar_of(name) == "char" || scalar_of(name) == "uchar";
}

std::string text_of(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what) {
  size_t bytes = 0;
  if (below.clGetKernelArgInfo(kernel, index, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (below.clGetKernelArgInfo(kernel, index, what, bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

// "float4" of "const float4 *"
std::string pointed_to(std::string name) {
  for (const std::string_view word : {"__global", "global", "const", "restrict", "volatile"}) {
    for (auto position = name.find(word); position != name.npos; position = name.find(word, position)) {
      const bool begins = position == 0 || name[position - 1] == ' ' || name[position - 1] == '*';
      const auto end = position + word.size();
      if (begins && (end == name.size() || name[end] == ' ' || name[end] == '*')) {
        name.erase(position, word.size());
      } else {
        position = end;
      }
    }
  }
  std::erase(name, '*');
  const auto first = name.find_first_not_of(' ');
  if (first == name.npos) return {};
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

std::optional<Dtype> by_rule(const std::string& kernel, const std::string& argument, cl_uint index) {
  for (const TypeRule& rule : layer().settings.types) {
    if (rule.kernel.matches(kernel) &&
        (rule.argument.matches(argument) || rule.argument.matches(std::to_string(index))))
      return rule.dtype;
  }
  return std::nullopt;
}

// "float" for "-D NAME=float", also through other macros of the options; "" if NAME is not defined.
std::string option_of(const std::string& options, std::string name) {
  constexpr int kMostMacros = 4;
  std::string value;
  for (int i = 0; i < kMostMacros; ++i) {
    const std::string begin = " " + name + "=";
    const auto position = options.find(begin);
    if (position == options.npos) break;
    const auto first = position + begin.size();
    name = value = options.substr(first, options.find(' ', first) - first);
  }
  return value;
}

// OpenCV hands every matrix to its kernels as uchar*, and names its elements by a macro: srcptr1 is of srcT1, dst of
// dstT. The options define it, or the source from another one. Three channels are packed, not padded.
std::optional<Dtype> by_macro(cl_kernel handle, Kernel& kernel, const Queue& queue, std::string argument) {
  if (kernel.program == nullptr || !kernel.program->options) return std::nullopt;
  if (const auto pointer = argument.find("ptr"); pointer != argument.npos) argument.erase(pointer, 3);
  const auto digits = argument.find_last_not_of("0123456789") + 1;
  const std::string base = argument.substr(0, digits) + "T", number = argument.substr(digits);
  if (base != "srcT" && base != "dstT") return std::nullopt;
  const std::string options = " " + *kernel.program->options + " ";
  const std::array<std::string, 3> macros{base + number, base, base + "1"};
  for (const std::string& macro : macros) {
    std::string value = option_of(options, macro);
    if (value.empty()) continue;
    value.erase(value.find_last_not_of("0123456789") + 1);
    if (is_bytes(value)) return value == "char" ? Dtype::kInt8 : Dtype::kUint8;
    if (const auto dtype = built_in(value)) return dtype;
  }
  for (const std::string& macro : macros) {
    if (!is_in_source(macro, handle)) continue;
    if (const auto dtype = probed(macro, handle, kernel, queue)) return dtype;
  }
  return std::nullopt;
}

ArgumentType type_of(cl_kernel handle, cl_uint index) {
  ArgumentType type;
  cl_kernel_arg_address_qualifier where = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  type.is_told = below.clGetKernelArgInfo(handle, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof where, &where,
                                          nullptr) == CL_SUCCESS;
  if (!type.is_told) {
    type.kind = ArgumentType::Kind::kBuffer;  // whether it is one is seen when it is set
    return type;
  }
  if (where != CL_KERNEL_ARG_ADDRESS_GLOBAL && where != CL_KERNEL_ARG_ADDRESS_CONSTANT) return type;
  cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
  static_cast<void>(
      below.clGetKernelArgInfo(handle, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, nullptr));
  type.kind = access != CL_KERNEL_ARG_ACCESS_NONE ? ArgumentType::Kind::kImage : ArgumentType::Kind::kBuffer;
  cl_kernel_arg_type_qualifier qualifiers = 0;
  static_cast<void>(
      below.clGetKernelArgInfo(handle, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers, &qualifiers, nullptr));
  type.is_const = (qualifiers & CL_KERNEL_ARG_TYPE_CONST) != 0 || where == CL_KERNEL_ARG_ADDRESS_CONSTANT;
  return type;
}

std::optional<Dtype> element_type_of(cl_kernel handle, cl_uint index, Kernel& kernel, const Queue& queue) {
  const ArgumentType& type = kernel.types[index];
  if (type.kind != ArgumentType::Kind::kBuffer) return std::nullopt;
  const std::string argument = type.is_told ? text_of(handle, index, CL_KERNEL_ARG_NAME) : "";
  std::optional<Dtype> dtype = by_rule(kernel.name, argument, index);
  if (!dtype && type.is_told) {
    const std::string name = pointed_to(text_of(handle, index, CL_KERNEL_ARG_TYPE_NAME));
    dtype = is_bytes(name) ? by_macro(handle, kernel, queue, argument) : built_in(name);
    if (!dtype && !is_bytes(name)) dtype = probed(name, handle, kernel, queue);
  }
  return dtype;
}

}  // namespace

void find_types(cl_kernel handle, Kernel& kernel, const Queue& queue, bool with_dtypes) {
  std::call_once(kernel.once, [&] {
    guarded([&] {
      cl_uint count = 0;
      if (below.clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr) != CL_SUCCESS) return;
      for (cl_uint i = 0; i < count; ++i) kernel.types.push_back(type_of(handle, i));
    });
  });
  if (!with_dtypes) return;
  std::call_once(kernel.once_dtypes, [&] {
    guarded([&] {
      for (cl_uint i = 0; i < kernel.types.size(); ++i)
        kernel.dtypes.push_back(element_type_of(handle, i, kernel, queue));
    });
  });
}

}  // namespace tensorstat::attach

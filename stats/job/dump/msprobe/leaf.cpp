#include "stats/job/dump/msprobe/leaf.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "stats/core/base/crc32.hpp"
#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/data/json/json_writer.hpp"
#include "stats/data/rules/comparison.hpp"

namespace tensorstat {
namespace {

bool is_torch(std::string_view framework) { return framework == "pytorch"; }

// "torch.float32"; MindSpore's names are in capitals: "Float32", "UInt8", "BFloat16".
std::string type_name(std::string_view framework, std::string_view data_type) {
  std::string type(data_type);
  if (is_torch(framework)) return "torch." + type;
  for (const auto& [small, large] : {std::pair("uint", "UInt"), {"bfloat", "BFloat"}}) {
    if (type.starts_with(small)) return large + type.substr(std::strlen(small));
  }
  if (!type.empty() && type[0] >= 'a' && type[0] <= 'z') type[0] = static_cast<char>(type[0] - 'a' + 'A');
  return type;
}

double as_real(const Value& value) { return as_double(value).value_or(NAN); }

// The value of a tensor without dimensions. Integers stay integers.
std::string own_value(const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return "null";
  if (std::holds_alternative<double>(value)) return python_repr(std::get<double>(value));
  return to_string(value);
}

std::string value_text(const MsprobeSettings& settings, const PendingTensor& tensor, Category category,
                       const Value& value, const Value& max) {
  const Dtype dtype = tensor.tensor.dtype;
  if (std::holds_alternative<std::monostate>(value)) return "null";
  if (tensor.stored == Stored::kPlain && dtype == Dtype::kBool) {
    if (category != Category::kMax && category != Category::kMin) return "null";
    return as_real(value) != 0 ? "true" : "false";
  }
  if (tensor.shape.empty()) return own_value(max);
  const bool keeps_type = tensor.stored == Stored::kPlain && !settings.has_high_precision;
  if (keeps_type && dtype == Dtype::kFloat16) return python_repr(rounded_to(as_real(value), 11, -14, 15));
  if (keeps_type && dtype == Dtype::kBfloat16) return python_repr(rounded_to(as_real(value), 8, -126, 127));
  return python_repr(rounded_to(as_real(value), 24, -126, 127));
}

}  // namespace

double rounded_to(double number, int bits, int least_exponent, int most_exponent) {
  if (!std::isfinite(number) || number == 0) return number;
  const double size = std::fabs(number);
  const int unit = std::max(std::ilogb(size), least_exponent) - (bits - 1);
  const double scaled = std::ldexp(size, -unit);
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0)) whole += 1;
  double result = std::ldexp(whole, unit);
  if (result >= std::ldexp(1.0, most_exponent) * 2) result = INFINITY;
  return std::copysign(result, number);
}

Leaf leaf_of_tensor(const MsprobeSettings& settings, std::string_view framework, const PendingTensor& tensor,
                    const std::optional<Statistics>& statistics, std::string_view checksum,
                    std::string_view data_name) {
  Leaf leaf{framework, data_type(tensor), tensor.shape, {}, std::string(checksum), std::string(data_name)};
  if (is_torch(framework)) leaf.requires_grad = tensor.requires_grad;
  if (settings.summary == Summary::kXor) return leaf;
  auto& values = leaf.values.emplace();
  const Value* max = statistics ? statistics->find(Category::kMax) : nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value* value = statistics ? statistics->find(kLeafStatistics[i]) : nullptr;
    const bool is_empty = tensor.value_count == 0 || value == nullptr || max == nullptr;
    values[i] = is_empty ? "null" : value_text(settings, tensor, kLeafStatistics[i], *value, *max);
  }
  return leaf;
}

std::string text_of(const Leaf& leaf) {
  std::string text;
  JsonWriter json(text, kPythonJson);
  json.begin_object();
  json.key("type").text(is_torch(leaf.framework) ? "torch.Tensor" : "mindspore.Tensor");
  json.key("dtype").text(type_name(leaf.framework, leaf.data_type));
  json.key("shape").begin_list();
  for (const std::uint64_t dimension : leaf.shape) json.number(dimension);
  json.end();
  const auto add_checksum = [&] {
    if (!leaf.checksum.empty()) json.key("md5").text(leaf.checksum);
  };
  if (leaf.values) {
    constexpr const char* kMembers[] = {"Max", "Min", "Mean", "Norm"};
    for (std::size_t i = 0; i < leaf.values->size(); ++i) json.key(kMembers[i]).raw((*leaf.values)[i]);
  } else {
    add_checksum();  // msprobe writes an XOR first
  }
  if (leaf.requires_grad || is_torch(leaf.framework))
    json.key("requires_grad").truth(leaf.requires_grad.value_or(false));
  if (!leaf.data_name.empty()) json.key("data_name").text(leaf.data_name);
  if (leaf.values) add_checksum();  // msprobe writes a CRC-32 last, because it adds that when it writes the file
  json.end();
  return text;
}

std::string checksum_of(Summary summary, std::string_view framework, const PendingTensor& tensor,
                        std::span<const std::byte> bytes) {
  char digits[24];
  if (summary == Summary::kXor) {
    const auto all = static_cast<unsigned long long>(xor64_of(bytes));
    return {digits, static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "0x%016llx", all))};
  }
  std::uint32_t crc = 0;
  if (!is_torch(framework) && tensor.stored == Stored::kPlain && tensor.tensor.dtype == Dtype::kBfloat16) {
    constexpr std::uint64_t kPiece = 1 << 16;
    std::string wide;
    for (std::uint64_t first = 0; first < tensor.value_count; first += kPiece) {
      wide.clear();
      widen(Widening::kBfloat16, bytes, first, std::min(kPiece, tensor.value_count - first), wide);
      crc = crc32_of(crc, std::as_bytes(std::span(wide)));
    }
  } else {
    crc = crc32_of(crc, bytes);
  }
  return {digits, static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "%08x", crc))};
}

}  // namespace tensorstat

#include "stats/rows/run_name.hpp"

#include <array>

#include "stats/rows/csv_value.hpp"
#include "stats/rows/dialect.hpp"
#include "stats/rows/op_name.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kExtension = ".csv";
constexpr std::size_t kPlain = 3, kWithContext = 7;  // numbers at the end of a name

std::string part_of_name(std::string_view text) {
  std::string part = escaped_op_name(text);
  for (char& c : part) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) c = '_';
  }
  return part;
}

// Takes the last part off; empty where there is no further dot.
std::string_view take_last(std::string_view& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return {};
  const std::string_view part = name.substr(dot + 1);
  name = name.substr(0, dot);
  return part;
}

std::optional<Identity> identity_from(std::string_view stem, std::size_t numbers) {
  std::array<std::uint64_t, kWithContext> read{};
  for (std::size_t i = numbers; i-- > 0;) {
    const auto number = whole_number(take_last(stem));
    if (!number) return std::nullopt;
    read[i] = *number;
  }
  Identity identity;
  identity.op_name = take_last(stem);
  identity.op_type = stem;
  if (identity.op_name.empty() || identity.op_type.empty()) return std::nullopt;
  identity.task_id = read[0];
  identity.stream_id = read[1];
  identity.timestamp_us = read[2];
  return identity;
}

}  // namespace

std::string run_file_name(const Identity& identity) {
  std::string name = part_of_name(identity.op_type);
  name.append(".").append(part_of_name(identity.op_name));
  for (const std::uint64_t number : {identity.task_id, identity.stream_id, identity.timestamp_us}) {
    name.append(".").append(std::to_string(number));
  }
  return name.append(kExtension);
}

std::string file_name(Dialect dialect, const Identity& identity) {
  return value_of(dialect).whose == Whose::kInFileName ? run_file_name(identity) : "statistic.csv";
}

std::optional<Identity> identity_of_run(std::string_view path) {
  std::string_view stem = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (!stem.ends_with(kExtension)) return std::nullopt;
  stem.remove_suffix(kExtension.size());
  if (auto identity = identity_from(stem, kWithContext)) return identity;
  return identity_from(stem, kPlain);
}

}  // namespace tensorstat

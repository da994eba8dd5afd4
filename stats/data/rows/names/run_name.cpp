#include "stats/data/rows/names/run_name.hpp"

#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/files/ascend/operator_run_name.hpp"
#include "stats/data/rows/dialect.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kRowsExtension = ".csv";

std::string part_of_name(std::string_view text) {
  std::string part = escaped_op_name(text);
  for (char& c : part) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) c = '_';
  }
  return part;
}

}  // namespace

std::string numbered_path(const std::string& path, int number) {
  const std::size_t name = path.rfind('/') + 1, dot = path.rfind('.');  // npos + 1 is 0
  const std::size_t end = dot == path.npos || dot < name ? path.size() : dot;
  return path.substr(0, end) + "_" + std::to_string(number) + path.substr(end);
}

bool is_statistic_csv(std::string_view name) {
  constexpr std::string_view kFirst = "statistic.csv", kStem = "statistic_";
  if (name == kFirst) return true;
  if (!name.starts_with(kStem) || !name.ends_with(kRowsExtension)) return false;
  name.remove_prefix(kStem.size());
  name.remove_suffix(kRowsExtension.size());
  return is_number(name);
}

std::string run_file_stem(const Identity& identity) {
  std::string name = part_of_name(identity.op_type);
  name.append(".").append(part_of_name(identity.op_name));
  for (const std::uint64_t number : {identity.task_id, identity.stream_id, identity.timestamp_us}) {
    name.append(".").append(std::to_string(number));
  }
  return name;
}

std::string run_file_name(const Identity& identity) { return run_file_stem(identity).append(kRowsExtension); }

bool can_name_run(const Identity& identity) { return identity_of_run(run_file_name(identity)).has_value(); }

std::string file_name(Dialect dialect, const Identity& identity) {
  return value_of(dialect).whose == Whose::kInFileName ? run_file_name(identity) : "statistic.csv";
}

std::optional<Identity> identity_of_run(std::string_view path) {
  std::string_view stem = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (!stem.ends_with(kRowsExtension)) return std::nullopt;
  stem.remove_suffix(kRowsExtension.size());
  const auto named = OperatorRunName::from(stem);
  if (!named) return std::nullopt;
  Identity identity;
  identity.op_type = named->op_type;
  identity.op_name = named->op_name;
  identity.task_id = named->task_id;
  identity.stream_id = named->stream_id;
  identity.timestamp_us = named->timestamp_us;
  return identity;
}

Identity run_or_file(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
  if (is_number(name, kLeastDigits)) name = LongNames([](const Error&) {}).name_of(path);
  if (auto run = identity_of_run(name)) return *std::move(run);
  Identity file;
  file.op_name = std::move(name);
  if (file.op_name.ends_with(".csv")) file.op_name.resize(file.op_name.size() - 4);
  return file;
}

}  // namespace tensorstat

#include "stats/cli/columns.hpp"

#include <functional>
#include <string_view>

namespace tensorstat::cli {
namespace {

std::string text_of(const Cell* cell) {
  if (cell == nullptr) return "";
  const auto* number = std::get_if<std::uint64_t>(cell);
  return number ? std::to_string(*number) : std::get<std::string>(*cell);
}

}  // namespace

bool AlikeRows::are_met(const std::string& path, const Identity& who) {
  if (is_met_) return false;
  std::string key;
  for (const std::string& part : {who.op_type, who.op_name, who.io, std::to_string(who.slot),
                                  std::to_string(who.task_id), std::to_string(who.stream_id)}) {
    key.append(part) += '\0';
  }
  for (const std::string& column : columns_) key.append(text_of(who.find(column))) += '\0';
  const std::hash<std::string_view> hash;
  const std::size_t folder = hash(std::string_view(path).substr(0, path.rfind('/') + 1));  // npos + 1 is 0
  is_met_ = folders_.try_emplace(hash(key), folder).first->second != folder;
  return is_met_;
}

}  // namespace tensorstat::cli

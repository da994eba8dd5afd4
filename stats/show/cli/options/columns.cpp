#include "stats/show/cli/options/columns.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "stats/core/base/joined_key.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::size_t kMostRowsHeld = std::size_t{1} << 20;  // 48 MB; alike rows come in the second folder

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }  // npos + 1 is 0

void append_cell(std::string& key, const Cell* cell) {
  append_key(key, std::uint64_t{cell == nullptr ? 0 : cell->index() + 1});
  if (cell != nullptr) std::visit([&](const auto& content) { append_key(key, content); }, *cell);
}

}  // namespace

AlikeRows::AlikeRows(std::vector<std::string> columns, const std::vector<std::string>& files)
    : columns_(std::move(columns)) {
  const auto is_beside = [&](const std::string& file) { return folder_of(file) == folder_of(files.front()); };
  // Rows of different folders have different paths.
  is_over_ = std::ranges::all_of(files, is_beside) || std::ranges::count(columns_, "path") != 0;
}

bool AlikeRows::are_met(const std::string& path, const Identity& identity) {
  if (is_over_) return false;
  key_.clear();
  for (const std::string* text : {&identity.op_type, &identity.op_name, &identity.io}) append_key(key_, *text);
  for (const std::uint64_t number : {identity.slot, identity.task_id, identity.stream_id}) append_key(key_, number);
  for (const std::string& column : columns_) append_cell(key_, identity.find(column));
  const std::hash<std::string_view> hash;
  const std::size_t folder = hash(folder_of(path));
  const bool are_alike = folders_.try_emplace(hash(key_), folder).first->second != folder;
  is_over_ = are_alike || folders_.size() == kMostRowsHeld;
  if (is_over_) folders_ = {};
  return are_alike;
}

}  // namespace tensorstat::cli

#include "stats/answer/compare/execution_order.hpp"

#include <filesystem>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::string_view kHeading = "NodeExecutionOrder-FullNameWithScope";

}  // namespace

Result<ExecutionOrder> ExecutionOrder::parse(std::string_view text) {
  ExecutionOrder order;
  if (!text.empty() && take_line(text) != kHeading) {
    return Error{Code::kUnreadable, "is no order of execution: it does not begin with " + std::string(kHeading)};
  }
  while (!text.empty()) {
    const std::string_view name = take_line(text);
    if (!name.empty())
      order.places_.try_emplace(escaped_op_name(name), static_cast<std::uint32_t>(order.places_.size()));
  }
  return order;
}

std::optional<std::uint32_t> ExecutionOrder::place_of(std::string_view op_name) const {
  const auto entry = places_.find(escaped_op_name(op_name));
  return entry == places_.end() ? std::nullopt : std::optional(entry->second);
}

const ExecutionOrder* ExecutionOrders::of_file(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
  const auto [known, is_new] = by_folder_.try_emplace(folder, nullptr);
  if (is_new) known->second = above(folder);
  return known->second;
}

const ExecutionOrder* ExecutionOrders::above(const std::string& folder) {
  constexpr int kMostLevels = 4;  // rank_0/net/0/7
  const auto place = place_in_dump(folder + "statistic.csv");
  if (!place) return nullptr;
  std::error_code ignored;
  fs::path ancestor = fs::absolute(folder, ignored).lexically_normal().parent_path();
  for (int level = 0; level < kMostLevels && ancestor.has_relative_path(); ++level, ancestor = ancestor.parent_path()) {
    const std::string file =
        (ancestor / "execution_order" / ("ms_execution_order_graph_" + std::to_string(place->graph) + ".csv")).string();
    if (!fs::exists(file, ignored)) continue;
    const auto [known, is_new] = by_file_.try_emplace(file);
    if (is_new) known->second = read(file);
    return &known->second;
  }
  return nullptr;
}

ExecutionOrder ExecutionOrders::read(const std::string& path) {
  const auto text = read_whole_file(path, kMostBytes);
  auto order = text ? ExecutionOrder::parse(*text) : text.error();
  if (order) return *std::move(order);
  faults_.push_back(text ? Error{order.error().code, printable(path) + ": " + order.error().message} : text.error());
  return {};
}

}  // namespace tensorstat

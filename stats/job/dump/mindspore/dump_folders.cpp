#include "stats/job/dump/mindspore/dump_folders.hpp"

#include <algorithm>

#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

std::string part_of_a_file_name(std::string_view text) {
  std::string part(text);
  for (char& c : part) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '/' || code < 0x20 || code == 0x7f) c = '_';
  }
  return part;
}

}  // namespace

DumpFolders::DumpFolders(const DumpConfig& config, DumpLayout kind, std::string opened_at)
    : path_(config.path), net_name_(config.net_name), opened_at_(std::move(opened_at)), kind_(kind) {}

std::string DumpFolders::rank_folder(std::uint32_t rank) const { return path_ + "/rank_" + std::to_string(rank); }

std::string DumpFolders::folder(const DumpPlace& place) const {
  const auto last = place.constants ? "constants" : std::to_string(place.iteration);
  const auto graph = std::to_string(place.graph);
  if (kind_ == DumpLayout::kByStep) {
    const auto model = models_.find(place.graph);
    return path_ + "/" + std::to_string(place.iteration) + "/" + opened_at_ + "/" + std::to_string(place.device) + "/" +
           (model == models_.end() ? net_name_ : model->second) + "/" + graph + "/" + last;
  }
  return rank_folder(place.rank) + "/" + net_name_ + "/" + graph + "/" + last;
}

std::string DumpFolders::execution_order_file(std::uint32_t rank, std::uint32_t graph) const {
  return rank_folder(rank) + "/execution_order/ms_execution_order_graph_" + std::to_string(graph) + ".csv";
}

std::string DumpFolders::executions_file(std::uint32_t rank, std::uint32_t graph) const {
  return rank_folder(rank) + "/execution_order/ms_global_execution_order_graph_" + std::to_string(graph) + ".csv";
}

std::string npy_file_name(const Identity& identity, std::string_view format, std::string_view dtype,
                          DumpLayout layout) {
  const bool is_o2 = layout == DumpLayout::kByStep;
  return part_of_a_file_name(is_o2 ? escaped_op_name(identity.op_type) : identity.op_type) + "." +
         part_of_a_file_name(escaped_op_name(identity.op_name)) + "." + std::to_string(identity.task_id) + "." +
         std::to_string(identity.stream_id) + "." + std::to_string(identity.timestamp_us) + "." + identity.io + "." +
         std::to_string(identity.slot) + "." + part_of_a_file_name(format) + "." + std::string(dtype) + ".npy";
}

std::string kernel_args_file_name(std::string_view op_type, std::string_view op_name) {
  std::string name = part_of_a_file_name(op_name);
  std::replace(name.begin(), name.end(), '.', '_');
  return part_of_a_file_name(op_type) + "." + name + ".json";
}

}  // namespace tensorstat

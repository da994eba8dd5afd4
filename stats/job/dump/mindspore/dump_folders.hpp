// The folders and file names of MindSpore's dump.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>
#include <tensorstat/rows.hpp>

#include "stats/job/dump/config/dump_config.hpp"

namespace tensorstat {

class DumpFolders {
 public:
  // `opened_at` is the {time} of DumpLayout::kByStep, as 20240131235959.
  DumpFolders(const DumpConfig& config, DumpLayout kind, std::string opened_at);

  // With DumpLayout::kByStep, the folder of the network for this graph.
  void name_graph(std::uint32_t graph, std::string_view model) { models_.insert_or_assign(graph, std::string(model)); }

  // "{path}/rank_{rank}": holds the files that belong to a rank and to no iteration (execution_order, .dump_metadata).
  // MindSpore uses the same folder for O0, O1 and O2.
  std::string rank_folder(std::uint32_t rank) const;
  // The folder of an iteration, or of the graph's constants.
  std::string folder(const DumpPlace& place) const;
  // Both in rank_folder(): the order of a graph's operators, and the order of its executions.
  std::string execution_order_file(std::uint32_t rank, std::uint32_t graph) const;
  std::string executions_file(std::uint32_t rank, std::uint32_t graph) const;

 private:
  std::string path_, net_name_, opened_at_;
  std::map<std::uint32_t, std::string> models_;  // by graph
  DumpLayout kind_;
};

// `{op_type}.{op_name}.{task}.{stream}.{timestamp}.{input|output}.{slot}.{format}.{dtype}.npy`. The operator's name is
// escaped. In the other parts, / and control characters become _. In O2 the operator's type is escaped like the name.
// The result may be longer than the file system allows.
std::string npy_file_name(const Identity& identity, std::string_view format, std::string_view dtype,
                          DumpLayout layout = DumpLayout::kByRank);

// `{op_type}.{op_name}.json`, with . and / of the name as _: holds an operator's arguments.
std::string kernel_args_file_name(std::string_view op_type, std::string_view op_name);

}  // namespace tensorstat

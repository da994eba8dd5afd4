// Where a dump puts its files, and how it names them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>
#include <tensorstat/rows.hpp>

#include "stats/dump/config/dump_config.hpp"

namespace tensorstat {

class DumpFolders {
 public:
  // `opened_at` is the {time} of DumpLayout::kByStep, as 20240131235959.
  DumpFolders(const DumpConfig& config, DumpLayout kind, std::string opened_at);

  // "{path}/rank_{rank}", for what is a rank's own and of no iteration: execution_order and .dump_metadata, whose
  // rules MindSpore's O2 shares with O0 and O1.
  std::string rank_folder(std::uint32_t rank) const;
  // The folder of one iteration, or of the graph's constants.
  std::string folder(const DumpPlace& place) const;
  // In rank_folder(): the order of a graph's operators, and of its executions.
  std::string execution_order_file(std::uint32_t rank, std::uint32_t graph) const;
  std::string executions_file(std::uint32_t rank, std::uint32_t graph) const;

 private:
  std::string path_, net_name_, opened_at_;
  DumpLayout kind_;
};

// `{op_type}.{op_name}.{task}.{stream}.{timestamp}.{input|output}.{slot}.{format}.{dtype}.npy`,
// with the operator's name escaped, and what no file name can hold (/ and control characters) as _
// in the other parts. O2 escapes the operator's type as the name. May be longer than a file name can be.
std::string npy_file_name(const Identity& identity, std::string_view format, std::string_view dtype,
                          DumpLayout layout = DumpLayout::kByRank);

// `{op_type}.{op_name}.json`, with . and / of the name as _: an operator's arguments.
std::string kernel_args_file_name(std::string_view op_type, std::string_view op_name);

}  // namespace tensorstat

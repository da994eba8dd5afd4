// The order of execution that a dump says, beside the times that its rows have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <unordered_map>
#include <vector>

namespace tensorstat {

// MindSpore leaves the names of a graph's operators in their order, in
// rank_{rank}/execution_order/ms_execution_order_graph_{graph}.csv, above the folders of rows and of tensors.
class ExecutionOrder {
 public:
  // Parses the text of such a file: a heading, then one name a line.
  static Result<ExecutionOrder> parse(std::string_view text);

  // The place of an operator in it.
  std::optional<std::uint32_t> place_of(std::string_view op_name) const;

 private:
  std::unordered_map<std::string, std::uint32_t> places_;  // by names as they are in files
};

class ExecutionOrders {
 public:
  // The order of one graph. `path` is a file with rows or tensors of that graph. nullptr: the dump does not say it.
  const ExecutionOrder* of_file(const std::string& path);

  // Why a file of an order could not be read: its operators then go by their times.
  const std::vector<Error>& faults() const { return faults_; }

 private:
  const ExecutionOrder* above(const std::string& folder);
  ExecutionOrder read(const std::string& path);

  std::map<std::string, ExecutionOrder> by_file_;  // which does not move them
  std::unordered_map<std::string, const ExecutionOrder*> by_folder_;
  std::vector<Error> faults_;
};

}  // namespace tensorstat

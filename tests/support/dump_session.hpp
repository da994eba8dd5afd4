// A dump session in a folder of its own, and the files it wrote.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/data/rows/csv/statistic_csv.hpp"
#include "tests/support/config_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {

class SessionTest : public testing::Test {
 protected:
  // `common` and `e2e` are merged over a config that dumps the statistics of everything.
  DumpSession open(const std::string& common = "{}", const std::string& e2e = "{}");

  template <typename T>
  static DumpTensor tensor(const std::vector<T>& values, Dtype dtype, Io io = Io::kOutput, std::uint32_t slot = 0) {
    DumpTensor tensor;
    tensor.tensor = {.dtype = dtype, .element_count = values.size(), .address = values.data()};
    tensor.shape = {values.size()};
    tensor.io = io;
    tensor.slot = slot;
    return tensor;
  }

  void collect(DumpSession& session, const DumpPlace& place, const std::string& name,
               const std::vector<DumpTensor>& tensors, bool failed = false) {
    session.collect(place, session.operator_named("Op", name), tensors, failed);
  }

  // The paths of all files below the folder, relative to it.
  std::vector<std::string> files() const;

  std::vector<Row> rows(const std::string& path = "rank_0/Net/0/0/statistic.csv") const;

  bool was_said(const std::string& words) const;

  ScratchFolder folder;
  DumpOptions options;
  std::vector<std::string> messages;
};

}  // namespace tensorstat

// The rank, device, graph and iteration of a file are read from its folders, for every framework that writes dumps.
#include "stats/data/rows/names/dump_place.hpp"

#include <gtest/gtest.h>

namespace tensorstat {
namespace dump_place_test {

struct Case {
  const char* path;
  std::uint32_t rank, device, graph;
  std::uint64_t iteration;
};

TEST(DumpPlace, IsReadFromTheFoldersOfEachLayout) {
  const Case cases[] = {
      {"/a/rank_9/net/3/17/x.npy", 9, 1, 3, 17},                                 // MindSpore O0 and O1; r1.5
      {"/a/17/20240131235959/5/net/3/16/x.npy", 5, 5, 3, 16},                    // O2
      {"/a/worldsize16_global_rank9/20240131235959/1/net/3/17/x", 9, 1, 3, 17},  // TorchAir
      {"/a/20240131235959/5/net/3/17/x", 5, 5, 3, 17},                           // acl.json
      {"/a/20240131235959/5/x", 5, 5, 0, 0},                                     // a single operator
      {"/a/5/my_graph_net_graph_3/3/17/x", 5, 5, 3, 17},                         // r1.5, asynchronous
      {"/a/step17/rank9/dump_tensor_data/x.npy", 9, 1, 0, 17},                   // msprobe
      {"/a/step17/rank/dump_tensor_data/x.npy", 0, 0, 0, 17},
      {"/a/step17/proc4711/dump_tensor_data/x.npy", 0, 0, 0, 17},
  };
  for (const Case& wanted : cases) {
    const auto place = place_in_dump(wanted.path);
    ASSERT_TRUE(place) << wanted.path;
    EXPECT_EQ(place->rank, wanted.rank) << wanted.path;
    EXPECT_EQ(place->device, wanted.device) << wanted.path;
    EXPECT_EQ(place->graph, wanted.graph) << wanted.path;
    EXPECT_EQ(place->iteration, wanted.iteration) << wanted.path;
    EXPECT_FALSE(place->constants) << wanted.path;
  }
}

TEST(DumpPlace, OfConstantsHasNoIteration) {
  const auto place = place_in_dump("/a/rank_9/net/3/constants/x.npy");
  ASSERT_TRUE(place);
  EXPECT_TRUE(place->constants);
  EXPECT_EQ(place->graph, 3u);
  EXPECT_EQ(place->rank, 9u);
  EXPECT_EQ(place->iteration, 0u);
}

TEST(DumpPlace, OfMsprobesRowsIsThatOfTheTensorsBeside) {
  for (const auto& [path, rank, iteration] : {std::tuple("/a/step17/rank9/dump.json", 9u, 17u),
                                              {"/a/step17/rank9/debug.json", 9u, 17u},
                                              {"step3/rank/dump.json", 0u, 3u},
                                              {"/step3/proc421/dump.json", 0u, 3u},
                                              {"/step3/pid421/dump.json", 0u, 3u},
                                              {"/rank_9/20240131235959/step_17/statistic.csv", 9u, 17u},
                                              {"/rank_9/net/3/17/statistic.csv", 9u, 17u}}) {
    const auto place = place_of_rows(path);
    ASSERT_TRUE(place) << path;
    EXPECT_EQ(place->rank, rank) << path;
    EXPECT_EQ(place->iteration, iteration) << path;
  }
  for (const char* path : {"/step17/rank9/x.json", "/step17/rank9/statistic.csv", "/rank9/dump.json", "dump.json"}) {
    EXPECT_FALSE(place_of_rows(path)) << path;
  }
}

TEST(DumpPlace, ExecutionIsTheFolderAboveTheStep) {
  for (const auto& [path, execution] : {std::pair("/a/graph/step0/rank0/dump.json", "graph"),
                                        {"/a/pynative/step12/proc3/dump.json", "pynative"},
                                        {"/graph/step1/x/pynative/step0/rank0/dump_tensor_data/x.npy", "pynative"},
                                        {"graph/step0/rank/dump.json", "graph"},
                                        {"/graph/x/step0/rank0/dump.json", ""},
                                        {"/graph/step/rank0/dump.json", ""},
                                        {"/step0/rank0/graph/dump.json", ""},
                                        {"/Graph/step0/rank0/dump.json", ""},
                                        {"dump.json", ""}}) {
    EXPECT_EQ(name(execution_of_file(path)), execution) << path;
  }
}

TEST(DumpPlace, IsNoneInOtherFolders) {
  for (const char* path :
       {"/x.npy", "x.npy", "/a/b/c/d/e/f/x.npy", "/rank_0/net/g/1/x.npy", "/rank_/net/0/1/x.npy",
        "/rank_x/net/0/1/x.npy", "/rank_4294967296/net/0/1/x.npy", "/rank_0/net/0/-1/x.npy",
        "/rank_0/net/0/18446744073709551616/x.npy", "/Rank_0/net/0/1/x.npy", "/xrank_0/net/0/1/x.npy",
        "/1/2024013123595/5/net/3/17/x", "/2024013123595x/5/x", "/5/net_graph_/3/17/x", "/5/_graph_3/3/17/x",
        "/step17/rank9/x.npy", "/step/rank9/dump_tensor_data/x.npy", "/step17x/rank9/dump_tensor_data/x.npy"}) {
    EXPECT_FALSE(place_in_dump(path)) << path;
    EXPECT_EQ(place_of_file(path).iteration, 0u) << path;
    EXPECT_EQ(place_of_file(path).rank, 0u) << path;
  }
}

}  // namespace dump_place_test
}  // namespace tensorstat

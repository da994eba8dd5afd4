// Folders and file names equal MindSpore's.
#include "stats/job/dump/mindspore/dump_folders.hpp"

#include <gtest/gtest.h>

namespace tensorstat {
namespace dump_folders_test {

DumpConfig config() {
  DumpConfig config;
  config.path = "/dump";
  config.net_name = "ResNet50";
  return config;
}

TEST(DumpFolders, ByRank) {
  const DumpFolders folders(config(), DumpLayout::kByRank, "20240131235959");
  EXPECT_EQ(folders.folder({.rank = 3, .device = 7, .graph = 2, .iteration = 10}), "/dump/rank_3/ResNet50/2/10");
  EXPECT_EQ(folders.folder({.rank = 3, .graph = 2, .iteration = 10, .constants = true}),
            "/dump/rank_3/ResNet50/2/constants");
  EXPECT_EQ(folders.rank_folder(3), "/dump/rank_3");
  EXPECT_EQ(folders.execution_order_file(0, 4), "/dump/rank_0/execution_order/ms_execution_order_graph_4.csv");
  EXPECT_EQ(folders.executions_file(0, 4), "/dump/rank_0/execution_order/ms_global_execution_order_graph_4.csv");
}

TEST(DumpFolders, ByStep) {
  const DumpFolders folders(config(), DumpLayout::kByStep, "20240131235959");
  EXPECT_EQ(folders.folder({.rank = 3, .device = 7, .graph = 2, .iteration = 10}),
            "/dump/10/20240131235959/7/ResNet50/2/10");
  EXPECT_EQ(folders.execution_order_file(3, 4), "/dump/rank_3/execution_order/ms_execution_order_graph_4.csv")
      << "O2's rules for these are those of O0 and O1";
  EXPECT_EQ(folders.rank_folder(3), "/dump/rank_3");
}

TEST(DumpFolders, NamesOfTensors) {
  const Identity identity{
      "Conv2D", "Default/network-WithLossCell/conv1-Conv2d/Conv2D-op12", 0, 2, 1623124369613540, "output", 1};
  EXPECT_EQ(npy_file_name(identity, "DefaultFormat", "float16"),
            "Conv2D.Default_network-WithLossCell_conv1-Conv2d_Conv2D-op12.0.2.1623124369613540."
            "output.1.DefaultFormat.float16.npy");
  const Identity odd{"a/b\n", "x.y z\\w\x01", 0, 0, 5, "input", 0};
  EXPECT_EQ(npy_file_name(odd, "NC1/HWC0", "int4"), "a_b_.x_y_z_w_.0.0.5.input.0.NC1_HWC0.int4.npy");
  const Identity dotted{"my.own\\Op type/x", "n", 0, 0, 5, "input", 0};
  EXPECT_EQ(npy_file_name(dotted, "ND", "int8"), "my.own\\Op type_x.n.0.0.5.input.0.ND.int8.npy");
  EXPECT_EQ(npy_file_name(dotted, "ND", "int8", DumpLayout::kByStep), "my_own_Op_type_x.n.0.0.5.input.0.ND.int8.npy")
      << "O2's escape the type, too";
}

TEST(DumpFolders, NamesOfArguments) {
  EXPECT_EQ(kernel_args_file_name("MatMul", "Default/net.dense/MatMul-op1"),
            "MatMul.Default_net_dense_MatMul-op1.json");
}

}  // namespace dump_folders_test
}  // namespace tensorstat

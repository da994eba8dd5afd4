// Facts beside the rows: the line of an operator in a graph or a stack, and a watch.ndjson that is not trusted.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/origin_answers.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat::test {
namespace origin_hints_test {

TEST(OriginHints, TheLineOfAnOperatorInAGraph) {
  constexpr const char* kText = R"(
  %19(equivoutput) = Cast(%18) {instance name: cast}
       : full_name_with_scope: (Default/network-WithLossCell/Cast-op11)
       # In file ./other.py(3)/        y = x/
  %20(equivoutput) = Conv2D(%17, %19) {instance name: conv2d} primitive_attrs: {kernel_size: (3, 3)}
       : (<Tensor[Float32], (32, 256, 13, 13)>) -> (<Tensor[Float32], (32, 384, 13, 13)>)
       : full_name_with_scope: (Default/network-WithLossCell/_backbone-AlexNet/conv3-Conv2d/Conv2D-op12)
       ...
       # In file ./tain_alexnet.py(175)/        x = self.conv3(x)/
  %21(equivoutput) = ReLU(%20)
       # Fullname with scope: (Default/ReLU-op13)
       # In file /a b/net.py:58, 8~30/        x = self.relu(x)/
  %22 = Add(%21)
       : full_name_with_scope: (Default/Add-op14)
  %23 = Add(%21)
       # In file /a/net.py:9/
)";
  const auto conv = line_in_graph(kText, "Default_network-WithLossCell__backbone-AlexNet_conv3-Conv2d_Conv2D-op12");
  ASSERT_TRUE(conv.has_value());
  EXPECT_EQ(conv->file, "./tain_alexnet.py");
  EXPECT_EQ(conv->line, 175u);
  const auto relu = line_in_graph(kText, "Default/ReLU-op13");
  ASSERT_TRUE(relu.has_value());
  EXPECT_EQ(relu->file, "/a b/net.py");
  EXPECT_EQ(relu->line, 58u);
  EXPECT_FALSE(line_in_graph(kText, "Default/Add-op14"));
  EXPECT_FALSE(line_in_graph(kText, "Default/Other-op1"));
  EXPECT_FALSE(line_in_graph("# In file", "x"));
}

// A file of a tensor may have the last part of its operator's name alone, "Conv2D.Conv2D-op12.0.0...", as in
// MindSpore's documents. It is taken if it is the end of one name.
TEST(OriginHints, TheLineOfAShortName) {
  constexpr const char* kText =
      "  %1 = Conv2D(%0)\n"
      "       : full_name_with_scope: (Default/network-WithLossCell/conv3-Conv2d/Conv2D-op12)\n"
      "       # In file /a/net.py(175)/\n"
      "  %2 = ReLU(%1)\n"
      "       : full_name_with_scope: (Default/first/ReLU-op1)\n"
      "       # In file /a/net.py(9)/\n"
      "  %3 = ReLU(%2)\n"
      "       : full_name_with_scope: (Default/second/ReLU-op1)\n"
      "       # In file /a/net.py(10)/\n";
  const auto conv = line_in_graph(kText, "Conv2D-op12");
  ASSERT_TRUE(conv.has_value());
  EXPECT_EQ(conv->line, 175u);
  EXPECT_FALSE(line_in_graph(kText, "ReLU-op1")) << "two operators have this ending";
  EXPECT_FALSE(line_in_graph(kText, "2D-op12")) << "no whole part of the name";
  EXPECT_EQ(line_in_graph(kText, "Default_second_ReLU-op1")->line, 10u);
}

// As MindSpore 1.5's documents have it: the attributes of an operator span lines, its types have brackets, and the name
// stands alone in parentheses. A line without a file or a number is passed over, and the line of the next operator does
// not take its place.
TEST(OriginHints, TheLineOfAnOperatorInAGraphOfRelease15) {
  constexpr const char* kText =
      "  %24(equivoutput) = Conv2D(%23, %21) {instance name: conv2d} primitive_attrs: {compile_info: , pri_format: "
      "NC1HWC0, out_channel:\n"
      "192, mode: 1, output_names: [output], format: NCHW, kernel_size: (3, 3), input_names: [x, w], pad_list: (1, 1, "
      "1, "
      "1),\n"
      "IsFeatureMapOutput: true, IsFeatureMapInputList: (0)}\n"
      "       : (<Tensor[Float32]x[const vector][32, 128, 13, 13]>, <Tensor[Float16]x[const vector][192, 128, 3, 3]>) "
      "-> "
      "(<Tensor[Float16]x[const vector][32, 192, 13, 13]>)\n"
      "       : (<Float16xNC1HWC0[const vector][32, 8, 13, 13, 16]>, <Float16xFracZ[const vector][72, 12, 16, 16]>) -> "
      "(<Float16xNC1HWC0[const vector][32, 12, 13, 13, 16]>)\n"
      "       : (Default/network-WithLossCell/_backbone-AlexNet/conv3-Conv2d/Conv2D-op107)\n"
      "       ...\n"
      "       # In file {Absolute path of model_zoo}/official/cv/alexnet/src/alexnet.py(58)/        x = "
      "self.conv3(x)/\n"
      "       ...\n"
      "  %25(equivoutput) = BiasAdd(%24, %22) {instance name: bias_add}\n"
      "       : (Default/network-WithLossCell/_backbone-AlexNet/conv3-Conv2d/BiasAdd-op105)\n"
      "       # In file {Absolute path of model_zoo}/official/cv/alexnet/src/        x = self.conv3(x)/\n"
      "  %26(equivoutput) = ReLU(%25)\n"
      "       : (Default/network-WithLossCell/_backbone-AlexNet/relu-ReLU/ReLU-op100)\n"
      "       # In file alexnet.py(60)/        x = self.relu(x)/\n";
  const std::string scope = "Default_network-WithLossCell__backbone-AlexNet_";
  const auto conv = line_in_graph(kText, scope + "conv3-Conv2d_Conv2D-op107");
  ASSERT_TRUE(conv.has_value());
  EXPECT_EQ(conv->file, "{Absolute path of model_zoo}/official/cv/alexnet/src/alexnet.py");
  EXPECT_EQ(conv->line, 58u);
  EXPECT_FALSE(line_in_graph(kText, scope + "conv3-Conv2d_BiasAdd-op105"));
  const auto relu = line_in_graph(kText, scope + "relu-ReLU_ReLU-op100");
  ASSERT_TRUE(relu.has_value());
  EXPECT_EQ(relu->line, 60u);
}

TEST(OriginHints, TheOwnLineOfAStack) {
  const auto line = line_in_stack({"File /usr/lib/python3/dist-packages/torch/nn/functional.py, line 1, in relu, \n x",
                                   "File /home/me/model.py, line 17, in forward, \n y = F.relu(x)"});
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->file, "/home/me/model.py");
  EXPECT_EQ(line->line, 17u);
  EXPECT_FALSE(line_in_stack({"", "File", "File x, line ", "File /a.py, line y"}));
}

// 65 MiB of lines between two that matter, as a long run may write them.
TEST(OriginHints, OfALongRunAreTaken) {
  const ScratchFolder scratch;
  const std::string place = scratch / "net/0/7";
  std::filesystem::create_directories(place);
  const std::string other = "{\"kind\": \"step\"" + std::string((std::size_t{1} << 20) - 18, ' ') + "}\n";
  std::ofstream file(scratch / "net/watch.ndjson");
  file << R"({"kind": "code", "op_name": "a", "parent": "first"})"
       << "\n";
  for (int i = 0; i < 65; ++i) file << other;
  file << R"({"kind": "code", "op_name": "b", "parent": "last"})";
  file.close();
  Hints hints;
  hints.add_folder(0, 7, 0, place);
  EXPECT_EQ(hints.parent_of(0, 7, "a"), "first");
  EXPECT_EQ(hints.parent_of(0, 7, "b"), "last");
}

TEST(OriginHints, AreTakenWithoutTrust) {
  Hints hints;
  hints.add_watch(0,
                  "{\n[1]\nnull\n{\"kind\": 5}\n{\"kind\": \"code\"}\n{\"kind\": \"zoom\", \"line\": -3, \"result\": "
                  "[]}\n\"x\"\n{\"kind\": \"code\", \"op_name\": \"a\", \"parent\": \"a\"}");
  EXPECT_EQ(hints.parent_of(0, 0, "a"), "a");
  // A call inside itself, and two inside each other.
  EXPECT_EQ(ask_who(R"(
    {"kind": "code", "op_name": "a/forward", "parent": "a/forward"}
    {"kind": "code", "op_name": "b/forward", "parent": "c/forward"}
    {"kind": "code", "op_name": "c/forward", "parent": "b/forward"}
    A a/forward i0 ok
    B b/forward i0 ok
    C c/forward i0 ok
    C c/forward o0 nan
    B b/forward o0 nan
    A a/forward o0 nan)"),
            "produced, forward, c/forward, 0, 0");
}

}  // namespace origin_hints_test
}  // namespace tensorstat::test

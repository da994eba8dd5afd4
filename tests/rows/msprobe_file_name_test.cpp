// File names in msprobe's dump_tensor_data give the call and the tensor. Any other name gives nothing.
#include "stats/data/rows/names/msprobe_file_name.hpp"

#include <gtest/gtest.h>

namespace tensorstat {
namespace msprobe_file_name_test {

TEST(MsprobeFileName, TellsTheCallAndTheTensor) {
  struct Case {
    const char *name, *type, *key, *io;
    std::uint64_t slot;
    bool is_numbered;
  };
  const Case cases[] = {
      {"/a.forward.input.0/Functional.conv2d.0.forward.input.1.npy", "conv2d", "Functional.conv2d.0.forward", "input",
       1, true},
      {"Functional.conv2d.12.backward.output.0.npy", "conv2d", "Functional.conv2d.12.backward", "output", 0, true},
      {"Module.layer.0.conv1.Conv2d.forward.3.output.2.npy", "Conv2d", "Module.layer.0.conv1.Conv2d.forward.3",
       "output", 2, true},
      {"Cell.fc.Dense.backward.0.input.0.npy", "Dense", "Cell.fc.Dense.backward.0", "input", 0, true},
      {"Torch.cat.3.forward.input.0.1.npy", "cat", "Torch.cat.3.forward", "input", 0, false},
      {"Functional.pad.0.forward.input.value.npy", "pad", "Functional.pad.0.forward", "input", 0, false},
      {"Module.fc.Linear.forward.0.parameters.weight.npy", "Linear", "Module.fc.Linear.forward.0", "input", 0, false},
      {"Module.fc.Linear.parameters_grad.0.weight.npy", "Linear", "Module.fc.Linear.parameters_grad.0", "output", 0,
       false},
      {"Module.fc.Linear.parameters_grad.weight.npy", "Linear", "Module.fc.Linear.parameters_grad", "output", 0, false},
      {"Distributed.all_reduce.0.forward.input.18446744073709551615.npy", "all_reduce",
       "Distributed.all_reduce.0.forward", "input", ~std::uint64_t{0}, true},
  };
  for (const Case& wanted : cases) {
    const auto tensor = msprobe_tensor_name(wanted.name);
    ASSERT_TRUE(tensor) << wanted.name;
    EXPECT_EQ(tensor->identity.op_type, wanted.type) << wanted.name;
    EXPECT_EQ(tensor->identity.op_name, wanted.key) << wanted.name;
    EXPECT_EQ(tensor->identity.io, wanted.io) << wanted.name;
    EXPECT_EQ(tensor->identity.slot, wanted.slot) << wanted.name;
    EXPECT_EQ(tensor->is_numbered, wanted.is_numbered) << wanted.name;
  }
}

TEST(MsprobeFileName, OfAnythingElseIsNone) {
  for (const char* name : {"",
                           ".npy",
                           "x.npy",
                           "forward.npy",
                           "forward.input.0.npy",
                           "0.forward.input.0.npy",
                           "conv2d.0.forward.input.0",
                           "Functional.conv2d.forward.input.0.npy",
                           "Functional.0.forward.input.0.npy",
                           "Functional.conv2d.0.forward.npy",
                           "Functional.conv2d.0.forward.0.npy",
                           "Functional.conv2d.0.forward.input.npy",
                           "Functional.conv2d.0.Forward.input.0.npy",
                           "Functional..0.forward.input.0.npy",
                           "Functional.conv2d.0.forward..0.npy",
                           "Functional.conv2d.0.forward.input..npy",
                           "Functional.conv2d.0.forward.other.0.npy",
                           "Functional.conv2d.0.forward.input.0.pt",
                           "Module.fc.Linear.forward.x.input.0.npy",
                           "Module.fc.Linear.parameters_grad.npy",
                           "Conv2D.Default_Conv2D-op12.7.3.1733905446819790.input.2.DefaultFormat.float16.npy"}) {
    EXPECT_FALSE(msprobe_tensor_name(name)) << name;
  }
}

}  // namespace msprobe_file_name_test
}  // namespace tensorstat

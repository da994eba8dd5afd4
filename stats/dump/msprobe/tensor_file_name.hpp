// Whose tensor one of msprobe's files holds, read from its name.
#pragma once

#include <optional>
#include <string_view>
#include <tensorstat/rows.hpp>

namespace tensorstat {

struct MsprobeTensorName {
  Identity identity;           // op_name is the key of the call in dump.json, op_type the last part of its name
  bool is_numbered = true;     // identity.slot is told; else it is 0, and the tensor lies in a list, or has a name
};

// What lies in dump_tensor_data: the key of the call, input or output, and which of them:
//   Functional.conv2d.0.forward.input.0.npy         Module.conv1.Conv2d.forward.0.output.0.npy
//   Torch.cat.3.forward.input.0.1.npy               Functional.pad.0.forward.input.value.npy
//   Module.fc.Linear.forward.0.parameters.weight.npy, an input; Module.fc.Linear.parameters_grad.0.weight.npy, an output
// nullopt of any other name. Folders before it are ignored; times are none.
std::optional<MsprobeTensorName> msprobe_tensor_name(std::string_view path);

}  // namespace tensorstat

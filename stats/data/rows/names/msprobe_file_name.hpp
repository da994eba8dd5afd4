// Reads the call and the tensor from the name of one of msprobe's files.
#pragma once

#include <optional>
#include <string_view>
#include <tensorstat/rows.hpp>

namespace tensorstat {

struct MsprobeTensorName {
  Identity identity;        // op_name: the key of the call in dump.json; op_type: the last part of its name
  bool is_numbered = true;  // identity.slot is valid; else it is 0, and the tensor is in a list or has a name
};

// The name of a file in dump_tensor_data has the key of the call, input or output, and the tensor's position or name:
//   Functional.conv2d.0.forward.input.0.npy         Module.conv1.Conv2d.forward.0.output.0.npy
//   Torch.cat.3.forward.input.0.1.npy               Functional.pad.0.forward.input.value.npy
//   Module.fc.Linear.forward.0.parameters.weight.npy (an input)
//   Module.fc.Linear.parameters_grad.0.weight.npy, without the count in older versions (an output)
// nullopt for any other name. Folders are ignored. The name has no time.
std::optional<MsprobeTensorName> msprobe_tensor_name(std::string_view path);

inline bool is_direction(std::string_view word) { return word == "forward" || word == "backward"; }

// The name by which two dumps have one call: older versions of msprobe write no count behind parameters_grad, newer
// ones write 0.
std::string_view without_gradient_count(std::string_view key);

}  // namespace tensorstat

// Which API of PyTorch msprobe takes for an API of MindSpore.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tensorstat::msprobe {

// The name of a tensor with its API's name in PyTorch: "Torch.abs.0.forward.input.0" of "Functional.abs.0....". A name
// that the table does not have stays. Source: msprobe's ms_to_pt_api.yaml at 8ff00da3.
std::string with_pytorch_api(const std::string& name);

// The first two parts of a name: "Functional.abs".
std::string_view api_of(std::string_view name);

// Replaces each `from` in `text`, or at most `most` of them, from left to right.
std::string replaced(std::string text, std::string_view from, std::string_view to, std::size_t most = SIZE_MAX);

}  // namespace tensorstat::msprobe

// msprobe's layer mapping: calls pair by the place of their layer in the model, whatever the layers are named.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/answer/msprobe/dumped_items.hpp"

namespace tensorstat::msprobe {

// Sets the keys of the NPU's items to the names of the Bench's tensors, or to N/A.
//
// A call has a scope: the layers that contain it, from construct.json, and the framework's function that called it,
// from stack.json. `file` maps names of members by the type of their layer: {Net: {fc1: linear1, block.0: layers.0}}.
// The n-th call of a scope and direction pairs with the n-th of the mapped scope. Tensors of two paired calls pair by
// what follows the call in their names. Errors: a dump has no stack.json or construct.json; a name has fewer than four
// parts; the file is no dict of dicts.
Status map_layers(const std::optional<PythonTree>& file, const std::string& npu_path, const std::string& bench_path,
                  Dump& npu, const Dump& bench);

}  // namespace tensorstat::msprobe

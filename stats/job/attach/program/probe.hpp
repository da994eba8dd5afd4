// What a name of a type stands for in a program, told by the program's own compiler.
#pragma once

#include "stats/job/attach/program/objects.hpp"

namespace tensorstat::attach {

// Compiles the program's source once more, with its own options and one kernel more, and runs that on the reader's own
// queue. nullopt: it is no scalar or vector of a dtype (a structure, or three elements), or it cannot be told. Asked
// once for a program and a name.
std::optional<Dtype> probed(const std::string& type_name, cl_kernel handle, Kernel& kernel, const Queue& queue);

// Whether a word stands in the source of a kernel's program.
bool is_in_source(const std::string& word, cl_kernel handle);

}  // namespace tensorstat::attach

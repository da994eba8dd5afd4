// Finds the dtype behind a type name in a program, with the program's own compiler.
#pragma once

#include "stats/job/attach/program/objects.hpp"

namespace tensorstat::attach {

// Compiles the program's source once more, with its own options and one more kernel, and runs that kernel on the
// reader's own queue. nullopt: it cannot be found, or the type is not a scalar or vector of a dtype (a structure, or
// three elements). The answer is cached for each program and name.
std::optional<Dtype> probed(const std::string& type_name, cl_kernel handle, Kernel& kernel, const Queue& queue);

// Whether a word stands in the source of a kernel's program.
bool is_in_source(const std::string& word, cl_kernel handle);

}  // namespace tensorstat::attach

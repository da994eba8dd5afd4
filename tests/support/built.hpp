// For tests: where this build has what a test needs. tests/CMakeLists.txt writes the definitions into a source of their
// own: a compiler cache can share a test's object between checkouts only if no path of the checkout is in it.
#pragma once

#include <string>

namespace built {

std::string source_dir();  // the top level
std::string build_dir();

// The built programs, and their paths.
std::string command();
std::string library();  // tensorstat_core
std::string c_library();
std::string cl_layer();
std::string file_fault_library();
std::string backend_c11();
std::string backend_old_abi();
std::string examples();  // the folder of them
std::string pythonpath();
std::string man_folder();
std::string completions_folder();
std::string gpu_bench();
std::string fake_cuda();
std::string fake_cuda_memory();
std::string fake_rocm_memory();

// How it is built.
std::string cmake();
std::string cpack();
std::string generator();
std::string compiler();
std::string flags();
std::string build_type();
std::string version();
std::string major();

// Folders below the prefix of an installation.
std::string bin();
std::string libdir();
std::string libexec();
std::string python_dir();

}  // namespace built

// What Ascend's dump files hold, as MindSpore's asynchronous dump leaves them (r1.5; O2 with file_format bin), and
// acl.json's and TorchAir's. A file is one run of an operator, with all of its inputs and outputs:
//
//   u64, little-endian    the length of the message
//   message               DumpData, in the wire format of Protocol Buffers
//   bytes                 of its inputs, then of its outputs, buffers and workspaces, each as long as the message says
//
// The oldest are the message alone, with the bytes in it. Definition: dump_data.proto of MindSpore
// (mindspore/ccsrc/debug/debugger) and of CANN (hicann/runtime, src/dfx/trace/inc/toolchain); the order of the bytes is
// that of Ascend's msaccucmp. tests/files/dump_data.proto says the same for protoc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/files/io/byte_source.hpp"
#include "stats/files/io/random_file.hpp"

namespace tensorstat {

// A message that says more is refused, and not written.
inline constexpr std::size_t kMostDumpTensors = 100'000, kMostDumpDimensions = 64;

// OpInput and OpOutput.
struct DumpDataTensor {
  std::int32_t data_type = 0;  // kDumpDtypes; 0 where it is not known
  std::int32_t format = 0;     // of dump_format
  Shape shape;
  std::uint64_t size_bytes = 0;
  ByteRange data = {};  // where they lie
};

struct DumpData {
  std::vector<DumpDataTensor> inputs, outputs;  // a slot each
};

// A dtype of the message, under the name that the catalog has or would have for it.
struct DumpDtype {
  std::int32_t number;
  std::string_view enumerator, name;
  unsigned bits;  // of a value
};
// nullptr: no such dtype, or one whose values have no size of their own, such as a string.
const DumpDtype* dump_dtype(std::int32_t number);
const DumpDtype* dump_dtype(std::string_view name);

// "NC1HWC0"; empty where there is none of this number. DefaultFormat is ND.
std::string_view dump_format(std::int32_t number);
std::int32_t dump_format(std::string_view name);  // FORMAT_RESERVED where there is none of this name

// Whether a file of these first bytes can be one.
bool begins_as_dump_data(std::string_view head);

// Reads what the file says of its tensors. The message and the lengths in it account for every byte.
Result<DumpData> read_dump_data(const RandomFile& file);

// The beginning of a file that holds these tensors: everything before their bytes. `data` is not read.
std::string dump_data_header(const DumpData& dumped, std::string_view op_name, std::uint64_t time_us);

}  // namespace tensorstat

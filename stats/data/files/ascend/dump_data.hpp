// Ascend's dump files, as written by MindSpore's asynchronous dump (r1.5; O2 with file_format bin), by acl.json and by
// TorchAir. A file holds one run of an operator with all of its inputs and outputs:
//
//   u64, little-endian    the length of the message
//   message               DumpData, in the wire format of Protocol Buffers
//   bytes                 of the inputs, then of the outputs, buffers and workspaces; the message has their lengths
//
// The oldest files are the message only, with the bytes inside. Definition: dump_data.proto of MindSpore
// (mindspore/ccsrc/debug/debugger) and of CANN (hicann/runtime, src/dfx/trace/inc/toolchain). The order of the bytes is
// taken from Ascend's msaccucmp. tests/files/dump_data.proto has the same definition for protoc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {

// Limits for reading and writing.
inline constexpr std::size_t kMostDumpTensors = 100'000;

// OpInput and OpOutput.
struct DumpDataTensor {
  std::int32_t data_type = 0;  // a number of kDumpDtypes; 0 if unknown
  std::int32_t format = 0;     // a number for dump_format()
  Shape shape;
  Shape original_shape = {};          // the shape on the host, if `format` is a device's; empty if it is not known
  std::int32_t original_format = -1;  // likewise, for outputs; -1 if it is not known
  std::int32_t groups = 0;            // sub_format: of a convolution's weights in FRACTAL_Z
  std::uint64_t size_bytes = 0;
  ByteRange data = {};  // where its bytes are in the file
};

struct DumpData {
  std::vector<DumpDataTensor> inputs, outputs;  // indexed by slot
};

// A dtype of the message. `name` is the catalog's, or what the catalog would call it.
struct DumpDtype {
  std::int32_t number;
  std::string_view enumerator, name;
  unsigned bits;  // of a value
};
// nullptr for an unknown dtype, and for one with values of varying size, such as strings.
const DumpDtype* dump_dtype(std::int32_t number);
const DumpDtype* dump_dtype(std::string_view name);

// "NC1HWC0"; empty for an unknown number. "DefaultFormat" is ND.
std::string_view dump_format(std::int32_t number);
std::int32_t dump_format(std::string_view name);  // FORMAT_RESERVED for an unknown name

// Whether a file with these first bytes can be such a file.
bool begins_as_dump_data(std::string_view head);

// Reads the descriptions of all tensors. The message and the lengths in it must account for every byte of the file.
Result<DumpData> read_dump_data(const RandomFile& file);

// Everything in a file before the bytes of these tensors. Ignores DumpDataTensor::data.
std::string dump_data_header(const DumpData& dumped, std::string_view op_name, std::uint64_t time_us);

}  // namespace tensorstat

// Rows out of msprobe's dump.json.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/files/io/text_pieces.hpp"
#include "stats/rows/dump_json/call_layout.hpp"

namespace tensorstat {

// Whether a text that begins like this is JSON and no csv.
bool is_dump_json(std::string_view beginning);

// What a dump of tensors says of one of them: "data_name", its file in dump_tensor_data.
struct CallFile {
  std::string name;
  bool is_output = false;
  std::uint64_t slot = 0;  // as its row has it
  bool requires_grad = false;
};

// A call of a dump.json, when all of its rows were given.
struct CallRead {
  std::string op_type, op_name;   // as its rows have them
  std::string layout;             // as CallLayout takes it; "" where it has more than 16 MiB, or the call is no object
  std::uint64_t other_count = 0;  // arguments and outputs that are no tensors, such as a stride; None is not counted
  std::uint64_t odd_count = 0;    // tensors of which more is said than their rows have
  std::string odd_member;         // of the first of these: "device_mesh"; "type" where it is no Tensor
  std::vector<CallFile> files;
};

// Who wants to know of calls beside rows. An error ends the reading.
struct CallListener {
  std::function<Status()> begins = {};
  std::function<Status(CallRead&& call)> ends = {};
};

// Each tensor of `data` is a row, in the order of the file, whichever version of msprobe wrote it: `where` is the
// file's name in messages. Memory does not grow with the file, only with the depth of its nesting and its longest text.
//   op_name   the key of the call: "Functional.conv2d.0.forward"
//   op_type   the last part of its name: "conv2d"; of a module its class
//   io        "output" for outputs and gradients of parameters, else "input"
//   slot      the place among the inputs or outputs, what is no tensor counted too
//   more      "tensor", its name in msprobe's words: "Functional.conv2d.0.forward.input.0"; "crc32" or "xor", what it
//             calls md5; "requires_grad", "True" or "False", where it says that
// Max, Min, Mean and Norm are max, min, avg and l2norm; null is no value. NaN, Infinity and -Infinity may be bare.
// `read` is what was read, before an error too.
Status read_dump_json(const std::string& where, const NextPiece& next, const EachRow& each, RowsRead& read,
                      const CallListener& listener = {});

// read_rows_of_file(), which the calls of a dump.json are told beside; other files have none.
Result<RowsRead> read_calls_of_file(const std::string& path, const EachRow& each, const CallListener& listener);

}  // namespace tensorstat

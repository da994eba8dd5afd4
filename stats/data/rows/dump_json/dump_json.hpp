// Reads rows from msprobe's dump.json.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/data/files/io/text_pieces.hpp"
#include "stats/data/rows/dump_json/call_layout.hpp"

namespace tensorstat {

// Whether a text with this beginning is JSON and not csv.
bool is_dump_json(std::string_view beginning);

// The file of a tensor in dump_tensor_data, from "data_name".
struct CallFile {
  std::string name;
  bool is_output = false;
  std::uint64_t slot = 0;  // the slot in its row
  bool requires_grad = false;
};

// A call of a dump.json. It is passed on after all of its rows.
struct CallRead {
  std::string op_type, op_name;   // as in its rows
  std::string layout;             // for CallLayout; "" if it exceeds 16 MiB or the call is not an object
  std::uint64_t other_count = 0;  // arguments and outputs that are not tensors, such as a stride; None is not counted
  std::uint64_t odd_count = 0;    // tensors with members that a row has no place for
  std::string odd_member;         // such a member of the first one: "device_mesh"; "type" if it is not a Tensor
  std::vector<CallFile> files;
};

// Receives calls in addition to rows. If it returns an error, reading ends.
struct CallListener {
  std::function<Status()> begins = {};
  std::function<Status(CallRead&& call)> ends = {};
};

// Reads each tensor of `data` as a row, in the order of the file. Accepts the files of all versions of msprobe.
// Messages begin with `where`, the file's name. Memory grows only with the depth of nesting and the longest text.
//   op_name   the key of the call: "Functional.conv2d.0.forward"
//   op_type   the last part of its name: "conv2d"; for a module its class
//   io        "output" for outputs and gradients of parameters, else "input"
//   slot      the index among the inputs or outputs, counting those without tensors, too
//   more      "tensor", its name in msprobe's words: "Functional.conv2d.0.forward.input.0"; "crc32" or "xor", which
//             msprobe calls md5; "requires_grad", "True" or "False", if the file has it
// Max, Min, Mean and Norm are max, min, avg and l2norm; null is a missing value. NaN, Infinity and -Infinity may be
// written without quotes. `read` is filled even if there is an error.
Status read_dump_json(const std::string& where, const NextPiece& next, const EachRow& each, RowsRead& read,
                      const CallListener& listener = {});

}  // namespace tensorstat

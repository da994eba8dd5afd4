// A file that only its name tells: the first byte chooses MindSpore's checkpoint or an ONNX model.
#include "tests/fuzz/read_tensors.hpp"
#include "tests/fuzz/written_files.hpp"

namespace tensorstat::fuzz {

void message(Input bytes) {
  if (bytes.empty()) return;
  static WrittenFiles files;
  const bool is_ckpt = bytes.front() == 'c';
  bytes.remove_prefix(1);
  read_tensors(files.write(is_ckpt ? "x.ckpt" : "x.onnx", bytes), bytes.size());
}

}  // namespace tensorstat::fuzz

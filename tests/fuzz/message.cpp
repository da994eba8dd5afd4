// A file that only its name tells: the first byte chooses MindSpore's checkpoint, an ONNX model or its tensor.
#include "tests/fuzz/read_tensors.hpp"
#include "tests/fuzz/written_files.hpp"

namespace tensorstat::fuzz {

void message(Input bytes) {
  if (bytes.empty()) return;
  static WrittenFiles files;
  const char which = bytes.front();
  bytes.remove_prefix(1);
  read_tensors(files.write(which == 'c' ? "x.ckpt" : which == 'p' ? "x.pb" : "x.onnx", bytes), bytes.size());
}

}  // namespace tensorstat::fuzz

// Compilers for OpenCL C have been wrong before. So each kernel first folds a small tensor with a known partial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels-cl/launch/batch.hpp"

namespace tensorstat::cl_engine {

// A tensor of awkward values, or two, and the words and bins that a kernel must make of them.
class KnownAnswer {
 public:
  explicit KnownAnswer(const KernelKind& kind);

  std::span<const std::byte> bytes() const { return bytes_; }
  const PairTolerance& tolerance() const { return whole_.tolerance; }
  // The pieces of these bytes at `source`.
  std::vector<Piece> pieces(const Device& device, const Source& source) const;
  // The error says what differs in the words that the kernel writes. It begins with `doing`.
  Status check(std::span<const std::int64_t> words, const std::vector<BinCount>& bins, const std::string& doing) const;

 private:
  std::vector<std::byte> bytes_;
  Piece whole_;  // its sources begin with the bytes
  std::vector<std::int64_t> expected_;
  std::vector<BinCount> bins_;
};

// Folds a tensor of awkward values with `kernel`, or two tensors, and compares every requested word with the lift's.
// Waits for the result. `queue` belongs to `context` and is ours, not the caller's. The error says what differed.
Status self_check(const Device& device, BufferCache& buffers, const cl::Context& context, const cl::CommandQueue& queue,
                  const std::shared_ptr<Kernel>& kernel, const KernelKind& kind);

}  // namespace tensorstat::cl_engine

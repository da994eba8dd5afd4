// Runs the PTX that clang writes for our kernels, by the rules of NVIDIA's "PTX ISA". The lanes of a work-group run one
// after another, from barrier to barrier. Unknown instructions are an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

// The host memory for `bytes` of device memory at an address; nullptr if not allocated.
using Memory = std::function<std::byte*(std::uint64_t address, std::uint64_t bytes)>;

struct Operand {
  enum class Kind : std::uint8_t { kRegister, kImmediate, kLane, kGroup, kLanes } kind = Kind::kImmediate;
  std::uint32_t index = 0;  // of a register
  std::uint64_t value = 0;  // an immediate, or an address's offset
};

struct Instruction {
  std::string operation;              // "add", "setp"
  std::vector<std::string> suffixes;  // "lt", "u32"
  std::vector<Operand> operands;      // {a, b} is two operands, an address is one
  int guard = -1;                     // a predicate register
  bool guard_negated = false;
  std::size_t target = 0;                // of bra and call
  std::vector<std::uint32_t> arguments;  // for call: positions in the lane's parameters, as pairs of from and to
  int opcode = 0;                        // filled in by the machine
  int type = 0, from_type = 0;
};

class Program {
 public:
  // Throws std::runtime_error for unknown instructions.
  explicit Program(std::string_view text);

  bool has(const std::string& kernel) const { return entries_.count(kernel) != 0; }
  // Runs the groups one after another. Throws if a lane accesses unallocated memory, or lanes diverge at a barrier.
  void run(const std::string& kernel, std::size_t groups, std::size_t lanes, std::span<const std::uint64_t> parameters,
           const Memory& memory) const;

 private:
  struct Lane;
  struct Names;
  void statement(std::string text, Names& names);
  bool step(Lane& lane, std::vector<std::byte>& shared, std::vector<std::byte>& constants, const Memory& memory) const;

  std::vector<Instruction> code_;
  std::map<std::string, std::size_t> entries_;  // the first instruction of each function
  // of each function: positions in the lane's parameters
  std::map<std::string, std::vector<std::uint32_t>> parameters_;
  std::uint32_t registers_ = 0, parameter_bytes_ = 0, shared_bytes_ = 0;
  std::vector<std::byte> constants_;  // all constant tables of the program
};

}  // namespace ptx

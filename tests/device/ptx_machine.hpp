// Runs PTX, as far as clang writes it for our kernels, by what NVIDIA's "PTX ISA" says of each instruction:
// a work-group's lanes one after another, from barrier to barrier. What it does not know it refuses.
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

// Host memory behind `bytes` of device memory from an address on, or nullptr where none is allocated.
using Memory = std::function<std::byte*(std::uint64_t address, std::uint64_t bytes)>;

struct Operand {
  enum class Kind : std::uint8_t { kRegister, kImmediate, kLane, kGroup, kLanes } kind = Kind::kImmediate;
  std::uint32_t index = 0;   // of a register
  std::uint64_t value = 0;   // an immediate; of an address, what is added
};

struct Instruction {
  std::string operation;             // "add", "setp"
  std::vector<std::string> suffixes; // "lt", "u32"
  std::vector<Operand> operands;     // {a, b} as two; an address as one
  int guard = -1;                    // a predicate register
  bool guard_negated = false;
  std::size_t target = 0;            // of bra and call
  std::vector<std::uint32_t> arguments;  // of call: where in the lane's parameters, in pairs of from and to
  int opcode = 0;                    // filled in by the machine
  int type = 0, from_type = 0;
};

class Program {
 public:
  // Throws std::runtime_error of what it does not know.
  explicit Program(std::string_view text);

  bool has(const std::string& kernel) const { return entries_.count(kernel) != 0; }
  // Every group in turn; throws where memory is touched that is not there, or lanes part at a barrier.
  void run(const std::string& kernel, std::size_t groups, std::size_t lanes, std::span<const std::uint64_t> parameters,
           const Memory& memory) const;

 private:
  struct Lane;
  struct Names;
  void statement(std::string text, Names& names);
  bool step(Lane& lane, std::vector<std::byte>& shared, std::vector<std::byte>& constants, const Memory& memory) const;

  std::vector<Instruction> code_;
  std::map<std::string, std::size_t> entries_;              // where a function begins
  std::map<std::string, std::vector<std::uint32_t>> parameters_;  // of a function, in a lane's parameters
  std::uint32_t registers_ = 0, parameter_bytes_ = 0, shared_bytes_ = 0;
  std::vector<std::byte> constants_;  // all tables of the program
};

}  // namespace ptx

// Why an operation gave NaN or Inf of finite values, as far as its name and the ranges of its operands tell.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensorstat {

struct Operand {
  std::string dtype;                  // "" of a number, or where it is not known
  std::optional<double> least, most;  // none: not known
  std::optional<double> zeros;        // how many of its elements are 0
  std::string name;                   // "input 1", for the words about zeros
  bool is_empty = false;              // it has no elements
};

struct Gave {
  bool nan = false, inf = false;
};

// The operands in the words of a watch: "float32[10] -0.47 to 4.5, -0.5"; or "min -1.5".
std::vector<Operand> operands_of(std::string_view given);
// Reads the words "1 NaN, 2 Inf of 10".
Gave gave_of(std::string_view words);

// "log of a negative number"; "" where the reason is not known. `dtype`: of the results; "" where it is not known.
// It knows the names of torch and of MindSpore.
std::string reason_of_operation(std::string_view operation, std::span<const Operand> operands, Gave gave,
                                std::string_view dtype);

// "the slope of sqrt is infinite at 0": why the backward of an operation gave NaN or Inf of finite gradients. It takes
// the name of the operation, or of autograd's node, such as "SqrtBackward0".
std::string reason_of_backward(std::string_view operation);

// The greatest finite number of a dtype of floats; none for others.
std::optional<double> greatest_of(std::string_view dtype);

// A number as sentences have it, with so many digits.
std::string short_number(double value, int digits = 6);

}  // namespace tensorstat

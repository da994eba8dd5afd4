#include "stats/answer/origin/operation_reasons.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tensorstat/catalog.hpp>

#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

std::optional<double> number_at(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() ? std::optional(value) : std::nullopt;
}

Operand operand_of(std::string_view word) {
  Operand operand;
  const auto open = word.find('['), close = word.rfind(']');
  if (open != word.npos && close != word.npos && open < close) {
    operand.dtype = word.substr(0, open);
    const std::string_view shape = word.substr(open + 1, close - open - 1);
    operand.is_empty =
        shape == "0" || shape.starts_with("0,") || shape.ends_with(" 0") || shape.find(" 0,") != shape.npos;
    word.remove_prefix(std::min(close + 2, word.size()));
  }
  const bool is_least_alone = word.starts_with("min ");
  if (is_least_alone) word.remove_prefix(4);
  operand.least = number_at(word);
  const auto to = word.find(" to ");
  if (!is_least_alone) operand.most = to == word.npos ? operand.least : number_at(word.substr(to + 4));
  return operand;
}

// An operand without a known range may hold 0.
bool may_hold_zero(const Operand& operand) {
  if (operand.zeros) return *operand.zeros > 0;
  return !(operand.least.value_or(0) > 0) && !(operand.most.value_or(0) < 0);
}

bool surely_holds_zero(const Operand& operand) {
  return operand.zeros.value_or(0) > 0 || operand.least == 0.0 || operand.most == 0.0;
}

bool is_finite(const Operand& operand) {
  return std::isfinite(operand.least.value_or(0)) && std::isfinite(operand.most.value_or(0));
}

// The name that torch's operations, MindSpore's and autograd's nodes share: "div" of "RealDiv" and "DivBackward0".
std::string plain_name(std::string_view operation) {
  std::string name = lower_case(operation.substr(0, operation.find(" in ")));
  if (const auto backward = name.find("backward"); backward != name.npos && backward != 0) name.resize(backward);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kNames = {{{"realdiv", "div"},
                                                                                     {"true_divide", "div"},
                                                                                     {"divide", "div"},
                                                                                     {"truediv", "div"},
                                                                                     {"divnonan", "div"},
                                                                                     {"inv", "reciprocal"},
                                                                                     {"arccos", "acos"},
                                                                                     {"arcsin", "asin"},
                                                                                     {"reducemean", "mean"},
                                                                                     {"logsoftmax", "log_softmax"},
                                                                                     {"linalgsvd", "svd"},
                                                                                     {"linalg_svd", "svd"},
                                                                                     {"linalgeigh", "eigh"},
                                                                                     {"linalg_eigh", "eigh"}}};
  const auto known = std::ranges::find(kNames, name, [](const auto& each) { return each.first; });
  return known == kNames.end() ? name : std::string(known->second);
}

// They give Inf of finite values only beyond the end of their dtype.
constexpr std::string_view kOverflowing[] = {"conv1d", "conv2d",      "conv3d",  "convolution", "mkldnn_convolution",
                                             "mm",     "addmm",       "bmm",     "baddbmm",     "mv",
                                             "addmv",  "dot",         "linear",  "matmul",      "einsum",
                                             "mul",    "add",         "sub",     "rsub",        "sum",
                                             "cumsum", "mean",        "square",  "addcmul",     "prod",
                                             "cosh",   "sinh",        "exp2",    "expm1",       "exp",
                                             "pow",    "batchmatmul", "biasadd", "reducesum"};
constexpr std::string_view kCasts[] = {"to_copy", "to", "half", "float", "bfloat16", "type_as", "cast"};

std::string overflow(std::string_view dtype, const std::string& what, std::span<const Operand> operands) {
  if (is_one_of(what, kCasts))
    return "an overflow of " + (dtype.empty() ? "the dtype that it was cast to" : std::string(dtype));
  if (dtype.empty() && !operands.empty()) dtype = operands.front().dtype;
  const auto greatest = greatest_of(dtype);
  const double most = operands.empty() ? NAN : operands.front().most.value_or(NAN);
  if (what == "exp" && most > std::log(greatest.value_or(INFINITY)))
    return "exp of " + short_number(most) + " is beyond " + std::string(dtype) + " (" + short_number(*greatest) + ")";
  return "an overflow of " + (dtype.empty() ? "the dtype" : std::string(dtype));
}

// 0 and negative numbers, of operations that are not defined for them.
std::string both(Gave gave, const std::string& of_zero, const std::string& of_negative) {
  if (gave.nan && gave.inf) return of_negative + ", and " + of_zero;
  return gave.nan ? of_negative : of_zero;
}

std::string reason_of_power(std::span<const Operand> operands, Gave gave, std::string_view dtype) {
  const bool is_number = operands.size() > 1 && operands[1].least && operands[1].least == operands[1].most;
  const double exponent = is_number ? *operands[1].least : NAN;
  const std::string negative =
      "a negative number to the power of " + (is_number ? short_number(exponent) : "a number that is not whole");
  const std::string zero = "0 to the power of " + (is_number ? short_number(exponent) : "a negative number");
  if (!gave.inf) return negative;
  if (is_number && exponent >= 0) return gave.nan ? negative : overflow(dtype, "pow", operands);
  if (!operands.empty() && !may_hold_zero(operands[0])) return gave.nan ? negative : overflow(dtype, "pow", operands);
  if (gave.nan) return negative + ", and " + zero;
  return !operands.empty() && surely_holds_zero(operands[0]) ? zero : zero + ", or an overflow";
}

std::string reason_of_division(std::span<const Operand> operands, Gave gave, std::string_view dtype) {
  if (operands.size() < 2) return gave.inf ? "a division by 0, or an overflow" : "0 divided by 0";
  const Operand& divisor = operands[1];
  if (!may_hold_zero(divisor)) return gave.nan ? "" : overflow(dtype, "div", operands);
  const std::string words = gave.inf ? "a division by 0" : "0 divided by 0";
  if (divisor.zeros) return words + ": " + divisor.name + " holds " + short_number(*divisor.zeros, 15) + " zeros";
  return gave.nan || surely_holds_zero(divisor) ? words : words + ", or an overflow";
}

}  // namespace

std::vector<Operand> operands_of(std::string_view given) {
  std::vector<Operand> operands;
  while (!given.empty()) {
    std::size_t end = 0;
    for (int depth = 0; end < given.size() && (depth > 0 || !given.substr(end).starts_with(", ")); ++end)
      depth += given[end] == '[' ? 1 : given[end] == ']' ? -1 : 0;
    operands.push_back(operand_of(given.substr(0, end)));
    given.remove_prefix(std::min(end + 2, given.size()));
  }
  return operands;
}

Gave gave_of(std::string_view words) {
  return {.nan = words.find("NaN") != words.npos, .inf = words.find("Inf") != words.npos};
}

std::string reason_of_operation(std::string_view operation, std::span<const Operand> operands, Gave gave,
                                std::string_view dtype) {
  const std::string what = plain_name(operation);
  if (!gave.nan && !gave.inf) return "";
  if (what == "softmax" || what == "log_softmax") {
    const bool may_be_row = operands.empty() || (!std::isfinite(operands[0].least.value_or(-INFINITY)) &&
                                                 operands[0].most.value_or(0) != INFINITY);
    return gave.nan && may_be_row ? "a row of -Inf alone" : "";
  }
  if (!std::ranges::all_of(operands, &is_finite)) return "";
  if (what == "log" || what == "log2" || what == "log10") return both(gave, "log of 0", "log of a negative number");
  if (what == "log1p") return both(gave, "log1p of -1", "log1p of a number below -1");
  if (what == "sqrt") return gave.nan ? "root of a negative number" : "";
  if (what == "rsqrt") return both(gave, "a division by the root of 0", "root of a negative number");
  if (what == "acos" || what == "asin") return gave.nan ? what + " of a number beyond 1" : "";
  if (what == "acosh") return gave.nan ? "acosh of a number below 1" : "";
  if (what == "atanh") return both(gave, "atanh of 1 or -1", "atanh of a number beyond 1");
  if (what == "pow") return reason_of_power(operands, gave, dtype);
  if (what == "div") return reason_of_division(operands, gave, dtype);
  if (what == "reciprocal") return gave.inf ? "a division by 0" : "";
  if (what == "std" || what == "var") return gave.nan ? what + " of one value, or of none" : "";
  if (what == "ctc_loss")
    return gave.inf ? "a target is too long for its input, so that nothing aligns them; zero_infinity=True makes it 0"
                    : "";
  if (gave.nan && (what == "mean" || what == "nanmean") && !operands.empty() && operands[0].is_empty)
    return "the mean of no elements";
  const bool can_overflow = is_one_of(what, kOverflowing) || is_one_of(what, kCasts);
  return can_overflow && !gave.nan ? overflow(dtype, what, operands) : "";
}

std::string reason_of_backward(std::string_view operation) {
  const std::string what = plain_name(operation);
  if (what == "sqrt") return "the slope of sqrt is infinite at 0";
  if (what == "acos" || what == "asin") return "the slope of " + what + " is infinite at 1 and -1";
  if (what == "pow") return "the slope of a power below 1 is infinite at 0";
  if (what == "std") return "the slope of std is infinite where all values are equal";
  if (what == "norm" || what == "linalgvectornorm" || what == "linalg_vector_norm" || what == "cdist" || what == "dist")
    return "a norm has no slope at 0";
  if (what == "atan2") return "atan2 has no slope at (0, 0)";
  if (what == "svd") return "vectors of singular values that are equal, or 0, have no gradient";
  if (what == "eigh" || what == "symeig") return "vectors of equal eigenvalues have no gradient";
  return "";
}

std::optional<double> greatest_of(std::string_view dtype) {
  const auto known = dtype_from(dtype);
  return known ? greatest_finite(*known) : std::nullopt;
}

std::string short_number(double value, int digits) {
  if (std::isnan(value)) return "nan";
  std::array<char, 40> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits).ptr;
  return {text.data(), end};
}

}  // namespace tensorstat

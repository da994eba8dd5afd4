#include "stats/answer/msprobe/table.hpp"

#include <charconv>
#include <cmath>
#include <span>

#include "stats/data/rows/csv/csv_fields.hpp"

namespace tensorstat::msprobe {
namespace {

constexpr const char* kLevels[] = {"pass", "warning", "error"};

// In the order of Message.
constexpr const char* kMessages[] = {
    "error: There is nan/inf/-inf in the maximum or minimum value of NPU.",
    "error: The NormRelativeErr of output is greater than 0.5.",
    "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.",
    "error: The Required_Grad of NPU and Bench are inconsistent",
    "error: The scalar parameters of NPU and Bench are inconsistent.",
    "error: The dtype of NPU and Bench are inconsistent.",
    "error: The shape of NPU and Bench are inconsistent.",
    "warning: The norm relative error of output is 10 times that of input.",
    "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1",
    "error: The CRC-32 value of NPU differs from that of the bench.",
    "warning: The parameter of NPU does not match the bench.",
};

std::string messages_of(const ComparedRow& row) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::size(kMessages); ++i) {
    if ((row.messages >> i & 1) == 0) continue;
    text += std::string(text.size() > 1 ? ", \"" : "\"") + kMessages[i] + "\"";
  }
  return text + "]";
}

bool is_number(std::string_view text) {
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size();
}

// A cell as text of the csv. A spreadsheet would run a formula, so an apostrophe goes before one; msprobe refuses such
// a cell.
std::string field_of(const PythonValue& cell) {
  const auto* real = std::get_if<double>(&cell);
  std::string text = text_of(cell);
  if (real && std::isinf(*real)) return " " + text;
  return is_text(cell) && wants_apostrophe(text) && !is_number(text) ? "'" + text : text;
}

}  // namespace

void append_line(const std::vector<PythonValue>& cells, std::string& text) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i != 0) text += ',';
    append_field(text, field_of(cells[i]));
  }
  text += '\n';
}

std::vector<std::string> headings_of(const Comparison& comparison) {
  std::vector<std::string> headings = {"NPU Name",          "Bench Name",         "NPU Dtype",
                                       "Bench Dtype",       "NPU Tensor Shape",   "Bench Tensor Shape",
                                       "NPU Requires_grad", "Bench Requires_grad"};
  const auto add = [&](std::initializer_list<const char*> more) {
    headings.insert(headings.end(), more.begin(), more.end());
  };
  const Mode mode = comparison.npu.mode;
  if (mode == Mode::kMd5) {
    add({"NPU MD5", "BENCH MD5"});
  } else {
    if (mode == Mode::kStatistics) {
      add({"Max diff", "Min diff", "Mean diff", "L2norm diff", "MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr",
           "NormRelativeErr"});
    } else {
      add({"Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio",
           "Five Thousandths Err Ratio"});
    }
    add({"NPU max", "NPU min", "NPU mean", "NPU l2norm", "Bench max", "Bench min", "Bench mean", "Bench l2norm"});
  }
  add({"Requires_grad Consistent", "Result", "Err_message"});
  if (comparison.npu.has_stacks) add({"NPU_Stack_Info"});
  if (mode == Mode::kTensor) add({"Data_name"});
  return headings;
}

std::vector<PythonValue> cells_of(const Comparison& comparison, const ComparedRow& row) {
  static const Item kNone = [] {
    Item none;
    none.name = none.dtype = none.shape = none.data_name = kNotAvailable;
    return none;
  }();
  const Item &npu = *row.npu, &bench = row.bench ? *row.bench : kNone;
  std::vector<PythonValue> cells;
  cells.reserve(32);
  for (const auto member : {&Item::name, &Item::dtype, &Item::shape, &Item::requires_grad}) {
    cells.emplace_back(npu.*member);
    cells.emplace_back(bench.*member);
  }
  const Mode mode = comparison.npu.mode;
  if (mode == Mode::kMd5) {
    cells.emplace_back(npu.md5);
    cells.emplace_back(bench.md5);
  } else {
    for (const auto& values :
         {std::span<const PythonValue>(row.measures), std::span<const PythonValue>(row.npu_statistics),
          std::span<const PythonValue>(row.bench_statistics)}) {
      cells.insert(cells.end(), values.begin(), values.end());
    }
  }
  cells.emplace_back(npu.requires_grad == bench.requires_grad);
  cells.emplace_back(kLevels[static_cast<int>(row.level)]);
  cells.emplace_back(messages_of(row));
  if (comparison.npu.has_stacks) {
    // The first row of a call has its stack.
    const auto stack = comparison.npu.stacks.find(comparison.npu.calls[npu.call]);
    const bool is_first = &npu == comparison.npu.items.data() || (&npu)[-1].call != npu.call;
    cells.emplace_back(is_first && stack != comparison.npu.stacks.end() ? stack->second : kNotAvailable);
  }
  if (mode == Mode::kTensor) cells.emplace_back("['" + npu.data_name + "', '" + bench.data_name + "']");
  return cells;
}

Status write_csv(const Comparison& comparison, const std::function<Status(std::string_view)>& write) {
  constexpr std::size_t kPieceBytes = 1 << 16;
  std::string text;
  const std::vector<std::string> headings = headings_of(comparison);
  append_line({headings.begin(), headings.end()}, text);
  for (const ComparedRow& row : comparison.rows) {
    append_line(cells_of(comparison, row), text);
    if (text.size() < kPieceBytes) continue;
    if (Status written = write(text); !written) return written;
    text.clear();
  }
  return write(text);
}

}  // namespace tensorstat::msprobe

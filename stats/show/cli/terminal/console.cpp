#include "stats/show/cli/terminal/console.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <string>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/show/cli/terminal/screen.hpp"

namespace tensorstat::cli {
namespace {

void write_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

std::string one_decimal(double number) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed, 1).ptr;
  return {digits, end};
}

Console::Console() : is_watched_(::isatty(STDERR_FILENO) == 1 && !is_dumb_terminal()) {}

Console::~Console() {
  const std::lock_guard lock(mutex_);
  erase_line();
  say_the_count();
}

void Console::say(std::string_view text) {
  const std::lock_guard lock(mutex_);
  erase_line();
  say_the_count();
  write_line(text);
}

void Console::complain(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (complaints_ == kMostComplaints) return static_cast<void>(++unsaid_);
  ++complaints_;
  erase_line();
  write_line(text);
}

void Console::say_the_count() {
  if (unsaid_ != 0) write_line("and " + counted_noun(std::exchange(unsaid_, 0), "more error"));
}

void Console::write_line(std::string_view text) { write_error("tensorstat: " + printable(text) + "\n"); }

void Console::progress(std::size_t done, std::size_t total, std::uint64_t bytes) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (!is_watched_ || now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  const double gigabytes = static_cast<double>(bytes) / 1e9;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  erase_line();
  write_error(std::to_string(done) + " of " + std::to_string(total) + " tensors, " + one_decimal(gigabytes) + " GB, " +
              one_decimal(gigabytes / seconds) + " GB/s");
  has_line_ = true;
}

void Console::hide_progress() {
  const std::lock_guard lock(mutex_);
  erase_line();
}

void Console::erase_line() {
  if (has_line_) write_error("\r\x1b[K");
  has_line_ = false;
}

Log log_to(Console& console, bool is_verbose) {
  return [&console, is_verbose](Severity severity, std::string_view text) {
    if (severity == Severity::kWarning) {
      console.say("warning: " + std::string(text));
    } else if (is_verbose) {
      console.say(text);
    }
  };
}

void Unmeasured::say(const std::string& label, const std::string& reason) {
  if (reason == reason_) {
    ++more_;
    return;
  }
  reason_ = reason;
  console_.complain(label + ": " + reason);
}

void Unmeasured::end() {
  if (more_ != 0) console_.say("the same for " + counted_noun(more_, "more tensor"));
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t position = digits.size(); position > 3;) digits.insert(position -= 3, ",");
  return digits;
}

std::string counted_noun(std::uint64_t count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

}  // namespace tensorstat::cli

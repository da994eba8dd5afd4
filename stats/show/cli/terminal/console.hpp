// Writes messages and progress to stderr.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>

namespace tensorstat::cli {

std::string one_decimal(double number);  // "12.3", whatever the locale

// Thread-safe: the library's log callback and the survey share one Console.
class Console {
 public:
  Console();
  ~Console();  // hides the progress

  // Writes "tensorstat: TEXT" on a line of its own. Control characters, which names of files may contain, are escaped,
  // and so are line breaks.
  void say(std::string_view text);

  // The same of one of many errors, such as one for each tensor: after kMostComplaints they are only counted. The count
  // is said before the next text, or at the end.
  static constexpr std::uint64_t kMostComplaints = 100;
  void complain(std::string_view text);

  // Shows `done` of `total` tensors and `bytes` so far. Only on a terminal that is not dumb, after the first second,
  // and at most ten times a second.
  void progress(std::size_t done, std::size_t total, std::uint64_t bytes);

  // Removes the progress line before results go to the same terminal.
  void hide_progress();

 private:
  using Clock = std::chrono::steady_clock;
  void erase_line();
  void say_the_count();
  void write_line(std::string_view text);

  std::mutex mutex_;
  const bool is_watched_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(1);
  bool has_line_ = false;
  std::uint64_t complaints_ = 0, unsaid_ = 0;
};

// Says the library's warnings, and with `is_verbose` its other messages. The console must outlive the log.
Log log_to(Console& console, bool is_verbose);

// Says why tensors could not be measured: of successive equal reasons the first, and at the end how many more.
class Unmeasured {
 public:
  explicit Unmeasured(Console& console) : console_(console) {}
  void say(const std::string& label, const std::string& reason);
  void end();

 private:
  Console& console_;
  std::string reason_;
  std::uint64_t more_ = 0;
};

// 4860 as "4,860"
std::string grouped(std::uint64_t number);

// "1 row", "2 rows"
std::string counted_noun(std::uint64_t count, std::string_view noun);

}  // namespace tensorstat::cli

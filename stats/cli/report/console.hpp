// What goes to stderr: complaints, and progress when a person is watching.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace tensorstat::cli {

std::string one_decimal(double number);  // "12.3", whatever the locale

// Thread-safe: the library's log callback and the survey share one.
class Console {
 public:
  Console();
  ~Console();  // hides the progress

  // "tensorstat: TEXT", on a line of its own: what a terminal would act upon, which a file's name may hold, is
  // escaped, line breaks too.
  void say(std::string_view text);

  // `done` of `total` tensors and `bytes` so far. Shown on a terminal that is not dumb only, once the work has
  // lasted a second, ten times a second.
  void progress(std::size_t done, std::size_t total, std::uint64_t bytes);

  // Takes the progress line away, for results that go to the same terminal.
  void hide_progress();

 private:
  using Clock = std::chrono::steady_clock;
  void erase_line();

  std::mutex mutex_;
  const bool is_watched_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(1);
  bool has_line_ = false;
};

// "1 row", "2 rows"
std::string counted_noun(std::uint64_t count, std::string_view noun);

}  // namespace tensorstat::cli

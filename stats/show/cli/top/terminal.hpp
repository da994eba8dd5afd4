// The terminal as a full screen: raw keys in, whole frames out. It is given back on every way out.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stats/show/cli/terminal/screen.hpp"

namespace tensorstat::cli {

enum class KeyName : std::uint8_t {
  kNone,
  kText,  // a character
  kUp,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kEscape,
  kTab,
  kBackspace,
  kResized,
  kClosed,  // there is nobody who types any more
};

struct Key {
  KeyName name = KeyName::kNone;
  std::string text = {};  // of kText: one character in UTF-8
};

// At most one at a time. While it lives, the terminal shows its second buffer and hides the cursor. Its destructor
// gives the terminal back, and so do SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP and the signals of a crash, before they
// take their course.
class Terminal {
 public:
  // nullptr if stdin or stdout is not a terminal, or the terminal is dumb.
  static std::unique_ptr<Terminal> open();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  Screen size() const;
  // Waits for a key for so long; kNone: there was none.
  Key key(std::chrono::milliseconds patience);
  // Shows lines, each no wider than the screen. Lines that are as they were are not written again.
  void show(const std::vector<std::string>& lines);

 private:
  Terminal() = default;
  std::string typed_;  // bytes that are not a whole key yet
  std::vector<std::string> shown_;
};

}  // namespace tensorstat::cli

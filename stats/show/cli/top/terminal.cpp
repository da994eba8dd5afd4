#include "stats/show/cli/top/terminal.hpp"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "stats/core/base/utf8.hpp"

namespace tensorstat::cli {
namespace {

// Handlers of signals use these: nothing that may be in use when a signal comes.
termios terminal_before, terminal_raw;
volatile std::sig_atomic_t has_terminal = 0, was_resized = 0;
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?2026l\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void take_terminal() {
  ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal_raw);
  write_all(kEnter);
  has_terminal = 1;
}

void give_terminal_back() {
  if (has_terminal == 0) return;
  has_terminal = 0;
  write_all(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

void end_by_signal(int signal) {
  give_terminal_back();
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // it is blocked until this returns
}

void stop_by_signal(int) {
  const int error = errno;
  give_terminal_back();
  std::raise(SIGSTOP);
  take_terminal();
  was_resized = 1;  // everything is to be shown again
  errno = error;
}

void note_size(int) { was_resized = 1; }

void handle(int signal, void (*with)(int)) {
  struct sigaction action = {};
  action.sa_handler = with;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

// The bytes that a terminal sends for a key. The longest come from rxvt, and in application mode.
constexpr std::pair<std::string_view, KeyName> kSequences[] = {
    {"\x1b[A", KeyName::kUp},        {"\x1b[B", KeyName::kDown},    {"\x1b[C", KeyName::kRight},
    {"\x1b[D", KeyName::kLeft},      {"\x1bOA", KeyName::kUp},      {"\x1bOB", KeyName::kDown},
    {"\x1bOC", KeyName::kRight},     {"\x1bOD", KeyName::kLeft},    {"\x1b[5~", KeyName::kPageUp},
    {"\x1b[6~", KeyName::kPageDown}, {"\x1b[H", KeyName::kHome},    {"\x1b[F", KeyName::kEnd},
    {"\x1bOH", KeyName::kHome},      {"\x1bOF", KeyName::kEnd},     {"\x1b[1~", KeyName::kHome},
    {"\x1b[4~", KeyName::kEnd},      {"\r", KeyName::kEnter},       {"\n", KeyName::kEnter},
    {"\t", KeyName::kTab},           {"\x7f", KeyName::kBackspace}, {"\b", KeyName::kBackspace},
};

// Whether stdin has something to read. -1: a signal came.
int waits_for(std::chrono::milliseconds patience) {
  pollfd stdin_ready{STDIN_FILENO, POLLIN, 0};
  return ::poll(&stdin_ready, 1, static_cast<int>(patience.count()));
}

}  // namespace

std::unique_ptr<Terminal> Terminal::open() {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1 || is_dumb_terminal()) return nullptr;
  if (::tcgetattr(STDIN_FILENO, &terminal_before) != 0) return nullptr;
  terminal_raw = terminal_before;
  terminal_raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);  // with ISIG: Ctrl-C and Ctrl-Z are signals
  terminal_raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  terminal_raw.c_cc[VMIN] = 0;
  terminal_raw.c_cc[VTIME] = 0;
  for (const int signal : kEndingSignals) handle(signal, end_by_signal);
  handle(SIGTSTP, stop_by_signal);
  handle(SIGWINCH, note_size);
  take_terminal();
  return std::unique_ptr<Terminal>(new Terminal());
}

Terminal::~Terminal() {
  for (const int signal : kEndingSignals) std::signal(signal, SIG_DFL);
  std::signal(SIGTSTP, SIG_DFL);
  std::signal(SIGWINCH, SIG_DFL);
  give_terminal_back();
}

Screen Terminal::size() const { return screen_of(STDOUT_FILENO).value_or(Screen{}); }

Key Terminal::key(std::chrono::milliseconds patience) {
  if (typed_.empty()) {
    const int ready = was_resized != 0 ? -1 : waits_for(patience);
    if (was_resized != 0) {
      was_resized = 0;
      shown_.clear();
      write_all("\x1b[2J");
      return {KeyName::kResized};
    }
    if (ready <= 0) return {};
  }
  // The bytes of one key come together; over a slow line within some milliseconds.
  constexpr std::chrono::milliseconds kOfOneKey{25};
  while (typed_.empty() || (typed_[0] == '\x1b' && typed_.size() < 8 && waits_for(kOfOneKey) > 0)) {
    char bytes[64];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 && typed_.empty()) return {KeyName::kClosed};
    if (count <= 0) break;
    typed_.append(bytes, static_cast<std::size_t>(count));
  }
  for (const auto& [sequence, name] : kSequences) {
    if (!typed_.starts_with(sequence)) continue;
    typed_.erase(0, sequence.size());
    return {name};
  }
  if (typed_[0] == '\x1b') {
    // An unknown sequence is dropped whole: ESC [ or O, and all up to its last letter.
    std::size_t end = 1;
    if (typed_.size() > 1 && (typed_[1] == '[' || typed_[1] == 'O')) {
      end = 2;
      while (end < typed_.size() && (typed_[end] < '@' || typed_[end] > '~')) ++end;
      typed_.erase(0, end + 1);
      return {};
    }
    typed_.erase(0, end);
    return {KeyName::kEscape};
  }
  const std::size_t bytes = std::max<std::size_t>(1, first_code_point(typed_).bytes);
  Key key{KeyName::kText, typed_.substr(0, bytes)};
  typed_.erase(0, bytes);
  return key;
}

void Terminal::show(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i < shown_.size() && shown_[i] == lines[i]) continue;
    text += "\x1b[" + std::to_string(i + 1) + ";1H" + lines[i] + "\x1b[0m\x1b[K";
  }
  if (lines.size() < shown_.size()) text += "\x1b[" + std::to_string(lines.size() + 1) + ";1H\x1b[J";
  shown_ = lines;
  // A terminal that knows DEC mode 2026 shows all of it at once; others ignore the mode.
  if (!text.empty()) write_all("\x1b[?2026h" + text + "\x1b[?2026l");
}

}  // namespace tensorstat::cli

#include "kernels-cl/trial/trusted_program.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels-cl/trial/system_words.hpp"

namespace tensorstat::cl_engine {
namespace {

constexpr int kMostLinks = 40;  // as Linux follows

bool others_write(const struct stat& facts) { return (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

// A folder such as /tmp, in which users cannot rename or delete files of others.
bool keeps_what_it_holds(const struct stat& facts) { return S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0; }

// Why other users can change it; empty if they cannot. The mode of a symbolic link has no meaning.
std::string objection(const struct stat& facts) {
  if (facts.st_uid != 0 && facts.st_uid != geteuid()) {
    return "belongs to user " + std::to_string(facts.st_uid) + ", who is neither root nor this process's user";
  }
  if (!S_ISLNK(facts.st_mode) && others_write(facts) && !keeps_what_it_holds(facts)) {
    return (facts.st_mode & S_IWOTH) != 0 ? "can be written by everybody" : "can be written by its group";
  }
  return "";
}

// Follows a path name by name, and checks each file on the way.
class Walk {
 public:
  explicit Walk(std::string path) : path_(std::move(path)) { push(path_); }

  Result<Descriptor> open() {
    if (path_.empty() || path_[0] != '/') return failed(path_, "is not an absolute path");
    if (auto error = step("/")) return *error;
    while (!ahead_.empty()) {
      const std::string name = std::move(ahead_.back());
      ahead_.pop_back();
      if (auto error = step(name)) return *error;
    }
    if (!S_ISREG(facts_.st_mode)) return failed(where_, "is not a regular file");
    return std::move(here_);
  }

 private:
  static Error failed(const std::string& what, const std::string& why) {
    return {Code::kDevice, (what.empty() ? "an empty path" : what) + " " + why};
  }

  // Its names are next.
  void push(std::string_view path) {
    while (!path.empty()) {
      const std::size_t slash = path.rfind('/');
      const std::string_view name = path.substr(slash == path.npos ? 0 : slash + 1);
      if (!name.empty() && name != ".") ahead_.emplace_back(name);
      path = path.substr(0, slash == path.npos ? 0 : slash);
    }
  }

  std::optional<Error> step(const std::string& name) {
    const std::string from = where_;
    where_ = name == "/" ? "/" : from + (from.ends_with('/') ? "" : "/") + name;
    Descriptor next(openat(name == "/" ? AT_FDCWD : here_.number(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next.is_open() || fstat(next.number(), &facts_) != 0) {
      return failed(where_, "cannot be opened: " + system_words(errno));
    }
    if (const std::string why = objection(facts_); !why.empty()) return failed(where_, why);
    if (shared_ && !S_ISDIR(facts_.st_mode)) {
      return failed(where_, "lies in a folder where other users can make files and links");
    }
    if (!S_ISLNK(facts_.st_mode)) {
      here_ = std::move(next);
      shared_ = others_write(facts_);
      return std::nullopt;
    }
    if (++links_ > kMostLinks) return failed(path_, "leads through too many symbolic links");
    std::array<char, PATH_MAX> target;
    const ssize_t length = readlinkat(next.number(), "", target.data(), target.size());
    if (length <= 0) return failed(where_, "cannot be read: " + system_words(errno));
    const std::string_view leads_to(target.data(), static_cast<std::size_t>(length));
    push(leads_to);
    where_ = from;
    return leads_to[0] == '/' ? step("/") : std::nullopt;
  }

  const std::string path_;
  std::vector<std::string> ahead_;  // the next one last
  std::string where_;               // the name of `here_`
  Descriptor here_;
  struct stat facts_ {};
  bool shared_ = false;  // other users can put something into `here_`
  int links_ = 0;
};

}  // namespace

Result<TrustedProgram> TrustedProgram::open(const std::string& path) {
  auto descriptor = Walk(path).open();
  if (!descriptor) return descriptor.error();
  // Below 3 it would be in the way of the program's standard streams.
  Descriptor file(fcntl(descriptor->number(), F_DUPFD_CLOEXEC, 3));
  if (!file.is_open()) return Error{Code::kDevice, path + " cannot be held open: " + system_words(errno)};
  return TrustedProgram(path, std::move(file));
}

}  // namespace tensorstat::cl_engine

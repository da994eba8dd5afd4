#include "kernels-cl/trial/driver_trial.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "kernels-cl/trial/subprocess.hpp"
#include "kernels-cl/trial/limits.hpp"

namespace tensorstat::cl_engine {
namespace {

// A kernel takes pocl a second or two to build, on a machine that has nothing else to do.
constexpr std::chrono::milliseconds kMostTime{120'000};
constexpr std::size_t kMostQuoted = 300;

// The folder of the file that this text was loaded from: a shared library's, or the program's.
std::filesystem::path own_folder() {
  Dl_info facts{};
  std::error_code failed;
  if (dladdr(reinterpret_cast<const void*>(&make_trial), &facts) == 0 ||
      facts.dli_fname == nullptr || facts.dli_fname[0] != '/') {
    return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  }
  return std::filesystem::path(facts.dli_fname).parent_path();
}

// A file to run that nobody but root and this user can have put there.
bool may_be_run(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         (facts.st_uid == 0 || facts.st_uid == geteuid()) &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(path.c_str(), X_OK) == 0;
}

Result<std::string> find_program() {
  if (const char* named = std::getenv("TENSORSTAT_PREFLIGHT"); named != nullptr && named[0] != '\0')
    return std::string(named);
  const std::filesystem::path here = own_folder();
  std::string sought;
  for (const std::filesystem::path& folder : {here, here.parent_path() / TENSORSTAT_LIBEXEC,
                                              std::filesystem::path(TENSORSTAT_INSTALLED_LIBEXEC),
                                              std::filesystem::path(TENSORSTAT_BUILT_LIBEXEC)}) {
    std::string path = (folder / "tensorstat-preflight").string();
    if (may_be_run(path)) return path;
    sought += (sought.empty() ? "" : ", ") + path;
  }
  return Error{Code::kDevice,
               "the program that would try it first, in a process of its own, is at none of " +
                   sought +
                   " (TENSORSTAT_PREFLIGHT=path names another; TENSORSTAT_PREFLIGHT=0 uses the "
                   "driver untried)"};
}

// The end of it, on one line.
std::string last_words(std::string_view said) {
  if (said.size() > kMostQuoted) said.remove_prefix(said.size() - kMostQuoted);
  std::string line;
  for (const char c : said) {
    const bool blank = c <= ' ' || c > '~';
    if (blank && (line.empty() || line.back() == ' ')) continue;
    line += blank ? ' ' : c;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// Each once; `what` names the trial.
Status once(const std::vector<std::string>& what) {
  if (const char* off = std::getenv("TENSORSTAT_PREFLIGHT");
      off != nullptr && std::string_view(off) == "0")
    return {};
  static std::mutex mutex;
  static std::map<std::vector<std::string>, Status>& tried =
      *new std::map<std::vector<std::string>, Status>;
  const std::lock_guard lock(mutex);
  if (const auto known = tried.find(what); known != tried.end()) return known->second;
  auto program = find_program();
  return tried.emplace(what, program ? make_trial(*program, what, kMostTime) : program.error())
      .first->second;
}

}  // namespace

bool may_kill(std::string_view platform_name) {
  return platform_name == "Portable Computing Language";
}

Status make_trial(const std::string& program, const std::vector<std::string>& what,
                  std::chrono::milliseconds most) {
  std::vector<std::string> arguments = to_arguments(limits_left());
  arguments.insert(arguments.end(), what.begin(), what.end());
  Ended ended = run_program(program, arguments, most);
  const bool passed = ended.said.ends_with(kTrialPassed);
  if (ended.well && passed) return {};
  if (ended.well) ended.how = "ended early";
  const std::string words = last_words(ended.said);
  return Error{Code::kDevice, "it was tried first in a process of its own (" + program +
                                  "), which " + ended.how +
                                  (words.empty() ? "" : " and said: " + words)};
}

Status try_devices() { return once({"devices"}); }

Status try_kernel(const Device& device, const std::string& key, Dtype dtype, Needs needs) {
  if (!may_kill(device.info.platform_name)) return {};
  Status tried = once({"kernel", key, std::string(name(dtype)), std::to_string(needs)});
  if (tried) return tried;
  return Error{tried.error().code, "running the kernel of " + std::string(name(dtype)) + " on " +
                                       device.info.name + ": " + tried.error().message};
}

}  // namespace tensorstat::cl_engine

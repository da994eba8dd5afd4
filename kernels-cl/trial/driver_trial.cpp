#include "kernels-cl/trial/driver_trial.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "kernels-cl/program/binary_cache.hpp"
#include "kernels-cl/program/made_once.hpp"
#include "kernels-cl/trial/icd_files.hpp"
#include "kernels-cl/trial/limits.hpp"
#include "kernels-cl/trial/passed_trials.hpp"
#include "kernels-cl/trial/subprocess.hpp"

namespace tensorstat::cl_engine {
namespace {

// pocl takes one or two seconds to build a kernel on an idle machine.
constexpr std::chrono::milliseconds kMostTime{120'000};
constexpr std::size_t kMostQuoted = 300;

namespace fs = std::filesystem;

constexpr const char* kProgram = "tensorstat-preflight";

// A set-user-ID program ignores the environment, so that its caller cannot choose what it runs.
std::string_view environment_says() {
  const char* text = secure_getenv("TENSORSTAT_PREFLIGHT");
  return text == nullptr ? "" : text;
}

bool are_made() { return environment_says() != "0"; }
bool are_kept() { return environment_says() == "once"; }

// The libexec folders of the installation of this code, which is a shared library or part of a program. None if it is
// unknown: the library was loaded by a relative name, and the working directory may have changed since.
std::vector<fs::path> libexec_of_this_installation() {
  Dl_info facts{};
  link_map* object = nullptr;
  std::error_code failed;
  if (dladdr1(reinterpret_cast<const void*>(&make_trial), &facts, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) ==
      0) {
    return {};
  }
  const std::string_view name = object->l_name;
  if (name.empty()) {  // the program: dladdr's name of it is argv[0], which says nothing of where it lies
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);
    if (failed) return {};
    return {(program.parent_path() / TENSORSTAT_LIBEXEC_FROM_PROGRAM).lexically_normal()};
  }
  const fs::path library = fs::path(name).is_absolute() ? fs::canonical(name, failed) : fs::path();
  if (library.empty()) return {};
  const fs::path folder = library.parent_path();  // the layer lies in a folder of libdir
  return {(folder / TENSORSTAT_LIBEXEC_FROM_LIBRARY).lexically_normal(),
          (folder.parent_path() / TENSORSTAT_LIBEXEC_FROM_LIBRARY).lexically_normal()};
}

Result<TrustedProgram> find_program() {
  std::vector<fs::path> places;
  if (const std::string_view named = environment_says(); !named.empty() && !are_kept()) {
    std::error_code failed;
    places.push_back(fs::absolute(named, failed));
  } else {
    for (const fs::path& libexec : libexec_of_this_installation()) places.push_back(libexec / kProgram);
    places.push_back(fs::path(TENSORSTAT_LIBEXEC_CONFIGURED) / kProgram);
  }
  std::string reasons;
  for (const fs::path& place : places) {
    auto program = TrustedProgram::open(place);
    if (program) return program;
    if (reasons.find(program.error().message) == reasons.npos) {
      reasons += (reasons.empty() ? "" : "; ") + program.error().message;
    }
  }
  return Error{Code::kDevice,
               "the program that tries it first, in a process of its own, cannot be used: " + reasons +
                   " (TENSORSTAT_PREFLIGHT=path names another; TENSORSTAT_PREFLIGHT=0 uses the driver untried)"};
}

// The end of the helper's output, as one printable line.
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

using What = std::vector<std::string>;

const What& devices() {
  static const What what{"devices"};
  return what;
}

void add_kind(What& what, const KernelKind& kind) {
  what.emplace_back(name(kind.dtype));
  what.push_back(std::to_string(kind.needs));
  if (kind.beside) what.emplace_back(name(*kind.beside));
}

// Each trial runs once in this process. Only callers that need the same trial wait for it.
MadeOnce<What, Status>& trials() {
  static auto& all = *new MadeOnce<What, Status>;
  return all;
}

Status once(const What& what, const std::function<Status()>& make) {
  if (!are_made()) return {};
  auto tried = trials().get(what, [&]() -> Result<Status> { return make(); });
  return tried ? *std::move(tried) : Status(tried.error());
}

bool is_kept(const What& what) { return are_kept() && has_passed(what); }

Status find_and_try(const What& what) {
  if (is_kept(what)) return {};
  const auto program = find_program();
  return program ? make_trial(*program, what, kMostTime) : Status(program.error());
}

bool is_pocl_installed() {
  return std::ranges::any_of(icd_files(),
                             [](const IcdFile& each) { return each.library.find("pocl") != each.library.npos; });
}

}  // namespace

class StartedTrial {
 public:
  StartedTrial(const TrustedProgram& program, const What& what)
      : path_(program.path()), what_(what), limits_(limits_left()), process_(program, arguments()) {}

  Status passed(std::chrono::milliseconds most) {
    Ended ended = process_.wait(most);
    said_ = ended.said;
    const bool passed = ended.said.ends_with(kTrialPassed);
    if (ended.well && passed) {
      if (are_kept()) keep_passed(what_, limits_);
      return {};
    }
    if (ended.well) ended.how = "ended early";
    const std::string words = last_words(ended.said);
    return Error{Code::kDevice, "it was tried first in a process of its own (" + path_ + "), which " + ended.how +
                                    (words.empty() ? "" : " and said: " + words)};
  }

  // After a trial of the devices and a kernel has passed: what a trial of that kernel alone is called.
  What kernel() const {
    const std::size_t line = said_.rfind(kTriedKernel), name = line + kTriedKernel.size();
    if (line == said_.npos || what_.size() < 2) return {};
    What what = {"kernel", said_.substr(name, said_.find('\n', name) - name)};
    what.insert(what.end(), what_.begin() + 1, what_.end());
    return what;
  }

 private:
  What arguments() const {
    What all = to_arguments(limits_);
    all.insert(all.end(), what_.begin(), what_.end());
    return all;
  }

  const std::string path_;
  const What what_;
  const Limits limits_;
  Subprocess process_;
  std::string said_;
};

bool may_kill(std::string_view platform_name) { return platform_name == "Portable Computing Language"; }

Status make_trial(const TrustedProgram& program, const std::vector<std::string>& what, std::chrono::milliseconds most) {
  return StartedTrial(program, what).passed(most);
}

Status run_helper(const std::vector<std::string>& what) {
  if (!are_made()) return Error{Code::kDevice, "TENSORSTAT_PREFLIGHT=0 forbids the program that would do it"};
  return once(what, [&]() -> Status {
    const auto program = find_program();
    return program ? make_trial(*program, what, kMostTime) : Status(program.error());
  });
}

DevicesTrial::DevicesTrial(const KernelKind* soon) {
  if (!are_made() || trials().has(devices()) || !is_pocl_installed()) return;
  is_kept_ = is_kept(devices());
  if (is_kept_) return;
  const auto program = find_program();
  if (!program) return;
  What what = devices();
  has_kernel_ = soon != nullptr && !are_kept() && only_pocl_is_installed();
  if (has_kernel_) add_kind(what, *soon);
  started_ = std::make_unique<StartedTrial>(*program, what);
}

DevicesTrial::~DevicesTrial() = default;

Status DevicesTrial::passed() {
  return once(devices(), [&] {
    if (is_kept_) return Status();
    if (!started_) return find_and_try(devices());
    Status passed = started_->passed(kMostTime);
    if (!has_kernel_) return passed;
    if (!passed) return find_and_try(devices());  // what a kernel does wrong is not said of the devices
    if (const What kernel = started_->kernel(); !kernel.empty()) {
      static_cast<void>(trials().get(kernel, [] { return Status(); }));
    }
    return passed;
  });
}

Status try_kernel(const Device& device, const std::string& key, const KernelKind& kind) {
  if (!may_kill(device.info.platform_name)) return {};
  What what = {"kernel", entry_name(key)};
  add_kind(what, kind);
  Status tried = once(what, [&] { return find_and_try(what); });
  if (tried) return tried;
  return Error{tried.error().code,
               "running the kernel of " + kind.name() + " on " + device.info.name + ": " + tried.error().message};
}

}  // namespace tensorstat::cl_engine

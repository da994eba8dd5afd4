#include "kernels-cl/trial/driver_trial.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>

#include "kernels-cl/driver/opencl.hpp"
#include "kernels-cl/driver/signal_guard.hpp"
#include "kernels-cl/program/binary_cache.hpp"
#include "kernels-cl/program/made_once.hpp"
#include "kernels-cl/trial/limits.hpp"
#include "kernels-cl/trial/passed_trials.hpp"
#include "kernels-cl/trial/subprocess.hpp"
#include "kernels-cl/trial/system_words.hpp"

extern "C" {
[[gnu::weak]] extern const char tensorstat_installation[];  // null in a shared library
}

namespace tensorstat::cl_engine {
namespace {

// pocl takes one or two seconds to build a kernel on an idle machine.
constexpr std::chrono::milliseconds kMostTime{120'000};
// A GPU that nobody uses may need many seconds to start.
constexpr std::chrono::milliseconds kMostTimeOfDevices{60'000}, kMostTimeOfTheRest{1'000};
constexpr std::size_t kMostQuotedBytes = 300;

namespace fs = std::filesystem;

constexpr const char* kProgram = "tensorstat-preflight";

// A set-user-ID program ignores the environment, so that its caller cannot choose what it runs.
std::string_view environment_says() {
  const char* text = secure_getenv("TENSORSTAT_PREFLIGHT");
  return text == nullptr ? "" : text;
}

bool are_made() { return environment_says() != "0"; }
bool are_kept() { return environment_says() == "once"; }

// The libexec folder of the headers that this program was compiled with (tensorstat/installation.hpp). Unknown to a
// shared library, which does not lie in a program, and if the compiler was given a relative path.
std::vector<fs::path> libexec_of_the_headers() {
  const char* const header = tensorstat_installation;
  if (header == nullptr || header[0] != '/') return {};
  return {(fs::path(header).parent_path() / TENSORSTAT_LIBEXEC_FROM_HEADERS).lexically_normal()};
}

// The libexec folders of the installation of this code, which is a shared library or part of a program. None if it is
// unknown: the library was loaded by a relative name, and the working directory may have changed since.
std::vector<fs::path> libexec_of_this_object() {
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
    for (const fs::path& libexec : libexec_of_this_object()) places.push_back(libexec / kProgram);
    for (const fs::path& libexec : libexec_of_the_headers()) places.push_back(libexec / kProgram);
    places.push_back(fs::path(TENSORSTAT_LIBEXEC_CONFIGURED) / kProgram);
  }
  std::string reasons;
  bool is_anywhere = false;
  for (const fs::path& place : places) {
    auto program = TrustedProgram::open(place);
    if (program) return program;
    const std::string& reason = program.error().message;
    is_anywhere = is_anywhere || !reason.ends_with(system_words(ENOENT));
    if (reasons.find(reason) == reasons.npos) reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  return Error{Code::kDevice,
               "the program that tries it first, " + std::string(kProgram) +
                   (is_anywhere ? ", cannot be used: " : ", is not found: ") + reasons +
                   " (TENSORSTAT_PREFLIGHT=path names another; TENSORSTAT_PREFLIGHT=0 uses the driver untried)"};
}

// The end of the helper's output, as one printable line.
std::string last_words(std::string_view output) {
  if (output.size() > kMostQuotedBytes) output.remove_prefix(output.size() - kMostQuotedBytes);
  std::string line;
  for (const char c : output) {
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

MadeOnce<What, Drivers>& known_drivers() {
  static auto& all = *new MadeOnce<What, Drivers>;
  return all;
}

// Loads these drivers in this process.
void load(const std::vector<std::string>& libraries) {
  const SignalGuard guard(nullptr);
  call_drivers(libraries);
}

// The arguments with which the helper loads these drivers alone, without the loader.
What only(const std::vector<IcdFile>& files) {
  What what;
  for (const IcdFile& each : files) what.push_back(std::string(kOnly) + each.library);
  return what;
}

// A kernel of pocl is tried without the other drivers, which may end the helper.
What pocl_only() {
  std::vector<IcdFile> files = icd_files();
  if (std::erase_if(files, [](const IcdFile& each) { return !is_pocl(each); }) == 0) return {};
  return only(files);
}

// If no trial can be made, a driver that is known to end its process is not loaded.
Drivers without_trials(const std::string& why) {
  Drivers drivers;
  std::vector<std::string> others;
  const std::vector<IcdFile> files = icd_files();
  for (const IcdFile& each : files) {
    if (is_pocl(each)) {
      drivers.refused.push_back({each, why});
    } else {
      others.push_back(each.library);
    }
  }
  if (files.empty()) drivers.refused.push_back({{"", "OpenCL's drivers"}, why});
  if (drivers.refused.empty()) return drivers;
  drivers.all = false;
  load(others);
  return drivers;
}

}  // namespace

class StartedTrial {
 public:
  StartedTrial(const TrustedProgram& program, const What& what)
      : path_(program.path()), what_(what), limits_(limits_left()), process_(program, arguments()) {}

  bool has_started() const { return process_.has_started(); }

  // Whether the devices were found, after at most this time. The trial may go on to a kernel.
  bool has_found_devices(std::chrono::milliseconds most) { return process_.says(kFoundDevices, most); }

  Status passed(std::chrono::milliseconds most) {
    Ended ended = process_.wait(most);
    said_ = ended.output;
    const bool passed = ended.output.ends_with(kTrialPassed);
    if (ended.well && passed) {
      if (are_kept()) keep_passed(what_, limits_);
      return {};
    }
    if (ended.well) ended.how = "ended early";
    const std::string words = last_words(ended.output);
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

namespace {

// Tries each driver alone, without the loader, and loads those that pass. `why`: how the trial of all ended.
Drivers one_by_one(const TrustedProgram& program, const std::string& why) {
  Drivers drivers{.all = false};
  const std::vector<IcdFile> files = icd_files();
  if (files.size() <= 1) {
    drivers.refused.push_back({files.empty() ? IcdFile{"", "OpenCL's drivers"} : files[0], why});
    load({});
    return drivers;
  }
  std::vector<std::unique_ptr<StartedTrial>> trials;
  for (const IcdFile& each : files) {
    What what = only({each});
    what.emplace_back("devices");
    trials.push_back(std::make_unique<StartedTrial>(program, what));
  }
  std::vector<IcdFile> passed;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (Status alone = trials[i]->passed(kMostTimeOfDevices); !alone) {
      drivers.refused.push_back({files[i], alone.error().message});
    } else {
      passed.push_back(files[i]);
    }
  }
  if (passed.size() > 1) {
    What together = only(passed);
    together.emplace_back("devices");
    if (Status all = make_trial(program, together, kMostTimeOfDevices); !all) {
      for (const IcdFile& each : passed) drivers.refused.push_back({each, all.error().message});
      passed.clear();
    }
  }
  std::vector<std::string> libraries;
  for (const IcdFile& each : passed) libraries.push_back(each.library);
  load(libraries);
  return drivers;
}

}  // namespace

Drivers DriversTrial::make(const KernelKind* soon) {
  if (!are_made() || no_driver_is_installed() || is_kept(devices())) return {};
  const auto program = find_program();
  if (!program) return without_trials(program.error().message);
  What what = devices();
  const bool has_kernel = soon != nullptr && !are_kept() && only_pocl_is_installed();
  if (has_kernel) add_kind(what, *soon);
  auto trial = std::make_unique<StartedTrial>(*program, what);
  if (!trial->has_started()) return without_trials(trial->passed({}).error().message);
  const bool goes_on = has_kernel && trial->has_found_devices(kMostTimeOfDevices);
  if (goes_on) {
    goes_on_ = std::move(trial);
    return {};
  }
  // A helper that has found no devices has ended, or never will. Reading its output does not wait.
  const Status passed = trial->passed(has_kernel ? kMostTimeOfTheRest : kMostTimeOfDevices);
  return passed ? Drivers() : one_by_one(*program, passed.error().message);
}

DriversTrial::DriversTrial(const KernelKind* soon) {
  auto made = known_drivers().get(devices(), [&]() -> Result<Drivers> { return make(soon); });
  drivers_ = *std::move(made);
}

// Faults of kernels are not reported here: the trial of the kernel reports them.
DriversTrial::~DriversTrial() {
  if (!goes_on_) return;
  try {
    if (!goes_on_->passed(kMostTime)) return;
    if (const What kernel = goes_on_->kernel(); !kernel.empty()) {
      static_cast<void>(trials().get(kernel, [] { return Status(); }));
    }
  } catch (const std::exception&) {  // out of memory: the kernel is tried again
  }
}

Status try_kernel(const Device& device, const std::string& key, const KernelKind& kind) {
  if (!may_kill(device.info.platform_name)) return {};
  What what = pocl_only();
  what.insert(what.end(), {"kernel", entry_name(key)});
  add_kind(what, kind);
  Status tried = once(what, [&] { return find_and_try(what); });
  if (tried) return tried;
  return Error{tried.error().code,
               "running the kernel of " + kind.name() + " on " + device.info.name + ": " + tried.error().message};
}

}  // namespace tensorstat::cl_engine

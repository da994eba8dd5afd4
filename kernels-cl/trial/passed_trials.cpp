#include "kernels-cl/trial/passed_trials.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string_view>

#include "kernels-cl/program/binary_cache.hpp"
#include "kernels-cl/trial/icd_files.hpp"

namespace tensorstat::cl_engine {
namespace {

// A name that ends in _ stands for all that begin with it.
constexpr std::string_view kVariables[] = {"HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "OCL_ICD_",      "OPENCL_LAYERS",
                                           "PATH", "POCL_",           "TMPDIR",     "XDG_CACHE_HOME"};

bool matters(std::string_view variable) {
  return std::ranges::any_of(kVariables, [&](std::string_view each) {
    return variable.starts_with(each) && (each.ends_with('_') || variable.substr(each.size()).starts_with('='));
  });
}

// Sorted: `environ` has no order.
std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    if (matters(*each)) variables.emplace_back(*each);
  }
  std::ranges::sort(variables);
  return variables;
}

// A container often has no machine-id, but a name of its own.
std::string machine() {
  std::string id;
  std::ifstream file("/etc/machine-id");
  std::getline(file, id);
  utsname names{};
  return uname(&names) == 0 ? id + " " + names.nodename : id;
}

std::string key_of(const std::vector<std::string>& what) {
  std::string text;
  const auto add = [&](std::string_view part) { text.append(part).push_back('\0'); };
  add("trial");
  add(TENSORSTAT_VERSION);
  add(machine());
  // A chroot or a container has the machine's name and perhaps this home, and not what a driver needs: pocl dies
  // without /sys.
  for (const char* folder : {"/", "/sys", "/proc", "/dev"}) {
    struct stat facts {};
    const bool is_there = stat(folder, &facts) == 0;
    add(is_there ? std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino) : "");
  }
  for (const IcdFile& each : icd_files()) {
    struct stat facts {};
    if (stat(each.path.c_str(), &facts) != 0) continue;
    add(each.path);
    add(each.library);
    add(std::to_string(facts.st_mtim.tv_sec) + "." + std::to_string(facts.st_mtim.tv_nsec));
  }
  add("environment");
  for (const std::string& each : environment()) add(each);
  rlimit file_bytes{};
  add(getrlimit(RLIMIT_FSIZE, &file_bytes) == 0 ? std::to_string(file_bytes.rlim_cur) : "");
  for (const std::string& each : what) add(each);
  return text;
}

// The limits, each of them ended by a NUL.
Binary to_entry(const Limits& limits) {
  Binary entry;
  for (const std::string& each : to_arguments(limits)) {
    entry.insert(entry.end(), each.begin(), each.end());
    entry.push_back('\0');
  }
  return entry;
}

// Nothing of an entry that to_entry did not make.
std::optional<Limits> from_entry(const Binary& entry) {
  if (std::ranges::count(entry, '\0') != kLimitArguments || entry.back() != '\0') return std::nullopt;
  std::array<const char*, kLimitArguments> arguments{};
  auto begin = entry.begin();
  for (const char*& each : arguments) {
    each = reinterpret_cast<const char*>(&*begin);
    begin = std::find(begin, entry.end(), '\0') + 1;
  }
  return limits_from(arguments.data());
}

// No limit is the most.
bool is_as_much(std::optional<std::uint64_t> now, std::optional<std::uint64_t> then) {
  return !now || (then && *now >= *then);
}

}  // namespace

bool has_passed(const std::vector<std::string>& what) {
  const auto then = from_entry(load_binary(key_of(what)));
  if (!then) return false;
  const Limits now = limits_left();
  return is_as_much(now.descriptors, then->descriptors) && is_as_much(now.address_bytes, then->address_bytes) &&
         is_as_much(now.data_bytes, then->data_bytes);
}

void keep_passed(const std::vector<std::string>& what, const Limits& left) {
  store_binary(key_of(what), to_entry(left));
}

}  // namespace tensorstat::cl_engine

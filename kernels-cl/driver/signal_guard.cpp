#include "kernels-cl/driver/signal_guard.hpp"

#include <link.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

namespace tensorstat::cl_engine {
namespace {

constinit std::mutex mutex_of_all;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

void add_needs(const dl_phdr_info& info, const ElfW(Dyn) * dynamic, LoadedObject& object) {
  std::uintptr_t names = 0;
  for (const ElfW(Dyn)* each = dynamic; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_STRTAB) names = each->d_un.d_ptr;
  }
  if (names == 0) return;
  if (names < info.dlpi_addr) names += info.dlpi_addr;  // some loaders leave the address as it is in the file
  for (const ElfW(Dyn)* each = dynamic; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_NEEDED) continue;
    object.needs.emplace_back(file_name(reinterpret_cast<const char*>(names) + each->d_un.d_val));
  }
}

LoadedObject described(const dl_phdr_info& info) {
  LoadedObject object{.begin = std::numeric_limits<std::uintptr_t>::max(),
                      .name = std::string(file_name(info.dlpi_name))};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      object.begin = std::min(object.begin, begin);
      object.end = std::max(object.end, begin + part.p_memsz);
    } else if (part.p_type == PT_DYNAMIC) {
      add_needs(info, reinterpret_cast<const ElfW(Dyn)*>(begin), object);
    }
  }
  return object;
}

std::vector<LoadedObject> loaded_objects() {
  std::vector<LoadedObject> all;
  const auto add = [](dl_phdr_info* info, std::size_t, void* to) -> int {
    try {
      static_cast<std::vector<LoadedObject>*>(to)->push_back(described(*info));
      return 0;
    } catch (const std::bad_alloc&) {
      return 1;  // the loader, which calls this, is written in C
    }
  };
  if (dl_iterate_phdr(add, &all) != 0) throw std::bad_alloc();
  return all;
}

auto object_at(const std::vector<LoadedObject>& all, std::uintptr_t address) {
  return std::ranges::find_if(all,
                              [&](const LoadedObject& each) { return each.begin <= address && address < each.end; });
}

// With all that it is linked with.
void remove(std::vector<LoadedObject>& all, std::vector<LoadedObject>::const_iterator object) {
  if (object == all.end()) return;
  const std::vector<std::string> needs = object->needs;
  all.erase(object);
  for (const std::string& name : needs) remove(all, std::ranges::find(all, name, &LoadedObject::name));
}

std::vector<LoadedObject> objects_but_the_driver(cl_platform_id platform) {
  std::vector<LoadedObject> all = loaded_objects();
  // A platform begins with the address of the table of its driver's functions (cl_khr_icd).
  if (platform != nullptr) remove(all, object_at(all, *reinterpret_cast<const std::uintptr_t*>(platform)));
  return all;
}

// Whether any object holds it; code that was compiled at run time is in none, nor are SIG_DFL and SIG_IGN. Not
// dladdr, which goes through every symbol of the object: milliseconds, for LLVM.
bool lies_in_an_object(std::uintptr_t address) {
  const auto holds = [](dl_phdr_info* info, std::size_t, void* wanted) -> int {
    const std::uintptr_t offset = *static_cast<const std::uintptr_t*>(wanted) - info->dlpi_addr;
    const auto is_there = [&](const ElfW(Phdr) & part) {
      return part.p_type == PT_LOAD && offset - part.p_vaddr < part.p_memsz;
    };
    return std::any_of(info->dlpi_phdr, info->dlpi_phdr + info->dlpi_phnum, is_there);
  };
  return dl_iterate_phdr(holds, &address) != 0;
}

bool same_handler(const struct sigaction& one, const struct sigaction& other) {
  return one.sa_handler == other.sa_handler;  // shares its memory with sa_sigaction
}

}  // namespace

SignalGuard::SignalGuard(cl_platform_id platform)
    : one_at_a_time_(mutex_of_all), others_(objects_but_the_driver(platform)) {
  for (int signal = 1; signal < NSIG; ++signal) {
    known_[static_cast<std::size_t>(signal)] =
        sigaction(signal, nullptr, &saved_[static_cast<std::size_t>(signal)]) == 0;
  }
}

SignalGuard::~SignalGuard() {
  const auto is_drivers = [&](const struct sigaction& action) {
    const auto handler = reinterpret_cast<std::uintptr_t>(action.sa_handler);
    return object_at(others_, handler) == others_.end() && lies_in_an_object(handler);
  };
  for (int signal = 1; signal < NSIG; ++signal) {
    const struct sigaction& saved = saved_[static_cast<std::size_t>(signal)];
    struct sigaction now {
    }, replaced{};
    if (!known_[static_cast<std::size_t>(signal)] || sigaction(signal, nullptr, &now) != 0) continue;
    if (same_handler(now, saved) || !is_drivers(now)) continue;
    // The application may have installed one between these two calls: then that is what was replaced.
    if (sigaction(signal, &saved, &replaced) == 0 && !same_handler(replaced, now))
      sigaction(signal, &replaced, nullptr);
  }
}

}  // namespace tensorstat::cl_engine

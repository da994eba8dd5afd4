#include "stats/attach/tally.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

namespace tensorstat::attach {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "/.attach";

}  // namespace

Tally& open_tally(const std::string& out) {
  static Tally in_memory;
  std::error_code failed;
  fs::create_directories(out + kFolder, failed);
  const std::string path = out + kFolder + "/" + std::to_string(getpid());
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return in_memory;
  const off_t bytes = lseek(file, 0, SEEK_END);  // a program that became another by exec goes on counting
  const bool is_new = bytes < static_cast<off_t>(sizeof(Tally));
  void* at = MAP_FAILED;
  // posix_fallocate: a full disk is an error here and no SIGBUS later.
  if (!is_new || posix_fallocate(file, 0, sizeof(Tally)) == 0) {
    at = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (at == MAP_FAILED) return in_memory;
  return is_new ? *new (at) Tally : *static_cast<Tally*>(at);
}

Result<Total> read_tallies(const std::string& out) {
  Total total;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(out + kFolder, failed)) {
    std::ifstream file(entry.path(), std::ios::binary);
    alignas(Tally) char bytes[sizeof(Tally)] = {};
    file.read(bytes, sizeof bytes);
    const Tally& tally = *reinterpret_cast<const Tally*>(bytes);
    if (tally.magic != Tally::kMagic) continue;
    ++total.processes;
    total.launches += tally.launches;
    total.measured += tally.measured;
    total.not_understood += tally.not_understood;
    total.left_out += tally.left_out;
    total.images += tally.images;
    total.unknown_memory += tally.unknown_memory;
    total.scratch += tally.scratch;
    total.lost_rows += tally.lost_rows;
    total.poisoned += tally.poisoned;
    if (total.reason.empty()) total.reason.assign(tally.reason, strnlen(tally.reason, sizeof tally.reason));
  }
  if (total.processes == 0) return Error{Code::kUnreadable, out + ": no process has loaded the layer"};
  return total;
}

}  // namespace tensorstat::attach

// NumPy in a process of its own, which loads the same bytes from a file and measures the time; numpy_passes.py computes
// the statistics. As usual with NumPy, one thread.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/peers/peer.hpp"

namespace tensorstat::bench {
namespace {

// A file that exists as long as this object.
class PassingFile {
 public:
  explicit PassingFile(std::span<const std::byte> bytes) {
    const bool in_memory = access("/dev/shm", W_OK) == 0;
    std::string path = (in_memory ? std::string("/dev/shm") : std::filesystem::temp_directory_path().string()) +
                       "/tensorstat-bench-XXXXXX";
    const int made = mkstemp(path.data());
    if (made < 0) throw std::runtime_error("cannot make " + path);
    close(made);
    path_ = path;
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ~PassingFile() { unlink(path_.c_str()); }
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Python {
 public:
  // Runs a script on bytes with elements of a dtype.
  Python(const char* script, std::span<const std::byte> bytes, Dtype dtype) {
    std::signal(SIGPIPE, SIG_IGN);
    const PassingFile file(bytes);
    int requests[2], answers[2];
    if (pipe(requests) != 0 || pipe(answers) != 0) throw std::runtime_error("no pipe to Python");
    const std::string dtype_name(name(dtype));
    child_ = fork();
    if (child_ == 0) {
      dup2(requests[0], 0);
      dup2(answers[1], 1);
      for (const int end : {requests[0], requests[1], answers[0], answers[1]}) close(end);
      execl("/usr/bin/python3", "python3", script, file.path().c_str(), dtype_name.c_str(), nullptr);
      _exit(127);
    }
    close(requests[0]);
    close(answers[1]);
    to_ = fdopen(requests[1], "w");
    from_ = fdopen(answers[0], "r");
    if (child_ < 0 || line() != "ready") throw std::runtime_error("python3 with NumPy did not start");
  }
  ~Python() {
    std::fclose(to_);
    std::fclose(from_);
    waitpid(child_, nullptr, 0);
  }
  Python(const Python&) = delete;
  Python& operator=(const Python&) = delete;

  // Returns the seconds and sets `figures`.
  double run() {
    std::fputs("go\n", to_);
    std::fflush(to_);
    std::istringstream words(line());
    figures.clear();
    // Read as words, because streams cannot parse "nan".
    for (std::string word; words >> word;) figures.push_back(std::strtod(word.c_str(), nullptr));
    if (figures.empty()) throw std::runtime_error("NumPy's process broke off");
    const double seconds = figures.front();
    figures.erase(figures.begin());
    return seconds;
  }

  std::vector<double> figures;

 private:
  std::string line() {
    std::string text;
    for (int c = std::fgetc(from_); c != EOF && c != '\n'; c = std::fgetc(from_)) text += static_cast<char>(c);
    return text;
  }

  pid_t child_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace

void enter_numpy(const std::string& group, Dtype dtype, std::uint64_t bytes) {
  enter_clocked(group, "peer:numpy", static_cast<double>(bytes), 1, [=] {
    const Tensor tensor = make(dtype, bytes);
    const auto python = std::make_shared<Python>(TENSORSTAT_BENCH_NUMPY, bytes_of(tensor), dtype);
    return Clocked{[python] { return python->run(); },
                   [=] {
                     const std::vector<double>& figures = python->figures;
                     if (figures.size() != 9) throw std::runtime_error("NumPy's process broke off");
                     return judge(tensor, {figures[0], figures[1], figures[2], figures[3], figures[4], figures[5],
                                           figures[6], figures[7], figures[8]});
                   }};
  });
}

void enter_numpy_pair(const std::string& group, Dtype dtype, double bytes,
                      std::function<std::span<const std::byte>()> both) {
  enter_clocked(group, "peer:numpy", bytes, 2, [=] {
    const auto python = std::make_shared<Python>(TENSORSTAT_BENCH_NUMPY_PAIR, both(), dtype);
    return Clocked{[python] { return python->run(); }, nullptr};
  });
}

}  // namespace tensorstat::bench

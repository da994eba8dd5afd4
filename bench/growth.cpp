// Measures how time and memory grow with a tensor's bytes, the number of tensors, threads and statistics, for each
// engine. Prints Markdown. bench/growth builds and runs it.
//
//   growth [SWEEPS]
//
// Each point of a table is measured SWEEPS (5) times, each in a process of its own, in turns with all other points. A
// sweep's figure is the fastest of some calls; a cell is the median of the sweeps. Memory is the peak during the calls
// minus the memory when the tensors were ready: results, working memory, threads' stacks, and a driver if one is
// loaded.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <tensorstat/meter.hpp>
#include <thread>
#include <vector>

#include "bench/data.hpp"

namespace tensorstat::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
// Larger tensors map these bytes again and again: more than any cache, without more memory.
constexpr std::uint64_t kDistinctBytes = 256 * kMiB;
constexpr const char* kTen =
    "max,min,avg,l2norm,negative zero count,positive zero count,zero count,nan count,negative inf count,"
    "positive inf count";

struct Engine {
  std::string name;
  unsigned threads;  // 0: one per core
  On on;
  const char* isa = nullptr;  // the host's instruction set; nullptr: the best
};

struct Point {
  std::uint64_t tensors, elements;
  std::string statistics;
  Engine engine;
};

struct Figure {
  double seconds = 0, more_bytes = 0, device_bytes = 0;
};

template <typename T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

// N(0, 1) in float32.
const std::byte* numbers(std::uint64_t bytes) {
  const std::uint64_t distinct = std::min(std::max<std::uint64_t>(bytes, 4096), kDistinctBytes);
  const Tensor made = make(Dtype::kFloat32, distinct);
  if (bytes <= kDistinctBytes) return static_cast<const std::byte*>(made.address);
  const int file = memfd_create("numbers", 0);
  const auto whole = (bytes + kDistinctBytes - 1) / kDistinctBytes * kDistinctBytes;
  auto* const place = static_cast<std::byte*>(mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (file < 0 || place == MAP_FAILED) throw std::runtime_error("no address space for the tensor");
  for (std::uint64_t done = 0; done < kDistinctBytes;) {
    const ssize_t written = write(file, static_cast<const std::byte*>(made.address) + done, kDistinctBytes - done);
    if (written <= 0) throw std::runtime_error("no memory for the tensor");
    done += written;
  }
  for (std::uint64_t offset = 0; offset < whole; offset += kDistinctBytes) {
    if (mmap(place + offset, kDistinctBytes, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file, 0) == MAP_FAILED) {
      throw std::runtime_error("no address space for the tensor");
    }
  }
  close(file);
  return place;
}

// A field of /proc/self/status in bytes, "VmHWM" or "VmRSS". Each page of the mapped file is counted once at most.
double bytes_in_status(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(what + ":")) return 1024.0 * std::strtod(line.c_str() + what.size() + 1, nullptr);
  }
  return 0;
}

Figure measured(const Point& point) {
  if (point.engine.isa != nullptr) setenv("TENSORSTAT_ISA", point.engine.isa, 1);
  const std::uint64_t bytes = point.tensors * point.elements * 4;
  const std::byte* const first = numbers(bytes);
  std::vector<Tensor> tensors;
  for (std::uint64_t i = 0; i < point.tensors; ++i) {
    tensors.push_back(
        {.dtype = Dtype::kFloat32, .element_count = point.elements, .address = first + 4 * i * point.elements});
  }
  const Request request{.categories = value(categories_from(point.statistics)), .on = point.engine.on};
  std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
  const double before = bytes_in_status("VmRSS");
  MeterOptions options;
  options.threads = point.engine.threads;
  Meter meter(options);
  Figure figure{.seconds = 1e9};
  value(meter.measure(tensors, request));  // first loads a driver and builds kernels, or reads them from the cache
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    value(meter.measure(tensors, request));
    figure.seconds = std::min(figure.seconds, std::chrono::duration<double>(Clock::now() - start).count());
  } while (Clock::now() - begin < std::chrono::milliseconds(100));
  figure.more_bytes = std::max(0.0, bytes_in_status("VmHWM") - before);
  figure.device_bytes = static_cast<double>(meter.device_memory().peak_bytes);
  return figure;
}

// Measures in a process of its own; no seconds if that fails.
Figure measured_apart(const Point& point) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    try {
      const Figure figure = measured(point);
      if (write(ends[1], &figure, sizeof figure) != sizeof figure) _exit(1);
      _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", point.engine.name.c_str(), error.what());
      _exit(1);
    }
  }
  close(ends[1]);
  Figure figure;
  if (read(ends[0], &figure, sizeof figure) != sizeof figure) figure = {};
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return figure;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string text(double number, const char* unit) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, number < 9.95 ? "%.2g%s" : number < 999.5 ? "%.3g%s" : "%.0f%s", number, unit);
  return buffer;
}

std::string time_text(double seconds) {
  if (seconds < 1e-6) return text(seconds * 1e9, " ns");
  if (seconds < 1e-3) return text(seconds * 1e6, " us");
  return seconds < 1 ? text(seconds * 1e3, " ms") : text(seconds, " s");
}

std::string bytes_text(double bytes) {
  if (bytes < 1024) return text(bytes, " B");
  if (bytes < 1048576) return text(bytes / 1024, " KiB");
  return bytes < 1073741824 ? text(bytes / 1048576, " MiB") : text(bytes / 1073741824, " GiB");
}

struct Table {
  std::string title, corner;
  std::vector<std::string> heads = {}, rows = {};
  std::vector<std::vector<Point>> points = {};  // one row each
  std::function<std::string(const Point&, double seconds)> cell = {};
};

std::string speed(const Point& point, double seconds) {
  return time_text(seconds) + ", " +
         text(static_cast<double>(point.tensors * point.elements * 4) / seconds / 1e9, " GB/s");
}

std::string each(const Point& point, double seconds) { return time_text(seconds / static_cast<double>(point.tensors)); }

std::vector<Table> tables() {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const Engine one{"host, 1 thread", 1, On::kHost}, all{"host, a thread a core", 0, On::kHost},
      device{"OpenCL", 0, On::kDevice};
  std::vector<Table> made;
  const auto rows_of = [&](Table table, const std::vector<Engine>& engines,
                           const std::vector<std::pair<std::string, Point>>& rows) {
    for (const Engine& engine : engines) table.heads.push_back(engine.name);
    for (const auto& [name, point] : rows) {
      table.rows.push_back(name);
      table.points.emplace_back();
      for (const Engine& engine : engines) {
        table.points.back().push_back(point);
        table.points.back().back().engine = engine;
      }
    }
    made.push_back(std::move(table));
  };

  std::vector<std::pair<std::string, Point>> rows;
  for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{1} << 10, std::uint64_t{16} << 10,
                                    std::uint64_t{256} << 10, 4 * kMiB, 64 * kMiB, 1024 * kMiB, 16384 * kMiB}) {
    rows.push_back({bytes_text(static_cast<double>(bytes)), {1, bytes / 4, kTen, one}});
  }
  rows_of({.title = "Bytes of one tensor, ten statistics", .corner = "bytes", .cell = speed}, {one, all, device}, rows);

  rows.clear();
  for (const std::uint64_t count : {1, 10, 100, 1000, 10'000, 100'000, 1'000'000}) {
    rows.push_back({std::to_string(count), {count, 256, kTen, one}});
  }
  rows_of(
      {.title = "Tensors of 1 KiB in one call, ten statistics; the time of each", .corner = "tensors", .cell = each},
      {one, all, device}, rows);

  rows.clear();
  const std::string kMore = std::string(kTen) + ",std,l1norm,rms,absmax,sparsity";
  const std::string kElements = kMore + ",absmin,subnormal count,minus zero count,finite max,finite min,finite avg";
  const std::string kWhere = kElements + ",first nan index,first inf index,argmax,argmin";
  const std::string kCasts = kWhere + ",e4m3fn underflow,e4m3fn overflow,float16 underflow,float16 overflow";
  const std::string kExponents = kCasts + ",exponents", kSums = kExponents + ",crc32,xor64";
  const std::pair<const char*, std::string> kAsked[] = {{"count alone", "count"},
                                                        {"max, min", "max,min"},
                                                        {"avg, l2norm", "avg,l2norm"},
                                                        {"ten", kTen},
                                                        {"and std, l1norm, ...", kMore},
                                                        {"and finite, absmin, ...", kElements},
                                                        {"and indices", kWhere},
                                                        {"and casts", kCasts},
                                                        {"and exponents", kExponents},
                                                        {"and checksums", kSums},
                                                        {"ten, and MD5", std::string(kTen) + ",md5"}};
  for (const auto& [name, asked] : kAsked) rows.push_back({name, {1, 16 * kMiB, asked, one}});
  rows_of({.title = "Statistics of one tensor of 64 MiB", .corner = "statistics", .cell = speed}, {one, all, device},
          rows);

  rows.clear();
  std::vector<Engine> threads;
  for (unsigned count = 1; count <= 2 * cores; count *= 2) {
    threads.push_back({std::to_string(count) + (count == 1 ? " thread" : " threads"), count, On::kHost});
  }
  for (const std::uint64_t bytes : {64 * kMiB / 1024, 256 * kMiB / 1024, kMiB, 16 * kMiB, 1024 * kMiB}) {
    rows.push_back({bytes_text(static_cast<double>(bytes)), {1, bytes / 4, kTen, one}});
  }
  rows_of({.title = "Threads, " + std::to_string(cores) + " cores, ten statistics", .corner = "bytes", .cell = speed},
          threads, rows);

  rows.clear();
  for (const std::uint64_t bytes : {std::uint64_t{4096}, 64 * kMiB / 1024, kMiB, 64 * kMiB}) {
    rows.push_back({bytes_text(static_cast<double>(bytes)), {1, bytes / 4, kTen, one}});
  }
  rows_of({.title = "Instruction sets, 1 thread, ten statistics", .corner = "bytes", .cell = speed},
          {{"baseline", 1, On::kHost, "baseline"}, {"AVX2", 1, On::kHost, "avx2"}, {"AVX-512", 1, On::kHost, "avx512"}},
          rows);
  return made;
}

void print(const Table& table, const std::map<const Point*, std::vector<Figure>>& figures) {
  std::printf("**%s**\n\n| %s |", table.title.c_str(), table.corner.c_str());
  for (const std::string& head : table.heads) std::printf(" %s | more memory |", head.c_str());
  std::printf("\n|---|");
  for (std::size_t i = 0; i < table.heads.size(); ++i) std::printf("---|---|");
  std::printf("\n");
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    std::printf("| %s |", table.rows[row].c_str());
    for (const Point& point : table.points[row]) {
      std::vector<double> seconds, more, device;
      for (const Figure& each : figures.at(&point)) {
        if (each.seconds == 0) continue;
        seconds.push_back(each.seconds);
        more.push_back(each.more_bytes);
        device.push_back(each.device_bytes);
      }
      if (seconds.empty()) {
        std::printf(" - | - |");
        continue;
      }
      const double of_device = median(device);
      std::printf(" %s | %s%s |", table.cell(point, median(seconds)).c_str(), bytes_text(median(more)).c_str(),
                  of_device == 0 ? "" : (" (device " + bytes_text(of_device) + ")").c_str());
    }
    std::printf("\n");
  }
  std::printf("\n");
}

}  // namespace
}  // namespace tensorstat::bench

int main(int argc, char** argv) try {
  using namespace tensorstat::bench;
  const int sweeps = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::vector<Table> all = tables();
  std::map<const Point*, std::vector<Figure>> figures;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (const Table& table : all) {
      std::fprintf(stderr, "sweep %d of %d: %s\n", sweep + 1, sweeps, table.title.c_str());
      for (const auto& row : table.points) {
        for (const Point& point : row) figures[&point].push_back(measured_apart(point));
      }
    }
  }
  for (const Table& table : all) print(table, figures);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "growth: %s\n", error.what());
  return 1;
}

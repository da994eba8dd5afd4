#include "stats/show/exports/tfevents.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/core/base/utf8.hpp"
#include "stats/data/rows/names/row_kind.hpp"
#include "stats/data/rules/comparison.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = 1 << 20;

constexpr std::array<std::uint32_t, 256> crc32c_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}

// The parts of protocol buffers' wire format that events need.
class WireWriter {
 public:
  void varint(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_ += static_cast<char>(number | 0x80);
    bytes_ += static_cast<char>(number);
  }
  void whole(int field, std::uint64_t number) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(number);
  }
  void real(int field, double number) {
    varint(static_cast<std::uint64_t>(field) << 3 | 1);
    fixed(std::bit_cast<std::uint64_t>(number));
  }
  void single(int field, float number) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    fixed(std::bit_cast<std::uint32_t>(number));
  }
  void text(int field, std::string_view text) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(text.size());
    bytes_ += text;
  }
  void reals(int field, const std::vector<double>& numbers) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(numbers.size() * sizeof(double));
    for (const double number : numbers) fixed(std::bit_cast<std::uint64_t>(number));
  }
  template <typename Bits>
  void fixed(Bits bits) {
    for (std::size_t i = 0; i < sizeof bits; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Fields of tensorflow.Event, Summary, Summary.Value and HistogramProto.
enum Field : int {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
  kValue = 1,
  kTag = 1,
  kSimpleValue = 2,
  kHistogram = 5,
  kLeast = 1,
  kMost = 2,
  kNumber = 3,
  kSum = 4,
  kSumOfSquares = 5,
  kBucketLimits = 6,
  kBuckets = 7
};

// A file of records: length, its checksum, the bytes, their checksum.
class EventFile {
 public:
  explicit EventFile(std::string path) : path_(std::move(path)) {
    WireWriter event;
    event.real(kWallTime, 0);
    event.text(kFileVersion, "brain.Event:2");
    put(event.bytes());
  }

  Status add(const std::string& event) {
    put(event);
    return buffer_.size() < kBufferBytes ? Status() : flush();
  }

  // The file is open only while it is written: a job may have more ranks than a process may have files.
  Status flush() {
    std::ofstream file(path_, std::ios::binary | std::ios::app);
    file.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    file.close();
    buffer_.clear();
    return file ? Status() : Error{Code::kUnwritable, printable(path_) + ": cannot be written"};
  }

 private:
  void put(const std::string& event) {
    WireWriter record;
    record.fixed(static_cast<std::uint64_t>(event.size()));
    const std::uint32_t of_length = masked(crc32c_of(record.bytes()));
    record.fixed(of_length);
    buffer_ += record.bytes();
    buffer_ += event;
    WireWriter end;
    end.fixed(masked(crc32c_of(event)));
    buffer_ += end.bytes();
  }
  // TFRecord's: a checksum of bytes that hold checksums would be weak.
  static std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

  const std::string path_;
  std::string buffer_;
};

std::string with_underscores(std::string_view text) {
  std::string name(text);
  std::ranges::replace(name, ' ', '_');
  return name;
}

std::string histogram_of(const ExponentCounts& counts) {
  WireWriter histogram;
  double number = 0, sum = 0, squares = 0;
  std::vector<double> limits, buckets;
  int next = counts.binades.empty() ? 0 : counts.binades.front().exponent;
  limits.push_back(next);  // below the first binade
  buckets.push_back(0);
  for (const auto& [exponent, count] : counts.binades) {
    for (; next <= exponent; ++next) {  // binades without elements, too: a bucket begins where the one before it ends
      limits.push_back(next + 1);
      buckets.push_back(next == exponent ? static_cast<double>(count) : 0);
    }
    number += static_cast<double>(count);
    sum += static_cast<double>(count) * exponent;
    squares += static_cast<double>(count) * exponent * exponent;
  }
  histogram.real(kLeast, limits.front());
  histogram.real(kMost, limits.back());
  histogram.real(kNumber, number);
  histogram.real(kSum, sum);
  histogram.real(kSumOfSquares, squares);
  histogram.reals(kBucketLimits, limits);
  histogram.reals(kBuckets, buckets);
  return histogram.bytes();
}

class EventsOfRun {
 public:
  explicit EventsOfRun(std::string folder) : folder_(std::move(folder)) {}

  void add(const Row& row, const Record::Place& place) {
    if (!status_) return;
    const Identity& identity = row.identity;
    const RowKind kind = row_kind(identity.op_type);
    const bool shares_name = kind != RowKind::kOfCall && kind != RowKind::kBuffer && kind != RowKind::kLoss;
    std::string name = (shares_name ? identity.op_type + "/" : "") + std::string(place.name) + "/" + identity.io + "." +
                       std::to_string(identity.slot);
    name = as_utf8(name);  // protocol buffers refuse a record with other texts
    name += ending_of(place, name);
    WireWriter summary;
    for (std::size_t i = 0; i < row.statistics.categories.size(); ++i) {
      WireWriter value;
      value.text(kTag, with_underscores(tensorstat::name(row.statistics.categories[i])) + "/" + name);
      if (const auto* exponents = std::get_if<Exponents>(&row.statistics.values[i])) {
        value.text(kHistogram, histogram_of(**exponents));
        ++written.histograms;
      } else if (const auto number = as_double(row.statistics.values[i])) {
        const auto single = static_cast<float>(*number);
        written.beyond_float32 += std::isfinite(*number) && (std::isinf(single) || (single == 0 && *number != 0));
        value.single(kSimpleValue, single);
        ++written.scalars;
      } else {
        continue;
      }
      summary.text(kValue, value.bytes());
    }
    WireWriter event;
    event.real(kWallTime, static_cast<double>(identity.timestamp_us) / 1e6);
    event.whole(kStep, place.iteration);
    event.text(kSummary, summary.bytes());
    keep(file_of(place.rank).add(event.bytes()));
    ++written.rows;
  }

  Status finish() {
    for (auto& [rank, file] : files_) keep(file.flush());
    written.files = files_.size();
    return status_;
  }

  EventsWritten written;

 private:
  // The calls of a tensor's name in one graph or execution.
  struct Calls {
    std::uint32_t graph;
    Execution execution;
    std::uint64_t iteration, count;  // of the iteration that was seen last
  };

  // A tag has one value in a step. So the second call of a name in an iteration ends in "#2". The first graph with this
  // name has no ending, and others have their number. Executions likewise.
  std::string ending_of(const Record::Place& place, const std::string& name) {
    std::vector<Calls>& all = calls_[place.rank][name];
    auto calls = std::ranges::find_if(
        all, [&](const Calls& each) { return each.graph == place.graph && each.execution == place.execution; });
    if (calls == all.end()) calls = all.insert(calls, {place.graph, place.execution, place.iteration, 0});
    if (calls->iteration != place.iteration) {
      calls->iteration = place.iteration;
      calls->count = 0;
    }
    std::string ending;
    if (calls->execution != all.front().execution) ending.append("/").append(tensorstat::name(calls->execution));
    if (calls->graph != all.front().graph) ending += "/graph." + std::to_string(calls->graph);
    if (++calls->count > 1) ending += "#" + std::to_string(calls->count);
    return ending;
  }

  void keep(Status status) {
    if (status_ && !status) status_ = std::move(status);
  }

  EventFile& file_of(std::uint32_t rank) {
    const auto entry = files_.find(rank);
    if (entry != files_.end()) return entry->second;
    const std::string folder = folder_ + "/rank_" + std::to_string(rank);
    std::error_code fault;
    fs::create_directory(folder, fault);
    if (fault) keep(Error{Code::kUnwritable, printable(folder) + ": cannot be made: " + fault.message()});
    return files_.try_emplace(rank, folder + "/events.out.tfevents.0.tensorstat").first->second;
  }

  const std::string folder_;
  std::map<std::uint32_t, EventFile> files_;
  std::map<std::uint32_t, std::unordered_map<std::string, std::vector<Calls>>> calls_;  // by rank and name
  Status status_;
};

}  // namespace

std::uint32_t crc32c_of(std::string_view bytes) {
  static constexpr auto kTable = crc32c_table();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

Result<EventsWritten> write_events(RunRows& rows, const std::string& path, const std::string& folder) {
  EventsOfRun events(folder);
  const Status read = rows.each([&](const Row& row, const Record::Place& place) { events.add(row, place); });
  if (!read) return read.error();
  if (events.written.rows == 0) return nothing_to_read(path);
  if (Status finished = events.finish(); !finished) return finished.error();
  return events.written;
}

}  // namespace tensorstat

// Reads tensors from files and has them measured: small ones many at a time, large ones in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/files/npy_reader.hpp"

namespace tensorstat::cli {

// What was found out about one file.
struct Entry {
  std::string path;
  Row row;
  std::span<const Decision> placement;  // good while the listener looks
  std::uint64_t device_bytes = 0;
};

class Survey {
 public:
  struct Listener {
    std::function<void(const Entry&)> measured;    // in the order of the files
    std::function<void(const Error&)> unreadable;  // the file; names it
    std::function<void(const std::string& path, const Error&)> unmeasured;  // what the engine says
    std::function<void(std::uint64_t bytes)> progressed;                    // read so far, of all files
  };

  Survey(Meter& meter, Request request, bool void_is_bfloat16, Listener listener);

  // Each file ends in one call of `measured`, `unreadable` or `unmeasured`, at the latest when
  // finish() returns. No more than a few dozen MiB of the files are held at any time (a large
  // Fortran-ordered one takes a window of 256 MiB when the order matters).
  void add(const std::string& path);
  void finish();

 private:
  struct Pending {
    Entry entry;
    std::vector<std::byte> bits;
    Tensor tensor;
  };

  Result<Measurements> measure_in_pieces(NpyReader& reader, Dtype dtype, NpyReader::View view,
                                         const Categories& categories);
  Status measure_alone(NpyReader& reader, Entry entry);
  void accept(Entry entry, const Measurement& measurement);
  void read(std::uint64_t bytes);

  Meter& meter_;
  const Request request_;
  const Original original_;
  const NpyReader::Order order_;
  const Listener listener_;
  std::vector<Pending> pending_;
  std::uint64_t pending_bytes_ = 0, read_bytes_ = 0;
};

}  // namespace tensorstat::cli

// Reads tensors from files and has them measured: small ones many at a time, large ones in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/survey/block_fold.hpp"
#include "stats/rows/names/dump_place.hpp"
#include "stats/survey/surveyed_tensor.hpp"
#include "stats/survey/host_place.hpp"
#include "stats/survey/small_tensors.hpp"
#include "stats/files/ascend/long_name.hpp"
#include "stats/files/tensor_source.hpp"

namespace tensorstat {

class Survey {
 public:
  struct Progress {
    std::size_t files = 0;    // opened
    std::size_t known = 0;    // tensors in these
    std::size_t tensors = 0;  // read
    std::uint64_t bytes = 0;  // read
  };

  struct Listener {
    std::function<void(SurveyedTensor&&)> measured;         // in the order of the files, and of the tensors in each
    std::function<void(const Error&)> unreadable;  // a file, or a tensor in it; names it
    std::function<void(const std::string& label, const Error&)> unmeasured;  // what the engine says
    std::function<void(const Progress&)> progressed;
  };

  struct Options {
    bool void_is_bfloat16 = false;  // of two-byte voids
    bool head_only = false;         // nothing is measured, and no element is read
    std::optional<RawTensor> raw = {};
    std::optional<By> by = {};      // a row for each of these, not for each tensor; it has no shape
    unsigned threads = 1;           // that read and fold; 0: one a core
  };

  Survey(Meter& meter, Request request, Options options, Listener listener);

  // Each tensor of the file, or the file itself, ends in one call of `measured`, `unreadable` or `unmeasured`, at the
  // latest when finish() returns. No more than a few dozen MiB of the files are held at any time (a large
  // Fortran-ordered one takes a window of 256 MiB when the order matters). `takes_stream`: see ReadOptions; for what a
  // user named, and not for what a walk through folders met.
  // `wanted`: only tensors of these names, which may hold * and ?; an error for each that is not there. Empty: all.
  void add(const std::string& path, bool takes_stream = false, const std::vector<std::string>& wanted = {});
  void finish();

 private:
  // Tensors that wait for others, and their elements.
  struct Batch {
    std::vector<SurveyedTensor> entries;
    std::vector<Tensor> tensors;
    std::vector<std::unique_ptr<std::byte[]>> blocks, large;
    std::size_t full_blocks = 0, in_block = 0;
    std::uint64_t bytes = 0;

    std::byte* room_for(std::size_t bytes);
  };

  SurveyedTensor entry_of(const std::string& path, const std::string& file_name, const TensorReader& reader);
  bool is_for_many(const TensorReader& reader);
  void add_to_chunk(SurveyedTensor&& entry, TensorReader&& reader);
  void end_chunks();
  void accept(SmallTensors::Chunk&& chunk);
  void add_tensor(SurveyedTensor&& entry, TensorReader&& reader);
  Result<Measurements> measure_in_pieces(TensorReader& reader, Dtype dtype, TensorReader::View view,
                                         const Categories& categories);
  Result<Measurements> stream_pieces(TensorReader& reader, Dtype dtype, TensorReader::View view,
                                     const Categories& categories);
  Status measure_alone(TensorReader& reader, SurveyedTensor entry);
  Status measure_in_blocks(const TensorReader& reader, SurveyedTensor entry);
  Status measure_rows(TensorReader& reader, const SurveyedTensor& entry);
  void accept(SurveyedTensor&& entry, const Measurement& measurement);
  void read(std::uint64_t bytes);

  Meter& meter_;
  const Request request_;
  const Options options_;
  const TensorReader::Order order_;
  const Listener listener_;
  const unsigned threads_;
  HostPlace host_;
  std::optional<BlockFold> in_blocks_;  // where the order of the elements does not matter
  SmallTensors many_;
  SmallTensors::Chunk chunk_;        // of the container that is read, in front of which nothing waits in pending_
  bool has_submitted_ = false;       // a chunk of this container
  FolderPlaces places_;
  std::unique_ptr<Batch> pending_ = std::make_unique<Batch>();
  Progress progress_;
  LongNames names_{[this](const Error& error) { listener_.unreadable(error); }};
};

}  // namespace tensorstat

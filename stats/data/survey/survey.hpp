// Reads tensors from files and measures them with a Meter, which must outlive it: small ones many at a time, large ones
// in pieces.
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

#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/data/rows/dump_json/dumped_calls.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/survey/block_fold.hpp"
#include "stats/data/survey/host_place.hpp"
#include "stats/data/survey/small_tensors.hpp"
#include "stats/data/survey/surveyed_tensor.hpp"

namespace tensorstat {

class Survey {
 public:
  struct Progress {
    std::size_t files = 0;    // opened
    std::size_t known = 0;    // tensors in these
    std::size_t tensors = 0;  // read
    std::uint64_t bytes = 0;  // read
  };

  using Line = std::function<std::string(const SurveyedTensor&)>;

  struct Listener {
    std::function<void(SurveyedTensor&&)> measured;  // called in the order of the files and of the tensors in
                                                     // each file
    // Optional. Makes SurveyedTensor::line of many small tensors: called by the threads that measure them, several at
    // once, and before `measured`.
    Line line = {};
    std::function<void(const Error&)> unreadable;                            // the error names the file or the tensor
    std::function<void(const std::string& label, const Error&)> unmeasured;  // an error of the engine
    std::function<void(const Progress&)> progressed;
  };

  struct Options {
    bool void_is_bfloat16 = false;  // two-byte voids are bfloat16
    bool head_only = false;         // read only headers; measure nothing
    std::optional<RawTensor> raw = {};
    std::optional<By> by = {};  // if set: a row for each part of a tensor; its shape is not read
    unsigned threads = 1;       // threads that read and fold; 0: one for each core
  };

  Survey(Meter& meter, Request request, Options options, Listener listener);

  // Each tensor of the file, or the file itself, causes one call of `measured`, `unreadable` or `unmeasured`, at the
  // latest before finish() returns. At most a few dozen MiB of the files are in memory (for a large Fortran-ordered
  // tensor a window of 256 MiB, if the order matters), beside pages of the system's cache that are mapped.
  // `takes_stream`: see ReadOptions; true only for paths that the user named.
  // `wanted`: only tensors of these names, which may hold * and ?; an error for each name that the file lacks. Empty:
  // all. `only`: of these the ones with these numbers; the first tensor of a file has number 0.
  struct Numbers {
    std::uint64_t first = 0, end = ~std::uint64_t{0};
  };
  void add(const std::string& path, bool takes_stream, const std::vector<std::string>& wanted, Numbers only);
  void add(const std::string& path, bool takes_stream = false, const std::vector<std::string>& wanted = {}) {
    add(path, takes_stream, wanted, {});
  }

  // Folds some elements of one tensor, which can_be_cut(). Calls `folded`, or reports the fault, before it returns.
  struct Piece {
    std::uint64_t tensor = 0;            // its number
    std::uint64_t first = 0, count = 0;  // elements; `first` is a multiple of kCutElements
  };
  using Folded = std::function<void(SurveyedTensor&&, std::uint64_t elements, Partial&&)>;  // `elements`: of the tensor
  void add_piece(const std::string& path, const Piece& piece, const Folded& folded);

  void finish();

 private:
  // Small tensors that are measured together, and their elements.
  struct Batch {
    std::vector<SurveyedTensor> entries;
    std::vector<Tensor> tensors;
    std::vector<std::unique_ptr<std::byte[]>> blocks, large;
    std::size_t full_blocks = 0, in_block = 0;
    std::uint64_t bytes = 0;

    std::byte* room_for(std::size_t bytes);
  };

  OpenedSource open(const std::string& path, const std::string& file_name, bool takes_stream);
  std::shared_ptr<const SurveyedFile> file_of(const std::string& path, const std::string& file_name,
                                              const TensorReader& first);
  bool is_for_many(const TensorReader& reader);
  std::vector<Decision> placement_of_piece(Dtype dtype);
  void add_to_chunk(SmallTensors::Item&& item);
  void end_chunks();
  bool place_on_host(SmallTensors::Chunk& chunk);
  void make_entry(SmallTensors::Item& item, const StatisticsView& statistics) const;
  void measure_pending();
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
  std::optional<BlockFold> in_blocks_;  // only if the order of the elements does not matter
  SmallTensors many_;
  SmallTensors::Chunk chunk_;   // of tensors behind those in pending_
  bool has_submitted_ = false;  // whether a chunk before it was submitted
  FolderPlaces places_;
  std::unique_ptr<Batch> pending_ = std::make_unique<Batch>();
  Progress progress_;
  LongNames names_{[this](const Error& error) { listener_.unreadable(error); }};
  DumpedCalls calls_{names_, [this](const Error& error) { listener_.unreadable(error); }};
};

// Parts of a tensor begin at a multiple of this many elements.
inline constexpr std::uint64_t kCutElements = 1024;

// Whether parts of the tensor can be folded for themselves, and merged: its bytes are stored as they are folded, and no
// digest is requested.
bool can_be_cut(const TensorReader& reader, const Request& request);

}  // namespace tensorstat

// The options of a plain call, `tensorstat FILE ...`. `plan`, `fold` and `merge` have some of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stats/show/cli/options/app.hpp"
#include "stats/show/cli/options/arguments.hpp"

namespace tensorstat::cli {

// On a terminal std and bars for the exponents replace count, which the shape already shows.
inline constexpr const char* kStatsByDefault =
    "max,min,avg,l2norm,count,nan count,negative inf count,positive inf count,zero count";
inline constexpr const char* kStatsOnScreen =
    "max,min,avg,std,l2norm,exponents,nan count,negative inf count,positive inf count,zero count";

class PlainOptions {
 public:
  // Groups of options.
  enum Use : unsigned {
    kFiles = 1,      // PATH, and how files are read
    kStats = 2,      // --stats
    kMeasures = 4,   // the statistics to measure
    kShows = 8,      // which rows are shown, and how
    kComputes = 16,  // where it is computed
    kLooks = 32,     // --head and --explain
    kAll = 63,
  };

  // Declares the options of these groups. `app` must outlive this object.
  void declare(App app, unsigned uses);

  // After parsing: the arguments. Options that were not declared have their defaults. Ends the parsing if they are
  // wrong (refuse). Call it once.
  Arguments take();

  // Whether the user gave the option.
  bool is_given(const std::string& option) const;

  const std::vector<std::string>& paths() const { return arguments_.paths; }
  std::string& output() { return arguments_.output; }

 private:
  void read_questions();  // --where, --fail-on, --sort and the like
  void read_raw();        // --dtype and --shape
  void read_by();

  std::optional<App> app_;
  Arguments arguments_;
  std::string stats_, device_, columns_, fail_on_, where_, sort_, by_, raw_dtype_, raw_shape_;
  std::uint64_t top_ = 0;
  std::optional<Format> format_;
};

// The format of a file with this name, by its extension: .csv, .json, .ndjson, .jsonl, .md or .txt.
std::optional<Format> format_by_extension(const std::string& output);

// Adds the further columns of a csv without which rows are alike: the index of --by, the scale of casts.
void add_telling_columns(Arguments& arguments);

}  // namespace tensorstat::cli

// The help, and texts that it shares with the man pages.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/show/cli/options/app.hpp"

namespace tensorstat::cli {

inline constexpr std::string_view kExamples =
    R"(  tensorstat weights.npy                          what is in it, at a glance
  tensorstat run/rank_0 --stats max,min,l2norm    every tensor below a directory
  tensorstat run --stats all -o statistic.csv     MindSpore's columns, for a spreadsheet
  tensorstat 'grad.*.npy' --format json | jq '.tensors[] | select(.stats["nan count"] > 0) | .path'
  tensorstat run --fail-on 'nan,inf,absmax>65504' && echo clean    exit status 1 where a tensor is not
  tensorstat run --where 'nan or absmax > 1000' --sort l2norm --top 20      the worst of a run
  tensorstat huge.npy --on device --budget 512M --explain
  tensorstat dump --config data_dump.json run     what MindSpore would have written of them
  tensorstat diff run_a run_b --first             which operator was the first to differ
  tensorstat origin run                           which operator made the first NaN or Inf
)";

struct Section {
  std::string heading, text;
};
std::vector<Section> sections();

// --help shows examples, the most needed options, and those that the examples use. --help-all shows every option and
// section.
class Help : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;

 private:
  std::string options(const CLI::App* app, std::string_view heading,
                      const std::function<bool(const CLI::Option*)>& is_shown) const;
  std::string usage(const CLI::App* app, const std::string& name) const;
};

}  // namespace tensorstat::cli

#include <algorithm>

#include "stats/job/dump/config/config_dialect.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {

void config(Input text) {
  std::size_t message_count = 0;
  Notices notices([&](Severity, std::string_view message) {
    ++message_count;
    demand_message(message, 6000);
  });
  const auto config = parse_config(text, {"/diagnostic", ""}, notices);
  demand(message_count <= 64, "a config is not answered with a flood");
  if (!config) return demand_message(config.error().message, 4000);

  demand(config->path.starts_with('/'), "the path is absolute");
  demand(config->path.find("..") == config->path.npos, "the path leads nowhere else");
  demand(!config->net_name.empty(), "there is a net_name");
  demand(config->text == text, "the text is kept");
  demand(!config->support_device || std::ranges::is_sorted(*config->support_device), "devices are in order");
  demand(config->op_debug_mode != DebugMode::kException || config->iteration.all(),
         "an exception is looked for in every step");
  for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
    demand(config->iteration.contains(step) || !config->iteration.all(), "all is every step");
  }
  demand(config->form != nullptr, "there is a form of output");
  if (config->operators == nullptr) return;
  static_cast<void>(config->operators->wants({"Conv2D", "Default/network-WithLossCell/conv1-Conv2d/Conv2D-op12"}));
  static_cast<void>(config->operators->unused());
}

}  // namespace tensorstat::fuzz

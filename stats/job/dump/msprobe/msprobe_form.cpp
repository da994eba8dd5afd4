#include "stats/job/dump/msprobe/msprobe_form.hpp"

#include <optional>
#include <string>
#include <utility>

#include "stats/job/dump/msprobe/msprobe_output.hpp"

namespace tensorstat {
namespace {

class MsprobeForm : public OutputForm {
 public:
  explicit MsprobeForm(MsprobeSettings settings) : settings_(std::move(settings)) {}

  Categories columns(const DumpConfig&, const DumpOptions&) const override {
    if (settings_.summary == Summary::kXor) return {};
    return {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm};
  }
  bool has_empty_tensors() const override { return true; }
  bool reads_bits(const DumpConfig& config) const override {
    const bool saves_tensors = settings_.saves_all_tensors || !settings_.tensor_list.empty();
    return saves_tensors || settings_.summary != Summary::kStatistics || OutputForm::reads_bits(config);
  }
  bool refuses_runs() const override { return true; }
  bool has_layouts() const override { return true; }
  std::unique_ptr<DumpOutput> open(const OutputContext& context) const override {
    return open_msprobe_output(settings_, context);
  }
  std::optional<std::string> folder(const DumpConfig& config, const DumpOptions&,
                                    const DumpPlace& place) const override {
    return msprobe_folder(config.path, place);
  }
  std::string tensor_folder() const override { return kMsprobeTensorFolder; }
  std::string rows_file() const override { return settings_.level == "debug" ? "debug.json" : "dump.json"; }
  bool can_append() const override { return false; }

 private:
  const MsprobeSettings settings_;
};

}  // namespace

std::shared_ptr<const OutputForm> msprobe_form(MsprobeSettings settings) {
  return std::make_shared<MsprobeForm>(std::move(settings));
}

}  // namespace tensorstat

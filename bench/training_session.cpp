#include "bench/training_session.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <tensorstat/dump.hpp>

#include "bench/contest.hpp"

namespace tensorstat::bench {
namespace {

class Folder {
 public:
  Folder() {
    std::string path = std::filesystem::temp_directory_path().string() + "/tensorstat-bench-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
    path_ = path;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string config(const std::string& path, const std::string& categories, bool enable) {
  return R"({"common_dump_settings": {"op_debug_mode": 0, "dump_mode": 0, "path": ")" + path +
         R"(", "net_name": "perceptron", "iteration": "all", "saved_data": "statistic",
             "input_output": 0, "kernels": [], "support_device": [0], "statistic_category": )" +
         categories + R"(}, "e2e_dump_settings": {"enable": )" + (enable ? "true" : "false") + R"(, "trans_flag": true}})";
}

// The folder outlives the session that writes into it.
struct Dump {
  Folder folder;
  DumpSession session;
  DumpPlace place;
};

}  // namespace

AfterStep dump_session(const std::string& categories, bool enable) {
  const auto dump = std::make_shared<Dump>();
  if (!categories.empty()) {
    dump->session = value(DumpSession::from_json(config(dump->folder.path(), categories, enable), {}));
  }
  const DumpOperator* op = dump->session.operator_named("MatMul", "Default/perceptron/MatMul-op0");
  return [dump, op, enable](std::span<const Tensor> tensors) {
    if (dump->session.wants(dump->place, op)) {
      std::vector<DumpTensor> outputs(tensors.size());
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        outputs[i].tensor = tensors[i];
        outputs[i].shape = {tensors[i].element_count};
        outputs[i].slot = static_cast<std::uint32_t>(i);
      }
      dump->session.collect(dump->place, op, outputs);
      dump->session.step_end(dump->place);
      const DumpCounters counters = dump->session.counters();
      if (counters.lost_row_count + counters.lost_tensor_count != 0 || (enable && counters.row_count == 0)) {
        throw std::runtime_error("the session lost rows");
      }
    }
    dump->place.iteration += 1;
  };
}

}  // namespace tensorstat::bench

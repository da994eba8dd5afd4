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
         categories + R"(}, "e2e_dump_settings": {"enable": )" + (enable ? "true" : "false") +
         R"(, "trans_flag": true}})";
}

}  // namespace

struct SessionOfOperators::Dump {
  Folder folder;  // declared first, so that it outlives the session
  DumpSession session;
  DumpPlace place;
  const DumpOperator* op = nullptr;
  bool must_have_rows = false;
};

SessionOfOperators::SessionOfOperators(const std::string& categories, bool enable) : dump_(std::make_shared<Dump>()) {
  if (!categories.empty()) {
    dump_->session = value(DumpSession::from_json(config(dump_->folder.path(), categories, enable), {}));
  }
  dump_->op = dump_->session.operator_named("MatMul", "Default/perceptron/MatMul-op0");
  dump_->must_have_rows = enable;
}

void SessionOfOperators::ran(std::span<const Tensor> made) {
  if (!dump_->session.wants(dump_->place, dump_->op)) return;
  std::vector<DumpTensor> outputs(made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    outputs[i].tensor = made[i];
    outputs[i].shape = {made[i].element_count};
    outputs[i].slot = static_cast<std::uint32_t>(i);
  }
  dump_->session.collect(dump_->place, dump_->op, outputs);
}

void SessionOfOperators::step_end() {
  if (dump_->session.wants(dump_->place, dump_->op)) {
    dump_->session.step_end(dump_->place);
    const DumpCounters counters = dump_->session.counters();
    if (counters.lost_row_count + counters.lost_tensor_count != 0 ||
        (dump_->must_have_rows && counters.row_count == 0)) {
      throw std::runtime_error("the session lost rows");
    }
  }
  dump_->place.iteration += 1;
}

AfterStep dump_session(const std::string& categories, bool enable) {
  return [session = SessionOfOperators(categories, enable)](std::span<const Tensor> tensors) mutable {
    session.ran(tensors);
    session.step_end();
  };
}

}  // namespace tensorstat::bench

// The cost of measuring in a training job. The job is a small perceptron: three layers of 512, batches of 256, Eigen's
// matrix products on one thread. A step runs bare, or with all weights, gradients and activations measured after it, or
// with each tensor measured after its operator. On a machine with faster arithmetic relative to its memory the cost is
// a larger share.
#include "bench/peers/peer.hpp"

#ifdef TENSORSTAT_BENCH_EIGEN
#include <Eigen/Core>
#include <array>
#include <initializer_list>

#include "bench/training_session.hpp"

namespace tensorstat::bench {
namespace {

constexpr Eigen::Index kWidth = 512, kBatch = 256;
constexpr std::size_t kLayers = 3;

class Network {
 public:
  Network() {
    std::srand(1);  // Eigen uses rand()
    for (auto& weights : weights_) weights = Eigen::MatrixXf::Random(kWidth, kWidth) * 0.05F;
    activations_[0] = Eigen::MatrixXf::Random(kWidth, kBatch);
  }

  // Forward, backward towards an output of 0, and a small step down the gradient. Calls `ran` with each operator's
  // outputs.
  template <typename Ran>
  void step(const Ran& ran) {
    for (std::size_t i = 0; i < kLayers; ++i) {
      activations_[i + 1].noalias() = weights_[i] * activations_[i];
      activations_[i + 1] = activations_[i + 1].cwiseMax(0.0F);
      ran({tensor(activations_[i + 1])});
    }
    Eigen::MatrixXf error = activations_[kLayers], before;
    for (std::size_t i = kLayers; i-- > 0;) {
      error = (activations_[i + 1].array() > 0.0F).select(error, 0.0F);
      gradients_[i].noalias() = error * activations_[i].transpose();
      before.noalias() = weights_[i].transpose() * error;
      error.swap(before);
      weights_[i] -= 1e-6F * gradients_[i];
      ran({tensor(gradients_[i]), tensor(weights_[i])});
    }
  }

  std::vector<Tensor> tensors() const {
    std::vector<Tensor> all;
    for (const auto& each : weights_) all.push_back(tensor(each));
    for (const auto& each : gradients_) all.push_back(tensor(each));
    for (const auto& each : activations_) all.push_back(tensor(each));
    return all;
  }

 private:
  static Tensor tensor(const Eigen::MatrixXf& matrix) {
    return {.element_count = static_cast<std::uint64_t>(matrix.size()), .address = matrix.data()};
  }

  std::array<Eigen::MatrixXf, kLayers> weights_, gradients_;
  std::array<Eigen::MatrixXf, kLayers + 1> activations_;
};

void enter_step(const std::string& name, std::function<AfterStep()> prepare) {
  enter("training", name, 0, 0, [prepare = std::move(prepare)] {
    return Contestant{[after = prepare(), network = std::make_shared<Network>()] {
      network->step([](std::initializer_list<Tensor>) {});
      after(network->tensors());
    }};
  });
}

// Hands over tensors as a backend does: each operator's outputs when it has run.
void enter_operators(const std::string& name, const std::string& categories, bool enable) {
  enter("training", name, 0, 0, [=] {
    return Contestant{
        [session = SessionOfOperators(categories, enable), network = std::make_shared<Network>()]() mutable {
          network->step([&](std::initializer_list<Tensor> made) { session.ran({made.begin(), made.size()}); });
          session.step_end();
        }};
  });
}

AfterStep measure_on(const Lane& lane, const char* categories) {
  return
      [lane, request = Request{.categories = value(categories_from(categories)), .on = lane.on}](
          std::span<const Tensor> tensors) { benchmark::DoNotOptimize(value(meter(lane).measure(tensors, request))); };
}

}  // namespace

void enter_training() {
  const auto nothing = [](std::span<const Tensor>) {};
  const auto with_mindspore = [](std::span<const Tensor> tensors) {
    for (const Tensor& each : tensors) benchmark::DoNotOptimize(mindspore(each));
  };
  enter_step("limit:bare", [=] { return nothing; });
  for (const Lane& lane : kLanes) {
    enter_step(std::string("tensorstat:") + lane.name, [=] { return measure_on(lane, kTen); });
  }
  enter_step("tensorstat:all:md5", [] { return measure_on(kLanes[1], "all"); });
  enter_step("session:off", [] { return dump_session(""); });
  const std::pair<const char*, const char*> columns[] = {
      {"statistics", R"(["max", "min", "avg", "l2norm", "nan count"])"},
      {"statistics + md5", R"(["max", "min", "avg", "l2norm", "nan count", "md5"])"}};
  for (const auto& [name, categories] : columns) {
    for (const bool enable : {true, false}) {
      const std::string contestant = std::string("session:") + name + (enable ? "" : ", asynchronous");
      enter_step(contestant, [=] { return dump_session(categories, enable); });
      enter_operators(contestant + ", by operator", categories, enable);
    }
  }
  enter_step("peer:mindspore", [=] { return with_mindspore; });
}

}  // namespace tensorstat::bench
#else
namespace tensorstat::bench {
void enter_training() {}
}  // namespace tensorstat::bench
#endif

#include "stats/job/dump/mindspore/kernel_choice.hpp"

#include <utility>

namespace tensorstat {
namespace {

class KernelChoice : public OperatorChoice {
 public:
  KernelChoice(OperatorFilter kernels, std::string key) : kernels_(std::move(kernels)), key_(std::move(key)) {}
  bool wants(const AskedOperator& op) const override {
    return op.is_escaped ? kernels_.wants_escaped(op.type, op.name) : kernels_.wants(op.name);
  }
  std::vector<std::string> unused() const override {
    auto entries = kernels_.unused();
    for (std::string& entry : entries) entry = "the entry " + entry + " of " + key_;
    return entries;
  }

 private:
  const OperatorFilter kernels_;
  const std::string key_;
};

}  // namespace

std::shared_ptr<const OperatorChoice> kernel_choice(OperatorFilter kernels, std::string key) {
  return std::make_shared<KernelChoice>(std::move(kernels), std::move(key));
}

}  // namespace tensorstat

#include "kernels-cl/launch/context_set.hpp"

#include <algorithm>
#include <utility>

namespace tensorstat::cl_engine {

Result<std::shared_ptr<QueueContext>> ContextSet::of(const Tensor& tensor) {
  if (tensor.where != Where::kClBuffer) return home_;
  if (home_->forked()) return Error{Code::kDevice, "the process has forked since the device was opened"};
  cl_context context = nullptr;
  const cl_int code = clGetMemObjectInfo(static_cast<cl_mem>(const_cast<void*>(tensor.address)), CL_MEM_CONTEXT,
                                         sizeof context, &context, nullptr);
  if (code != CL_SUCCESS) return error("asking a tensor for its context", "clGetMemObjectInfo", code);
  if (context == home_->context()()) return home_;
  std::shared_ptr<QueueContext> retired;  // goes when the lock is gone
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(others_, [&](const auto& each) { return each->context()() == context; });
  if (known != others_.end()) {
    std::rotate(known, known + 1, others_.end());
    return others_.back();
  }
  auto opened = QueueContext::open_in(cl::Context(context, true), home_->device().device, ledger_);
  if (!opened) return opened.error();
  if (others_.size() == kMost) {
    retired = std::move(others_.front());
    others_.erase(others_.begin());
  }
  others_.push_back(*std::move(opened));
  return others_.back();
}

}  // namespace tensorstat::cl_engine

#include "kernels-cl/launch/context_set.hpp"

#include <algorithm>
#include <utility>

namespace tensorstat::cl_engine {

Result<cl_context> context_of(const Tensor& tensor, KnownBuffer& known) {
  known.look_at(tensor.address);
  if (known.context != nullptr) return static_cast<cl_context>(known.context);
  cl_context context = nullptr;
  const cl_int code = clGetMemObjectInfo(static_cast<cl_mem>(const_cast<void*>(tensor.address)), CL_MEM_CONTEXT,
                                         sizeof context, &context, nullptr);
  if (code != CL_SUCCESS) return error("asking a tensor for its context", "clGetMemObjectInfo", code);
  known.context = context;
  return context;
}

Status check_context(const QueueContext& queue_context, const Tensor& tensor, KnownBuffer& known) {
  if (tensor.where != Where::kClBuffer || tensor.element_count == 0) return {};
  const auto context = context_of(tensor, known);
  if (!context) return context.error();
  if (*context == queue_context.context()()) return {};
  return Error{Code::kUnsupported, "the tensor is in another OpenCL context than the queue"};
}

Result<std::shared_ptr<QueueContext>> ContextSet::of(const Tensor& tensor, KnownBuffer& known) {
  if (tensor.where != Where::kClBuffer) return home_;
  if (home_->forked()) return QueueContext::forked_error();
  const auto known_context = context_of(tensor, known);
  if (!known_context) return known_context.error();
  const cl_context context = *known_context;
  if (context == home_->context()()) return home_;
  std::shared_ptr<QueueContext> retired;  // goes when the lock is gone
  const std::lock_guard lock(mutex_);
  const auto other = std::ranges::find_if(others_, [&](const auto& each) { return each->context()() == context; });
  if (other != others_.end()) {
    std::rotate(other, other + 1, others_.end());
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

Result<std::shared_ptr<QueueContext>> ContextSet::of(std::span<const Tensor> tensors, KnownBuffers& known) {
  if (tensors.size() == 1) return of(tensors[0], known[0]);
  auto of_a = of(tensors[0], known[0]), of_b = of(tensors[1], known[1]);
  if (!of_a || !of_b || *of_a == *of_b) return of_a ? of_b : of_a;
  const bool a_is_buffer = tensors[0].where == Where::kClBuffer;
  if (a_is_buffer && tensors[1].where == Where::kClBuffer) {
    return Error{Code::kUnsupported, "its two tensors are in two OpenCL contexts"};
  }
  const auto& context = a_is_buffer ? *of_a : *of_b;
  // Shared virtual memory belongs to one context, unless the device follows any pointer.
  const bool shares = tensors[a_is_buffer ? 1 : 0].where == Where::kSharedMemory;
  if (shares && !context->device().follows_any_pointer()) {
    return Error{Code::kUnsupported, "one of its tensors is in shared virtual memory of another OpenCL context"};
  }
  return context;
}

}  // namespace tensorstat::cl_engine

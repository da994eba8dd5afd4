#include "stats/core/meter/tensor/host_window.hpp"

#include <utility>

#include "stats/core/base/abandon.hpp"

namespace tensorstat {

Result<Tensor> HostWindow::part(const Tensor& tensor, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t first_byte = bytes_of(tensor.dtype, first);
  Tensor slice{.dtype = tensor.dtype, .element_count = count};
  if (is_readable_by_cpu(tensor.where) && tensor.strides == nullptr) {
    slice.address = tensor.data() + first_byte;
    return slice;
  }
  if (is_in_gpu_memory(tensor.where)) {
    if (!lane_) {
      auto lent = meter_.lanes.lend(tensor);
      if (!lent) return lent.error();
      lane_ = *std::move(lent);
    }
    return lane_->part(tensor, first, count);
  }
  bytes_->resize(slice.bytes());
  slice.address = bytes_->data();
  if (tensor.strides != nullptr) {
    meter_.host->gather(tensor, first, *bytes_);
    return slice;
  }
  if (Status status = meter_.read_device(tensor, first_byte, *bytes_); !status) {
    if (status.error().code == Code::kInUse) abandon(std::move(bytes_));  // the device may still write to it
    return status.error();
  }
  return slice;
}

}  // namespace tensorstat

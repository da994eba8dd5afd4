#include "stats/job/dump/output/saved_tensor.hpp"

namespace tensorstat {

NpyContent content_of(const PendingTensor& tensor, std::span<const std::byte> bytes) {
  NpyContent content{npy_descr(tensor.tensor.dtype), tensor.shape, Widening::kNone, bytes};
  switch (tensor.stored) {
    case Stored::kPlain:
      if (tensor.tensor.dtype == Dtype::kBfloat16) content.widening = Widening::kBfloat16;
      break;
    case Stored::kInt4:
      content.descr = npy_descr(Dtype::kInt8);
      content.widening = Widening::kInt4;
      break;
    case Stored::kUint1:
      content.widening = Widening::kUint1;
      break;
    case Stored::kComplex64:
    case Stored::kComplex128:
      break;
  }
  return content;
}

}  // namespace tensorstat

// DLPack's structs, as in its specification (dlpack.h, versions 0.x and 1.x), without members that are not read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorstat {

struct DlDevice {
  std::int32_t type, id;
};
struct DlDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
// Equal in all versions.
struct DlTensor {
  const void* data;
  DlDevice device;
  std::int32_t dimension_count;
  DlDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: contiguous
  std::uint64_t byte_offset;
};

// The content of a capsule named "dltensor".
struct DlManagedTensor {
  DlTensor tensor;
  void* owner;
  void (*deleter)(DlManagedTensor*);
};
// The content of a capsule named "dltensor_versioned". For another major version, only `major` and `minor` are valid.
struct DlManagedTensorVersioned {
  std::uint32_t major, minor;
  void* owner;
  void (*deleter)(DlManagedTensorVersioned*);
  std::uint64_t flags;
  DlTensor tensor;
};
static_assert(sizeof(void*) != 8 || (offsetof(DlTensor, shape) == 24 && sizeof(DlTensor) == 48 &&
                                     offsetof(DlManagedTensorVersioned, tensor) == 32));

}  // namespace tensorstat

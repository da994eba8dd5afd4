// DLPack's struct, as in its specification.
#pragma once

#include <cstdint>

namespace tensorstat::test {

struct DlTensor {
  const void* data = nullptr;
  std::int32_t device_type = 0, device_id = 0, dimension_count = 0;
  std::uint8_t code = 0, bits = 0;
  std::uint16_t lanes = 0;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;
  std::uint64_t byte_offset = 0;
};

}  // namespace tensorstat::test

// DLPack's struct, as in its specification.
#pragma once

#include "stats/core/meter/tensor/dlpack_structs.hpp"

namespace tensorstat::test {

using tensorstat::DlTensor;

}  // namespace tensorstat::test

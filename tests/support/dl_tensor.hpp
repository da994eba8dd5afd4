// DLPack's struct, as in its specification.
#pragma once

#include "stats/meter/tensor/dlpack_structs.hpp"

namespace tensorstat::test {

using tensorstat::DlTensor;

}  // namespace tensorstat::test

#include "stats/attach/below.hpp"

namespace tensorstat::attach {

cl_icd_dispatch below{};

}  // namespace tensorstat::attach

// What tensorstat::core calls. exported.map keeps these names inside the layer.
#define FORWARD(result, name, parameters, arguments) \
  extern "C" CL_API_ENTRY result CL_API_CALL name parameters { return tensorstat::attach::below.name arguments; }
#include "stats/attach/forwarded.inc"
#undef FORWARD

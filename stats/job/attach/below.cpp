#include "stats/job/attach/below.hpp"

namespace tensorstat::attach {

cl_icd_dispatch below{};

}  // namespace tensorstat::attach

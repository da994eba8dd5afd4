#include <string>

#include "stats/bindings/python/native/views.hpp"

namespace tensorstat::python {

std::int32_t dtype_number(const std::string& name, const char* what) {
  const std::int32_t number = tensorstat_dtype_named(name.c_str());
  if (number < 0) {
    std::string known;
    for (std::int32_t i = 0; tensorstat_dtype_name(i) != nullptr; ++i) {
      known += (i == 0 ? "" : ", ") + std::string(tensorstat_dtype_name(i));
    }
    raise(TENSORSTAT_UNSUPPORTED,
          std::string(what) + " of " + name + " cannot be measured; cast it first. Known are " + known);
  }
  return number;
}

std::int32_t dtype_of_object(const std::string& name, const char* what, const char* readable) {
  const std::int32_t number = dtype_number(name, what);
  if (number < 0 || tensorstat_dtype_elements_a_byte(number) == 1) return number;
  raise(TENSORSTAT_UNSUPPORTED, std::string(what) + " of " + name +
                                    " has a byte for each element, which cannot be measured; " + readable +
                                    " makes it readable");
  return -1;
}

}  // namespace tensorstat::python

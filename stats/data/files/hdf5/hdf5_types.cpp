#include "stats/data/files/hdf5/hdf5_types.hpp"

#include <string_view>
#include <utility>

namespace tensorstat {
namespace {

class Hdf5Types {
 public:
  explicit Hdf5Types(const Hdf5Library& library) : hdf5_(library) {}

  Result<Dtype> dtype_of(hid_t type) const {
    switch (hdf5_.H5Tget_class_(type)) {
      case H5T_INTEGER:
        return integer(type);
      case H5T_FLOAT:
        return real(type);
      case H5T_ENUM:
        return enumeration(type);
      case H5T_COMPOUND:
        return complex(type);
      case H5T_STRING:
        return Error{Code::kNoNumbers, "holds texts, which have no statistics"};
      case H5T_VLEN:
        return hdf5_unsupported("holds lists of any length, which are not read");
      case H5T_ARRAY:
        return hdf5_unsupported("holds arrays as elements, which are not read");
      case H5T_REFERENCE:
        return Error{Code::kNoNumbers, "holds references, which have no statistics"};
      default:
        return hdf5_unsupported("has a type that is not read");
    }
  }

 private:
  Result<Dtype> integer(hid_t type) const {
    const std::size_t size = hdf5_.H5Tget_size_(type);
    const bool is_signed = hdf5_.H5Tget_sign_(type) == H5T_SGN_2;
    if (hdf5_.H5Tget_precision_(type) != 8 * size || hdf5_.H5Tget_offset_(type) != 0) {
      return hdf5_unsupported("holds integers that do not fill their bytes, which are not read");
    }
    switch (size) {
      case 1:
        return is_signed ? Dtype::kInt8 : Dtype::kUint8;
      case 2:
        return is_signed ? Dtype::kInt16 : Dtype::kUint16;
      case 4:
        return is_signed ? Dtype::kInt32 : Dtype::kUint32;
      case 8:
        return is_signed ? Dtype::kInt64 : Dtype::kUint64;
      default:
        return hdf5_unsupported("holds integers of " + std::to_string(size) + " bytes, which are not read");
    }
  }

  Result<Dtype> real(hid_t type) const {
    struct Layout {
      std::size_t sign, exponent, exponent_bits, mantissa, mantissa_bits, bias, bytes;
      bool operator==(const Layout&) const = default;
    };
    constexpr std::pair<Layout, Dtype> kLayouts[] = {{{31, 23, 8, 0, 23, 127, 4}, Dtype::kFloat32},
                                                     {{63, 52, 11, 0, 52, 1023, 8}, Dtype::kFloat64},
                                                     {{15, 10, 5, 0, 10, 15, 2}, Dtype::kFloat16},
                                                     {{15, 7, 8, 0, 7, 127, 2}, Dtype::kBfloat16}};
    Layout fields = {};
    hdf5_.H5Tget_fields_(type, &fields.sign, &fields.exponent, &fields.exponent_bits, &fields.mantissa,
                         &fields.mantissa_bits);
    fields.bias = hdf5_.H5Tget_ebias_(type);
    const bool is_ieee = hdf5_.H5Tget_norm_(type) == H5T_NORM_IMPLIED;  // the first bit of the mantissa is not stored
    fields.bytes = hdf5_.H5Tget_size_(type);
    for (const auto& [layout, dtype] : kLayouts) {
      if (is_ieee && layout == fields) return dtype;
    }
    return hdf5_unsupported("holds floats of " + std::to_string(8 * fields.bytes) +
                            " bits of a layout that is not read");
  }

  // h5py's bool is an enumeration of a byte with FALSE = 0 and TRUE = 1. Any other one is read as its numbers.
  Result<Dtype> enumeration(hid_t type) const {
    if (is_boolean(type)) return Dtype::kBool;
    const Hdf5Id numbers(hdf5_.H5Tget_super_(type), hdf5_.H5Tclose_);
    if (!numbers || hdf5_.H5Tget_class_(numbers.get()) != H5T_INTEGER) {
      return hdf5_unsupported("holds an enumeration of what is no integer, which is not read");
    }
    return integer(numbers.get());
  }

  bool is_boolean(hid_t type) const {
    if (hdf5_.H5Tget_size_(type) != 1 || hdf5_.H5Tget_nmembers_(type) != 2) return false;
    for (const auto& [name, value] : {std::pair("FALSE", 0), {"TRUE", 1}}) {
      bool has_member = false;
      for (unsigned i = 0; i < 2; ++i) {
        signed char number = -1;
        has_member |= is_member(type, i, name) && hdf5_.H5Tget_member_value_(type, i, &number) >= 0 && number == value;
      }
      if (!has_member) return false;
    }
    return true;
  }

  // h5py's complex: the members r and i.
  Result<Dtype> complex(hid_t type) const {
    if (hdf5_.H5Tget_nmembers_(type) == 2 && is_member(type, 0, "r") && is_member(type, 1, "i")) {
      const Hdf5Id r(hdf5_.H5Tget_member_type_(type, 0), hdf5_.H5Tclose_),
          i(hdf5_.H5Tget_member_type_(type, 1), hdf5_.H5Tclose_);
      const auto of_r = hdf5_.H5Tget_class_(r.get()) == H5T_FLOAT ? real(r.get()) : Dtype::kBool;
      const auto of_i = hdf5_.H5Tget_class_(i.get()) == H5T_FLOAT ? real(i.get()) : Dtype::kBool;
      const std::size_t size = hdf5_.H5Tget_size_(type);
      if (of_r && of_i && *of_r == *of_i && hdf5_.H5Tget_member_offset_(type, 1) * 2 == size) {
        if (*of_r == Dtype::kFloat32 && size == 8) return Dtype::kComplex64;
        if (*of_r == Dtype::kFloat64 && size == 16) return Dtype::kComplex128;
      }
    }
    return hdf5_unsupported("holds structures, which are not read");
  }

  bool is_member(hid_t type, unsigned number, std::string_view name) const {
    char* const member = hdf5_.H5Tget_member_name_(type, number);
    const bool is_equal = member != nullptr && name == member;
    if (member != nullptr) hdf5_.H5free_memory_(member);
    return is_equal;
  }

  const Hdf5Library& hdf5_;
};

}  // namespace

std::vector<std::string> hdf5_members(const Hdf5Library& hdf5, hid_t type) {
  std::vector<std::string> members;
  if (hdf5.H5Tget_class_(type) != H5T_COMPOUND || Hdf5Types(hdf5).dtype_of(type)) return members;
  const int count = hdf5.H5Tget_nmembers_(type);
  for (int i = 0; i < count; ++i) {
    char* const name = hdf5.H5Tget_member_name_(type, static_cast<unsigned>(i));
    if (name == nullptr) continue;
    members.emplace_back(name);
    hdf5.H5free_memory_(name);
  }
  return members;
}

hid_t hdf5_member_type(const Hdf5Library& hdf5, hid_t type, const std::string& member) {
  const int count = hdf5.H5Tget_nmembers_(type);
  for (int i = 0; i < count; ++i) {
    char* const name = hdf5.H5Tget_member_name_(type, static_cast<unsigned>(i));
    const bool is_this = name != nullptr && member == name;
    if (name != nullptr) hdf5.H5free_memory_(name);
    if (is_this) return hdf5.H5Tget_member_type_(type, static_cast<unsigned>(i));
  }
  return -1;
}

bool hdf5_holds_members(const Hdf5Library& hdf5, hid_t type) {
  if (hdf5.H5Tget_class_(type) != H5T_COMPOUND) return true;
  const std::size_t size = hdf5.H5Tget_size_(type);
  const int count = hdf5.H5Tget_nmembers_(type);
  for (int i = 0; i < count; ++i) {
    const Hdf5Id member(hdf5.H5Tget_member_type_(type, static_cast<unsigned>(i)), hdf5.H5Tclose_);
    if (!member || !hdf5_holds_members(hdf5, member.get())) return false;
    const std::size_t offset = hdf5.H5Tget_member_offset_(type, static_cast<unsigned>(i));
    if (offset > size || hdf5.H5Tget_size_(member.get()) > size - offset) return false;
  }
  return true;
}

Result<Dtype> hdf5_dtype(const Hdf5Library& hdf5, hid_t type) { return Hdf5Types(hdf5).dtype_of(type); }

}  // namespace tensorstat

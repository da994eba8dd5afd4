// Number `k` of the elements of a byte, unpacked. Included once a dtype.
constexpr std::uint8_t NAME(unpacked)(std::uint32_t code, std::uint32_t k) {
  (void)k;
  return static_cast<std::uint8_t>(UNPACKED(code, k));
}

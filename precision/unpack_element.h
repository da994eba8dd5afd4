// Element `k` of a byte, unpacked. Included once for each dtype.
constexpr UBITS unpacked(std::uint32_t code, std::uint32_t k) {
  (void)k;
  return static_cast<UBITS>(UNPACKED(code, k));
}

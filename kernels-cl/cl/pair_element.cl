// Element i of a tensor of DTYPE, as a number.
INLINE void NAME(element)(number* to, global const u8* tensor, u64 i) {
  const UBITS bits = ((global const UBITS*)tensor)[i];
  NAME(unpack_into)(to, (const private u8*)&bits);
}

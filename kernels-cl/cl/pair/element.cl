// Reads element i of a tensor of DTYPE as a number.
#include UNPACK_TEXT
#if IS_FLOAT && BITS == 32
#define HAS_FLOAT32
#endif
INLINE void NAME(element)(number* to, global const u8* tensor, u64 i) {
  const UBITS bits = ((global const UBITS*)tensor)[i];
  NAME(unpack_into)(to, (const private u8*)&bits);
}
#ifdef PAIR_FOLDS
#include "kernels-cl/cl/pair/stage.cl"
#endif

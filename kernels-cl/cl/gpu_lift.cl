// One element into the shared partial: rare, and taken from many places, so out of line where the
// compiler bears it. That of pocl 3.1 dies in its inliner over a kernel with barriers and atomics.
#ifdef ON_CPU
INLINE
#else
NOINLINE
#endif
void lift_one(local i64* partial, UBITS element) {
  // The others are a lane's, or counted beside (gpu_elements.cl).
  lift(partial, (const private u8*)&element, 1, NEEDS & ~(NEED_ELEMENTS | NEED_EXPONENTS));
}

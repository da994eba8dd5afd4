// One element into the shared partial: rare, and taken from many places, so out of line where the
// compiler bears it. That of pocl 3.1 dies in its inliner over a kernel with barriers and atomics.
#ifdef ON_CPU
INLINE
#else
NOINLINE
#endif
void lift_one(local i64* partial, UBITS element) {
  NAME(lift)(partial, (const private u8*)&element, NEEDS & ~NEED_ELEMENTS);  // those are a lane's (gpu_elements.cl)
}

// Lifts one element into the shared partial. This is rare and has many callers, so it is not inlined. On a CPU it is: the
// inliner of pocl 3.1 crashes on such a function in a kernel with barriers and atomics.
#ifdef ON_CPU
INLINE
#else
NOINLINE
#endif
void lift_one(local i64* partial, UBITS element) {
  // gpu_elements.cl counts the rest.
  lift(partial, (const private u8*)&element, 1, NEEDS & ~(NEED_ELEMENTS | NEED_EXPONENTS));
}

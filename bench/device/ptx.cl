// Defines the OpenCL C functions of the kernels with clang's builtins for nvptx64, so that they compile to PTX without
// libclc or any header. `bench/gpu --pack` puts this text first.
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;
typedef short short2 __attribute__((ext_vector_type(2)));
typedef ushort ushort2 __attribute__((ext_vector_type(2)));
typedef uint uint4 __attribute__((ext_vector_type(4)));
typedef ulong ulong2 __attribute__((ext_vector_type(2)));
#define as_double(x) __builtin_astype((x), double)
#define as_long(x) __builtin_astype((x), long)
#define as_ulong(x) __builtin_astype((x), ulong)
#define as_ulong2(x) __builtin_astype((x), ulong2)
#define as_float(x) __builtin_astype((x), float)
#define as_uint(x) __builtin_astype((x), uint)
#define as_short2(x) __builtin_astype((x), short2)
#define as_ushort2(x) __builtin_astype((x), ushort2)
#define fma(a, b, c) __builtin_fma(a, b, c)
#define fabs(x) __builtin_fabs(x)
#define fmax(a, b) __builtin_fmax(a, b)
#define fmin(a, b) __builtin_fmin(a, b)
#define max(a, b) __builtin_elementwise_max(a, b)
#define min(a, b) __builtin_elementwise_min(a, b)
#define popcount(x) ((uint)__builtin_popcount(x))
#define clz(x) ((x) == 0 ? 64 : __builtin_clzl(x))
#define get_local_id(axis) ((size_t)__nvvm_read_ptx_sreg_tid_x())
#define get_group_id(axis) ((size_t)__nvvm_read_ptx_sreg_ctaid_x())
#define get_local_size(axis) ((size_t)__nvvm_read_ptx_sreg_ntid_x())
#define CLK_LOCAL_MEM_FENCE 1
#define barrier(fence) __syncthreads()
#define OVERLOADED static inline __attribute__((overloadable, always_inline))

#define ATOMIC(name, space, state, type, operation, constraint)                                                 \
  OVERLOADED type name(volatile space type* word, type value) {                                                 \
    type before;                                                                                                \
    __asm__ volatile("atom." state "." operation " %0, [%1], %2;"                                               \
                     : "=" constraint(before) : "l"((size_t)word), constraint(value) : "memory");               \
    return before;                                                                                              \
  }
ATOMIC(atom_add, global, "global", long, "add.u64", "l")
ATOMIC(atom_max, global, "global", long, "max.s64", "l")
ATOMIC(atom_max, global, "global", ulong, "max.u64", "l")
ATOMIC(atom_add, local, "shared", long, "add.u64", "l")
ATOMIC(atom_max, local, "shared", long, "max.s64", "l")
ATOMIC(atomic_max, local, "shared", uint, "max.u32", "r")
ATOMIC(atomic_add, local, "shared", uint, "add.u32", "r")
ATOMIC(atomic_add, global, "global", uint, "add.u32", "r")
#define atomic_inc(word) atomic_add(word, 1u)
ATOMIC(atomic_xor, local, "shared", uint, "xor.b32", "r")

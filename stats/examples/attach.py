# A program that knows nothing of tensorstat: tensorstat attach -- python3 attach.py
import numpy as np
import pyopencl as cl

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, """
    typedef float real;
    kernel void scale(global const real* a, global real* b) { size_t i = get_global_id(0); b[i] = 2 * a[i]; }
    kernel void root(global float* b, global const float* a) { size_t i = get_global_id(0); b[i] = sqrt(a[i]); }
    kernel void add(global float4* b, global const float4* a, float x) { size_t i = get_global_id(0); b[i] = a[i] + x; }
    """).build()
values = np.random.default_rng(0).standard_normal(4096).astype(np.float32)
flags = cl.mem_flags
given = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=values)
scaled, roots, sums = (cl.Buffer(context, flags.READ_WRITE, values.nbytes) for _ in range(3))
program.scale(queue, values.shape, None, given, scaled)
program.root(queue, values.shape, None, roots, scaled)
program.add(queue, (values.size // 4,), None, sums, roots, np.float32(1))
result = np.empty_like(values)
cl.enqueue_copy(queue, result, sums)
print(np.isnan(result).sum(), "NaN")

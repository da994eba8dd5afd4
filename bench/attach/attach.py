"""What `tensorstat attach` costs a program: bench/attach/attach.py COMMAND [ROUNDS [PEER]]

Programs run alone, with the layer and nothing wanted (--kernels none), and with everything measured, one after another in each
round. Each prints the seconds of its own loop, without start-up. Ratios are medians over rounds, with the least and the greatest.
Needs PyOpenCL and a device.

PEER is the libOpenCL.so of opencl-intercept-layer, which can dump the arguments of each launch. NumPy then counts what attach
counts. Both are the processors' seconds of whole processes, less those of the program alone."""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

# What a launch reads and writes, in buffers of `size` bytes, and what is measured of it: what it writes.
PROGRAM = r'''
import sys, time
import numpy as np, pyopencl as cl
size, launches = int(sys.argv[1]), int(sys.argv[2])
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, """
kernel void axpy(global const float4* x, global const float4* y, global float4* z, float a) {
  size_t i = get_global_id(0) * 64;
  for (int k = 0; k < 64; ++k) z[i + k] = a * x[i + k] + y[i + k];
}""").build()
flags = cl.mem_flags
x, y, z = (cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=np.ones(size // 4, np.float32)) for _ in range(3))
axpy = cl.Kernel(program, "axpy")
axpy.set_args(x, y, z, np.float32(0.5))
work = (size // 16 // 64,)
for _ in range(3): cl.enqueue_nd_range_kernel(queue, axpy, work, None)
queue.finish()
begin = time.perf_counter()
for _ in range(launches): cl.enqueue_nd_range_kernel(queue, axpy, work, None)
queue.finish()
print(time.perf_counter() - begin)
'''
CASES = {"64 MiB": (64 << 20, 12), "1 MiB": (1 << 20, 300), "16 KiB": (16 << 10, 2000)}


def seconds(*command):
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(ran.stdout)


# The statistics of attach, of each dumped file.
NUMPY = r'''
import pathlib, sys
import numpy as np
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.bin")):
    values = np.fromfile(path, np.float32)
    bad = ~np.isfinite(values)
    print(path.name, values.max(), values.min(), values.mean(dtype=np.float64), np.linalg.norm(values.astype(np.float64)),
          np.isnan(values).sum(), np.isposinf(values).sum(), np.isneginf(values).sum(), bad.argmax(),
          np.bitwise_xor.reduce(values.view(np.uint64)))
'''
OF_PEER = {"64 MiB": (64 << 20, 4), "1 MiB": (1 << 20, 300), "16 KiB": (16 << 10, 2000)}


def processor_seconds(*command, **environment):
    """Of a whole process and its children. A busy machine changes them less than the clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env={**os.environ, **environment})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def beside_peer(command, rounds, peer):
    folder_of_peer = os.path.dirname(os.path.abspath(peer))
    driver = subprocess.run(["sh", "-c", "ldconfig -p | sed -n 's/.*libOpenCL.so.1 .*=> //p' | head -1"], capture_output=True,
                            text=True, check=True).stdout.strip()
    print("Seconds of processors")
    print("buffers  launches  alone  attach, more           dump and NumPy, more   times as much")
    for name, (size, launches) in OF_PEER.items():
        program = [sys.executable, "-c", PROGRAM, str(size), str(launches)]
        alone, attached, dumped = [], [], []
        for each in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                alone.append(processor_seconds(*program))
                attached.append(processor_seconds(command, "attach", "-o", folder + "/attach", "--", *program) - alone[-1])
                peer_seconds = processor_seconds(*program, LD_LIBRARY_PATH=folder_of_peer, CLI_OpenCLFileName=driver,
                                             CLI_DumpBuffersAfterEnqueue="1", CLI_DumpDir=folder + "/peer", CLI_SuppressLogging="1")
                files = sum(len(names) for _, _, names in os.walk(folder + "/peer"))
                assert files >= 3 * launches, f"the peer dumped {files} files"
                dumped.append(peer_seconds + processor_seconds(sys.executable, "-c", NUMPY, folder + "/peer") - alone[-1])
        words = lambda seconds: f"{statistics.median(seconds):.2f} ({min(seconds):.2f}-{max(seconds):.2f})"
        print(f"{name:8} {launches:8}  {statistics.median(alone):5.2f}  {words(attached):21}  {words(dumped):21}  "
              f"{statistics.median(dumped) / statistics.median(attached):.1f}")


def main():
    command, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 9
    if len(sys.argv) > 3:
        return beside_peer(command, rounds, sys.argv[3])
    print("buffers  launches  alone, us a launch  nothing wanted        everything measured   more, us a launch")
    for name, (size, launches) in CASES.items():
        program = [sys.executable, "-c", PROGRAM, str(size), str(launches)]
        alone, idle, measured = [], [], []
        with tempfile.TemporaryDirectory() as folder:
            attach = lambda number, *options: seconds(command, "attach", "-o", os.path.join(folder, number), *options, "--", *program)
            attach("first")  # builds kernels
            for each in range(rounds):
                alone.append(seconds(*program))
                idle.append(attach(f"i{each}", "--kernels", "none") / alone[-1])
                measured.append(attach(f"m{each}") / alone[-1])
        a_launch = 1e6 * statistics.median(alone) / launches
        words = lambda ratios: f"{statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})"
        print(f"{name:8} {launches:8}  {a_launch:18.1f}  {words(idle):20}  {words(measured):20}  "
              f"{(statistics.median(measured) - 1) * a_launch:17.1f}")
    print("moved by a launch: two buffers read and one written; measured: one. Limits: 1.02; 1 + 1/3 and 60 us a launch")


main()

"""Writes build.sh, which builds the programs of bench/gpu with cmake's commands, but needs only g++.

    build_commands.py compile_commands.json REPOSITORY > build.sh

The script is part of a pack. Beside it are source/, include/ with third-party headers, and lib/.
"""
import json
import os
import shlex
import sys

commands, root = json.load(open(sys.argv[1])), sys.argv[2]
PROGRAMS = {"gpu_bench": "bench/device/", "first_result": "bench/first_result.cpp"}

print("""#!/bin/sh
# Builds gpu_bench and first_result into built/, with g++ and no cmake; CXX names another compiler.
set -e
cd "$(dirname "$0")"
mkdir -p built
compile() { "${CXX:-g++}" -isystem include "$@" || touch built/failed; }
rm -f built/failed""")
objects = {}
for entry in sorted(commands, key=lambda each: each["file"]):
    path = os.path.relpath(entry["file"], root)
    if path.endswith("kernels-cl/texts.cpp"):
        path = "texts.cpp"
    if path.startswith(("stats/show/cli/", "tests/")) or path in objects.values():
        continue
    words = shlex.split(entry["command"])
    flags = [each for each in words if each.startswith(("-D", "-O", "-std", "-m", "-f", "-Wno")) and "BENCH_" not in each]
    includes = ["-Isource", "-Isource/stats"]
    name = f"built/{path.replace('/', '_')}.o"
    objects[name] = path
    print("compile", shlex.join(flags + includes + ["-c", f"source/{path}", "-o", name]), "&")
    if len(objects) % 8 == 0:
        print("wait")
print("wait\n[ ! -e built/failed ]")
library = [name for name, path in objects.items() if not path.startswith("bench/")]
for program, mine in PROGRAMS.items():
    own = [name for name, path in objects.items()
           if path.startswith(mine) or (program == "gpu_bench" and path == "bench/data.cpp")]
    print(shlex.join(["${CXX:-g++}", "-o", f"built/{program}"] + own + library).replace("'${CXX:-g++}'", '"${CXX:-g++}"'),
          "-Llib -Wl,--allow-shlib-undefined -lOpenCL -lcrypto -ldl -pthread")

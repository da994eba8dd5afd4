"""A tree on the workers of Ray: python3 ray_tree.py TREE WORK. TREE and WORK lie where all workers see them."""
import os
import subprocess
import sys

import ray


@ray.remote(num_cpus=2, max_retries=2)
def fold(part, work):
    state = f"{work}/states/{part}.tsp"
    subprocess.run(["tensorstat", "fold", "-q", "-j", "2", f"@{work}/plan/{part}", "-o", state], check=True)
    return state


def main(tree, work):
    ray.init()
    if not os.path.isdir(f"{work}/plan"):
        subprocess.run(["tensorstat", "plan", tree, "--parts", "16", "-o", f"{work}/plan"], check=True)
    waiting = [fold.remote(part, work) for part in sorted(os.listdir(f"{work}/plan"))]
    while waiting:
        done, waiting = ray.wait(waiting)
        try:
            ray.get(done[0])
        except Exception as fault:  # merge names the part that is missing
            print(fault, file=sys.stderr)
    return subprocess.run(["tensorstat", "merge", f"{work}/states", "--fail-on", "nan,inf"]).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

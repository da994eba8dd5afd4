"""A tree on the workers of Dask: python3 dask_tree.py TREE WORK [SCHEDULER]. A worker that dies costs its part alone:
Dask runs it again. Without SCHEDULER two processes of this machine work."""
import os
import subprocess
import sys


def fold(part, work):
    state = f"{work}/states/{part}.tsp"
    subprocess.run(["tensorstat", "fold", "-q", f"@{work}/plan/{part}", "-o", state], check=True)
    return state


def main(tree, work, scheduler=None):
    from dask.distributed import Client, LocalCluster
    if not os.path.isdir(f"{work}/plan"):
        subprocess.run(["tensorstat", "plan", tree, "--parts", "16", "-o", f"{work}/plan"], check=True)
    with Client(scheduler or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)) as client:
        states = client.gather(client.map(fold, sorted(os.listdir(f"{work}/plan")), work=work, retries=2), errors="skip")
    return subprocess.run(["tensorstat", "merge", *states, "--fail-on", "nan,inf"]).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

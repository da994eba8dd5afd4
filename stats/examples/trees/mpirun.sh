#!/bin/sh
# A tree on the ranks of mpirun: mpirun -n 8 trees/mpirun.sh TREE WORK, after `tensorstat plan TREE --parts 32 -o
# WORK/plan`. Each rank folds every n-th part; then `tensorstat merge WORK/states`. No rank waits for another.
set -eu
tree=$1 work=$2
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}} ranks=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_NTASKS:-1}}}
number=0
for part in "$work"/plan/*; do
  if [ $((number % ranks)) -eq "$rank" ]; then
    tensorstat fold -q "@$part" -o "$work/states/$(basename "$part").tsp"
  fi
  number=$((number + 1))
done

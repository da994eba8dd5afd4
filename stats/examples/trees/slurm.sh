#!/bin/sh
# A tree as an array of SLURM: trees/slurm.sh TREE WORK. Each task folds one part; the last job merges, also if some
# tasks failed, and says which parts are missing. Submit it again to fold what is missing.
set -eu
tree=$1 work=$2
[ -d "$work/plan" ] || tensorstat plan "$tree" --parts 64 -o "$work/plan"
last=$(($(ls "$work/plan" | wc -l) - 1))
array=$(sbatch --parsable --array="0-$last" --cpus-per-task=4 --job-name=fold --output="$work/fold-%a.log" \
  --wrap "part=\$(printf %03d \$SLURM_ARRAY_TASK_ID); tensorstat fold -j 4 @$work/plan/\$part -o $work/states/\$part.tsp")
sbatch --parsable --dependency="afterany:$array" --job-name=merge --output="$work/merge.log" \
  --wrap "tensorstat merge $work/states --fail-on nan,inf"

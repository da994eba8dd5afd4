#!/bin/sh
# A tree on the machines of GNU parallel: trees/parallel.sh TREE WORK. The next call folds only what is not done.
# More machines: parallel --sshlogin host1,host2 --workdir . (TREE and WORK on a file system that all see).
set -eu
tree=$1 work=$2
[ -d "$work/plan" ] || tensorstat plan "$tree" --parts 16 -o "$work/plan"
parallel --halt never --retries 2 --joblog "$work/joblog" tensorstat fold -q @{} -o "$work/states/{/}.tsp" ::: "$work"/plan/*
tensorstat merge "$work/states" --fail-on nan,inf

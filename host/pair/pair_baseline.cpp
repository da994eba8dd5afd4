#define FOLD_PAIR fold_pair_baseline
#include "host/pair/pair_fold.inc"

#define FOLD_PAIR fold_pair_avx2
#include "host/pair/pair_fold.inc"

#define FOLD_PAIR fold_pair_avx512
#include "host/pair/pair_fold.inc"

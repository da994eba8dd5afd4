#define FOLDS kFoldsAvx512
#include "host/folds.inc"

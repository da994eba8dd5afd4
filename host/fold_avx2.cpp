#define FOLDS kFoldsAvx2
#include "host/folds.inc"

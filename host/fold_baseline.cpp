#define FOLDS kFoldsBaseline
#include "host/folds.inc"

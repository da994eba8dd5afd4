// Includes PER_DTYPE once for each real dtype of the catalog's TENSORSTAT_DTYPES, named by DTYPE, in their order; where
// PER_DTYPE_IF is defined, for those dtypes alone of which it is not 0. For C++, where one file compiles them all;
// an OpenCL program is of one dtype. The includer has <tensorstat/catalog.inc> and precision/formats.h.
#ifndef DTYPE_INDEX

#ifndef PER_DTYPE_IF
#define PER_DTYPE_IF 1
#endif
#define EACH_DTYPE_NAME(id, name, ...) name,
#define EACH_DTYPE_ONE(...) +1
#define DTYPE CALL(CAT(COLUMN_, DTYPE_INDEX), TENSORSTAT_DTYPES(EACH_DTYPE_NAME))
#define DTYPE_INDEX 0
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 1
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 2
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 3
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 4
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 5
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 6
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 7
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 8
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 9
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 10
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 11
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 12
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 13
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 14
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 15
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 16
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 17
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 18
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 19
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 20
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 21
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 22
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 23
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 24
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 25
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 26
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 27
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 28
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 29
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 30
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#define DTYPE_INDEX 31
#include "precision/each_dtype.h"
#undef DTYPE_INDEX
#if TENSORSTAT_DTYPES(EACH_DTYPE_ONE) > 32
#error "there are more dtypes than this file counts to"
#endif
#undef DTYPE
#undef EACH_DTYPE_NAME
#undef EACH_DTYPE_ONE
#undef PER_DTYPE_IF
#undef PER_DTYPE

#elif DTYPE_INDEX < TENSORSTAT_DTYPES(EACH_DTYPE_ONE)
#if PER_DTYPE_IF && !IS_COMPLEX
#include PER_DTYPE
#endif
#endif

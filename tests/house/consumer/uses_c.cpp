#include <stdio.h>
#include <tensorstat/tensorstat.h>

int main() { return puts(tensorstat_dtype_name(tensorstat_dtype_named("float32"))) < 0; }

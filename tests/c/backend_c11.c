#include "tests/c/backend.h"

int main(int argc, char** argv) { return run_backend(argc, argv); }

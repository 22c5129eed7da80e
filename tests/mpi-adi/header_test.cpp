// mpi.h in C++: the same checks, compiled as C++.
#include "header_test.c"

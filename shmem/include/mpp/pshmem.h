/* mpp/pshmem.h: the historic place of pshmem.h. */
#include "../pshmem.h"

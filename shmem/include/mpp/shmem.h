/* mpp/shmem.h: the historic place of shmem.h. */
#include "../shmem.h"

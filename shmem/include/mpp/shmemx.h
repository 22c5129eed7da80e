/* mpp/shmemx.h: the historic place of shmemx.h. */
#include "../shmemx.h"

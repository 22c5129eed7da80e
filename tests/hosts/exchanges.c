/* exchanges.c: the first and the last rank send each other a mebibyte again and again, for SECONDS or, without them, once.
 *
 *   exchanges FILE [SECONDS]
 *
 * Rank 0 makes FILE when data have gone both ways. Every message must be whole and of its round. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWords = 1 << 17 };

int main(int argc, char **argv) {
  static unsigned long mine[kWords], others[kWords];
  unsigned long round = 0, wrong = 0, last = 0;
  double seconds, begin;
  int rank, ranks, peer, i;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2 || ranks < 2) {
    fprintf(stderr, "exchanges: give a file to make, and two ranks or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  seconds = argc > 2 ? atof(argv[2]) : 0;
  peer = rank == 0 ? ranks - 1 : 0;
  begin = MPI_Wtime();
  for (; !last && (rank == 0 || rank == ranks - 1); ++round) {
    for (i = 0; i < kWords; ++i) mine[i] = round + (unsigned long)rank;
    if (rank == 0) mine[0] = MPI_Wtime() - begin >= seconds; /* rank 0 says when it is over */
    MPI_Sendrecv(mine, kWords, MPI_UNSIGNED_LONG, peer, 0, others, kWords, MPI_UNSIGNED_LONG, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 1; i < kWords; ++i) wrong += others[i] != round + (unsigned long)peer;
    last = rank == 0 ? mine[0] : others[0];
    if (rank == 0 && round == 0) {
      FILE *made = fopen(argv[1], "w");
      if (!made || fclose(made) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  if (wrong != 0) fprintf(stderr, "exchanges: rank %d has %lu wrong words\n", rank, wrong);
  MPI_Finalize();
  return wrong != 0;
}

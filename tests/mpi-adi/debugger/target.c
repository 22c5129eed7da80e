/* target.c FOLDER [before|threads]: ranks whose queues of messages are known, for client.cpp. Each says in FOLDER/ready.RANK who it is and
 * where its buffers lie, and goes on when somebody opens FOLDER/go.RANK; `before`: without having called MPI; `threads`: by
 * MPI_THREAD_MULTIPLE.
 * target.c: a program that only begins and ends, for starter.cpp. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLong = 4 << 20, kPending = 6 };

static char exact[100], any_source[800], strided[128], any_tag[8], reversed_room[32], started[48], never[8], self_room[16], synchronous[16];
static char* long_data;

static FILE* open_pipe(const char* folder, const char* name, int rank, const char* mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%d", folder, name, rank);
  FILE* const pipe = fopen(path, mode);
  if (pipe == NULL) abort();
  return pipe;
}

static void tell(const char* folder, int rank) {
  void* const places[] = {exact, any_source, strided, any_tag, reversed_room, started, self_room, synchronous, long_data};
  FILE* const ready = open_pipe(folder, "ready", rank, "w");
  fprintf(ready, "%d", (int)getpid());
  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) fprintf(ready, " %p", places[i]);
  fclose(ready);
}

static void hold(const char* folder, int rank) {
  FILE* const go = open_pipe(folder, "go", rank, "r");
  while (fgetc(go) != EOF) continue;
  fclose(go);
}

int main(int argc, char** argv) {
  if (argc == 1) return MPI_Init(NULL, NULL) + MPI_Finalize();
  const char* const folder = argv[1];
  if (argc > 2 && strcmp(argv[2], "before") == 0) {
    tell(folder, 0);
    hold(folder, 0);
    return 0;
  }
  int rank, ranks, flag = 0;
  MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  long_data = calloc(kLong, 1);
  char* const long_room = calloc(kLong, 1);
  MPI_Comm second, reversed, inter = MPI_COMM_NULL, half;
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  MPI_Comm_set_name(second, "the second");
  MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed);
  MPI_Comm_set_name(reversed, "reversed");
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 60, &inter);
  MPI_Comm_free(&half);
  MPI_Datatype every_other;
  MPI_Type_vector(8, 8, 16, MPI_BYTE, &every_other);
  MPI_Type_commit(&every_other);

  MPI_Request pending[kPending], inactive[2], complete, sends[2];
  MPI_Irecv(exact, sizeof exact, MPI_BYTE, before, 5, MPI_COMM_WORLD, &pending[0]);
  MPI_Irecv(any_source, sizeof any_source / (int)sizeof(int), MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &pending[1]);
  MPI_Irecv(strided, 1, every_other, before, 8, MPI_COMM_WORLD, &pending[2]);
  MPI_Irecv(any_tag, sizeof any_tag, MPI_BYTE, before, MPI_ANY_TAG, second, &pending[3]);
  MPI_Irecv(reversed_room, sizeof reversed_room, MPI_BYTE, 0, 40, reversed, &pending[4]);
  MPI_Recv_init(started, sizeof started, MPI_BYTE, before, 78, MPI_COMM_WORLD, &pending[5]);
  MPI_Start(&pending[5]);
  MPI_Recv_init(never, sizeof never, MPI_BYTE, before, 77, MPI_COMM_WORLD, &inactive[0]);
  MPI_Ssend_init(never, sizeof never, MPI_BYTE, next, 79, MPI_COMM_WORLD, &inactive[1]);
  MPI_Irecv(self_room, sizeof self_room, MPI_BYTE, rank, MPI_ANY_TAG, MPI_COMM_WORLD, &complete);
  MPI_Send("twelve bytes", 12, MPI_BYTE, rank, 30, MPI_COMM_WORLD);
  while (!flag) MPI_Request_get_status(complete, &flag, MPI_STATUS_IGNORE);

  MPI_Isend(long_data, kLong, MPI_BYTE, next, 9, MPI_COMM_WORLD, &sends[0]);
  MPI_Issend(synchronous, sizeof synchronous, MPI_BYTE, next, 10, MPI_COMM_WORLD, &sends[1]);
  MPI_Send("8 bytes.", 8, MPI_BYTE, next, 20, MPI_COMM_WORLD);
  MPI_Send(long_room, 3000, MPI_BYTE, next, 21, MPI_COMM_WORLD);
  MPI_Send("24 bytes on another comm", 24, MPI_BYTE, ranks - 1 - next, 41, reversed);
  MPI_Probe(before, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  /* what was sent before has come, too */
  MPI_Probe(ranks - 1 - before, 41, reversed, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);

  tell(folder, rank);
  if (rank == 0) MPI_Send(long_data, kLong, MPI_BYTE, next, 11, MPI_COMM_WORLD);  /* looked at while it waits there */
  else hold(folder, rank);
  if (rank == 1) MPI_Recv(long_room, kLong, MPI_BYTE, before, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int tags[] = {9, 10, 20, 21};
  for (int i = 0; i < 4; ++i) MPI_Recv(long_room, kLong, MPI_BYTE, before, tags[i], MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(long_room, kLong, MPI_BYTE, ranks - 1 - before, 41, reversed, MPI_STATUS_IGNORE);
  for (int i = 0; i < kPending; ++i) {
    MPI_Cancel(&pending[i]);
    MPI_Wait(&pending[i], MPI_STATUS_IGNORE);
  }
  MPI_Wait(&complete, MPI_STATUS_IGNORE);
  MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  MPI_Request_free(&pending[5]);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&inactive[i]);
  MPI_Type_free(&every_other);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&second);
  free(long_data);
  free(long_room);
  return MPI_Finalize();
}

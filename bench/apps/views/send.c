/* send: 1 MiB there and back by MPI_Send, which a view of that size that is handed over is measured by: prints "micro WHAT VALUE UNIT".
 *   send [ROUNDS] */
#include "program.h"

int main(int argc, char **argv) {
    start(argc, argv);
    const long rounds = argument(argc, argv, 1, 100);
    enum { BYTES = 1 << 20 };
    char *const data = calloc(BYTES, 1);
    if (n != 2) return verdict("send", 0, 0);
    everybody();
    const double from = seconds_now();
    for (long i = 0; i < 2 * rounds; ++i) {
        if (i % 2 == me) TRY(MPI_Send(data, BYTES, MPI_CHAR, 1 - me, 0, MPI_COMM_WORLD));
        else TRY(MPI_Recv(data, BYTES, MPI_CHAR, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    if (me == 0) printf("micro send_1MiB %.3f us\n", (seconds_now() - from) / (double)(2 * rounds) * 1e6);
    return verdict("send", 0, 1);
}

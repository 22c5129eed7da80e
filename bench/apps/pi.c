/* Pi as the integral of 4 / (1 + x^2) over [0, 1]: each PE sums every n-th strip, and puts its part into PE 0's memory. */
#include "app.h"

#include <math.h>

int main(int argc, char **argv) {
    Option options[] = {{"strips", "strips of the integral", 10000000, 1, 1000000000000}};
    app_start(argc, argv, "the number pi by numerical integration.", options, 1);
    const int me = shmem_my_pe(), n = shmem_n_pes();
    const long strips = options[0].value;
    double *const parts = app_memory((size_t)n * sizeof *parts);
    const double width = 1.0 / (double)strips;
    double sum = 0, pi = 0;
    const double begin = app_seconds();
    for (long i = me; i < strips; i += n) {
        const double x = ((double)i + 0.5) * width;
        sum += 4 / (1 + x * x);
    }
    shmem_double_p(&parts[me], sum * width, 0);
    shmem_barrier_all();
    for (int pe = 0; pe < n; ++pe) pi += shmem_double_g(&parts[pe], 0);
    /* The rule of midpoints errs by at most width^2 / 12 here, and sums of so many numbers by their rounding. */
    const int right = fabs(pi - acos(-1)) <= width * width / 12 + 1e-12 * sqrt((double)strips);
    return app_verdict(right, app_seconds() - begin, "pi = %.15f of %ld strips", pi, strips);
}

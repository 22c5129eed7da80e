/* signals_kept.c: what signals do is the program's business: after the library has started on the network, every action is what it was
 * before, and a crash ends the process by its signal. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "portals/portals4.h"

static void mine(int number) { (void)number; }

static int start(void) {
    ptl_handle_ni_t ni;
    return PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK;
}

static int ends_by(int number) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        if (start()) raise(number);
        _exit(1);
    }
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == number;
}

int main(void) {
    static const int crashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGTERM, SIGINT};
    struct sigaction before[NSIG], after;
    int failures = 0;
    for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; ++i) {
        struct sigaction action;
        sigaction(crashes[i], NULL, &action);
        if (action.sa_handler != SIG_DFL) {
            printf("signal %d is handled before the program has begun\n", crashes[i]);
            ++failures;
        } else if (!ends_by(crashes[i])) {
            printf("signal %d did not end the process\n", crashes[i]);
            ++failures;
        }
    }
    signal(SIGUSR1, mine);
    signal(SIGSEGV, mine);
    signal(SIGPIPE, SIG_IGN);
    for (int number = 1; number < NSIG; ++number) sigaction(number, NULL, &before[number]);
    if (!start()) return 2;
    for (int number = 1; number < NSIG; ++number) {
        if (sigaction(number, NULL, &after) == 0 && after.sa_handler != before[number].sa_handler) {
            printf("the library has changed what signal %d does\n", number);
            ++failures;
        }
    }
    PtlFini();
    return failures != 0;
}

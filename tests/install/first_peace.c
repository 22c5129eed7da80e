/* Two processes that no launcher started: the child calls the parent's service, and the answer is in its memory. */
#include <peace.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int serve(peace_port_t port)
{
    peace_pattern_t any = {{0, 0, 0}, 0, ~0u};
    peace_task_t task;
    peace_message_t call;
    if (peace_accept(port, any, PEACE_FOREVER, &task, &call) != PEACE_OK) return 1;
    printf("type %u: %s\n", call.type, (const char *)peace_look(task)); /* the client waits: its data stand still */
    return peace_reply(&task, 8, "and good night", 15) != PEACE_OK;
}

int main(int argc, char **argv)
{
    peace_address_t address;
    char answer[32] = "";
    if (argc == 2) { /* the child: an address is plain data */
        sscanf(argv[1], "%lx:%x:%x", (unsigned long *)&address.process, &address.port, &address.generation);
        if (peace_init() != PEACE_OK) return 1;
        int code = peace_call(address, 7, "good morning", 13, answer, sizeof answer, PEACE_FOREVER, NULL);
        printf("%s\n", code == PEACE_OK ? answer : peace_explain());
        return peace_fini() != PEACE_OK || code != PEACE_OK;
    }
    peace_port_t port;
    char text[64];
    int status = 1;
    if (peace_init() != PEACE_OK || peace_open(0, 0, 0, &port) != PEACE_OK) return 1;
    peace_address(port, &address);
    snprintf(text, sizeof text, "%lx:%x:%x", (unsigned long)address.process, address.port, address.generation);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", argv[0], text, (char *)NULL);
        _exit(127);
    }
    int failed = serve(port);
    waitpid(child, &status, 0);
    return peace_fini() != PEACE_OK || failed || status != 0;
}

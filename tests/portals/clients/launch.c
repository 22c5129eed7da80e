/* launch.c: see launch.h. Source: PMI-1 as mpiexec.hydra speaks it: lines of words over the descriptor PMI_FD. */
#include "launch.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void launch_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    exit(1);
}

static void word(const char *line, const char *name, char *value, size_t room) {
    const size_t length = strlen(name);
    for (const char *at = line; at && *at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL) {
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        const size_t end = strcspn(at + length + 1, " \n");
        MUST(end < room);
        memcpy(value, at + length + 1, end);
        value[end] = 0;
        return;
    }
    launch_fail(__FILE__, __LINE__, line);
}

/* One question and its answer, which is written over the question. */
static void ask(struct launch *job, char *line, size_t room) {
    const size_t length = strlen(line);
    size_t got = 0;
    MUST(write(job->fd, line, length) == (ssize_t)length);
    do {
        MUST(got + 1 < room && read(job->fd, line + got, 1) == 1);
    } while (line[got++] != '\n');
    line[got] = 0;
}

void launch_open(struct launch *job, int argc, char **argv) {
    char line[1024] = "cmd=init pmi_version=1 pmi_subversion=1\n";
    memset(job, 0, sizeof *job);
    if (argc == 5 && strcmp(argv[1], "files") == 0) {
        job->folder = argv[2];
        job->rank = atoi(argv[3]);
        job->size = atoi(argv[4]);
        return;
    }
    MUST(argc == 2 && strcmp(argv[1], "pmi") == 0);
    MUST(getenv("PMI_FD") && getenv("PMI_RANK") && getenv("PMI_SIZE"));
    job->fd = atoi(getenv("PMI_FD"));
    job->rank = atoi(getenv("PMI_RANK"));
    job->size = atoi(getenv("PMI_SIZE"));
    ask(job, line, sizeof line);
    strcpy(line, "cmd=get_my_kvsname\n");
    ask(job, line, sizeof line);
    word(line, "kvsname", job->space, sizeof job->space);
}

void launch_close(struct launch *job) {
    char line[256] = "cmd=finalize\n";
    if (!job->folder) ask(job, line, sizeof line);
}

/* Exchanges what each rank said in this round: `all` holds job->size texts of 64 bytes. */
static void exchange(struct launch *job, const char *mine, char (*all)[64]) {
    char line[1024], path[512], ready[600];
    const int round = job->rounds++;
    if (job->folder) {
        snprintf(path, sizeof path, "%s/%d.%d", job->folder, round, job->rank);
        snprintf(ready, sizeof ready, "%s.new", path);
        FILE *file = fopen(ready, "w");
        MUST(file && fputs(mine, file) >= 0 && fclose(file) == 0 && rename(ready, path) == 0);
    } else {
        snprintf(line, sizeof line, "cmd=put kvsname=%s key=%d.%d value=%s\n", job->space, round, job->rank, mine);
        ask(job, line, sizeof line);
        strcpy(line, "cmd=barrier_in\n");
        ask(job, line, sizeof line);
    }
    for (int peer = 0; peer < job->size; ++peer) {
        if (job->folder) {
            FILE *file;
            snprintf(path, sizeof path, "%s/%d.%d", job->folder, round, peer);
            while (!(file = fopen(path, "r"))) sched_yield();
            MUST(fgets(all[peer], 64, file) != NULL);
            fclose(file);
        } else {
            snprintf(line, sizeof line, "cmd=get kvsname=%s key=%d.%d\n", job->space, round, peer);
            ask(job, line, sizeof line);
            word(line, "value", all[peer], 64);
        }
    }
}

void launch_meet(struct launch *job) {
    char (*all)[64] = malloc((size_t)job->size * 64);
    MUST(all);
    exchange(job, "here", all);
    free(all);
}

void launch_addresses(struct launch *job, ptl_handle_ni_t ni, ptl_process_t *processes) {
    char (*all)[64] = malloc((size_t)job->size * 64), mine[64];
    ptl_process_t self;
    MUST(all && PtlGetPhysId(ni, &self) == PTL_OK);
    snprintf(mine, sizeof mine, "%u:%u", self.phys.nid, self.phys.pid);
    exchange(job, mine, all);
    for (int peer = 0; peer < job->size; ++peer)
        MUST(sscanf(all[peer], "%u:%u", &processes[peer].phys.nid, &processes[peer].phys.pid) == 2);
    free(all);
}

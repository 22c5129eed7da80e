/* Loads plugins, uses them and gets rid of them: host WAY END SCOPE PLUGIN OTHER. */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *late; /* is closed by a destructor */
static int end, scope;

static void check(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "%s\n", what);
    _exit(1);
}

static void use(void *plugin) {
    int (*const call)(int) = (int (*)(int))dlsym(plugin, "use");
    const int result = call ? call(end) : -1;
    if (result != 0) fprintf(stderr, "use: %d\n", result);
    check(result == 0, "the plugin does not work");
}

static void *load(const char *path) {
    void *plugin = dlopen(path, RTLD_NOW | scope);
    if (!plugin) fprintf(stderr, "%s\n", dlerror());
    check(plugin != NULL, "the plugin cannot be loaded");
    return plugin;
}

static void unload(void *plugin) {
    dlclose(plugin);
    for (int i = 0; i < 100; ++i) sched_yield(); /* who still runs in it gets a processor */
}

static void unload_late(void) {
    unload(late);
    late = NULL;
}

__attribute__((destructor)) static void at_the_end(void) {
    if (late) unload(late);
}

int main(int argc, char **argv) {
    check(argc == 6, "usage: host WAY END SCOPE PLUGIN OTHER");
    const char *const way = argv[1];
    end = atoi(argv[2]);
    scope = strcmp(argv[3], "local") == 0 ? RTLD_LOCAL : RTLD_GLOBAL;
    if (strcmp(way, "again") == 0) {
        for (int time = 0; time < 5; ++time) {
            void *plugin = load(argv[4]);
            use(plugin);
            unload(plugin);
        }
        return 0;
    }
    void *plugin = load(argv[4]);
    if (strcmp(way, "two") == 0) {
        void *other = load(argv[5]);
        use(plugin);
        unload(plugin);
        use(other);
        unload(other);
        return 0;
    }
    use(plugin);
    if (strcmp(way, "close") == 0) unload(plugin);
    if (strcmp(way, "destructor") == 0) late = plugin;
    if (strcmp(way, "atexit") == 0) {
        late = plugin;
        atexit(unload_late);
        exit(0);
    }
    if (strcmp(way, "_exit") == 0) _exit(0);
    if (strcmp(way, "fork") == 0) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            unload(plugin);
            exit(0);
        }
        check(waitpid(child, &status, 0) == child && status == 0, "the child does not end well");
        use(plugin);
        unload(plugin);
    }
    exit(0);
}

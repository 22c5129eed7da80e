// starter.cpp PTLRUN PROGRAM: plays a debugger that starts a job. It finds the ranks in the table that ptlrun shows, each before its
// MPI_Init has returned, and lets them go; so the job ends well. Exit status 77: this host lets no process trace another.
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "tests/mpi-adi/debugger/debugger.hpp"

namespace {

struct Row {
  uint64_t host, program;
  int pid;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}
void expect(bool good, const std::string& what) {
  if (!good) fail(what);
}
template <class Value>
Value read(const Debugged& process, uint64_t address, const std::string& what) {
  Value value{};
  expect(process.read(address, &value, sizeof value), what + " cannot be read");
  return value;
}
std::string text(const Debugged& process, uint64_t address) {
  std::string all;
  for (char c; (c = read<char>(process, address + all.size(), "a name")) != '\0';) all += c;
  return all;
}
// The system call that the process sleeps in, a number at the beginning.
std::string system_call(pid_t process) {
  std::string line;
  std::ifstream file("/proc/" + std::to_string(process) + "/syscall");
  std::getline(file, line);
  return line;
}

// Runs the process until it comes to the breakpoint, and there makes it as it was.
void run_to(pid_t process, uint64_t breakpoint) {
  errno = 0;
  const long code = ptrace(PTRACE_PEEKTEXT, process, breakpoint, nullptr);
  expect(errno == 0, "MPIR_Breakpoint cannot be read");
  expect(ptrace(PTRACE_POKETEXT, process, breakpoint, (code & ~0xffL) | 0xcc) == 0, "MPIR_Breakpoint cannot be written");
  for (long signal = 0;;) {
    int status = 0;
    ptrace(PTRACE_CONT, process, nullptr, signal);
    expect(waitpid(process, &status, 0) == process && WIFSTOPPED(status), "ptlrun ended without coming to MPIR_Breakpoint");
    signal = WSTOPSIG(status);
    user_regs_struct registers;
    ptrace(PTRACE_GETREGS, process, nullptr, &registers);
    if (signal != SIGTRAP || registers.rip != breakpoint + 1) continue;
    registers.rip = breakpoint;
    ptrace(PTRACE_SETREGS, process, nullptr, &registers);
    ptrace(PTRACE_POKETEXT, process, breakpoint, code);
    return;
  }
}

}  // namespace

int main(int, char** argv) {
  const pid_t ptlrun = fork();
  if (ptlrun == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    execl(argv[1], argv[1], "-n", "3", "--timeout", "100", argv[2], nullptr);
    _exit(1);
  }
  int status = 0;
  waitpid(ptlrun, &status, 0);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const Debugged launcher(ptlrun);
  for (const char* name : {"MPIR_being_debugged", "MPIR_proctable", "MPIR_proctable_size", "MPIR_debug_state", "MPIR_Breakpoint"})
    expect(launcher.find(name) != 0, std::string("ptlrun has no ") + name);
  const int yes = 1;
  expect(launcher.write(launcher.find("MPIR_being_debugged"), &yes, sizeof yes), "MPIR_being_debugged cannot be written");
  run_to(ptlrun, launcher.find("MPIR_Breakpoint"));

  expect(read<int>(launcher, launcher.find("MPIR_debug_state"), "the state") == 1, "the state is not MPIR_DEBUG_SPAWNED");
  expect(read<int>(launcher, launcher.find("MPIR_proctable_size"), "the size") == 3, "the table has not a row for each rank");
  const auto table = read<uint64_t>(launcher, launcher.find("MPIR_proctable"), "the table");
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::vector<pid_t> ranks;
  for (uint64_t i = 0; i < 3; ++i) {
    const Row row = read<Row>(launcher, table + i * sizeof(Row), "a row");
    ranks.push_back(row.pid);
    const auto environment = std::ifstream("/proc/" + std::to_string(row.pid) + "/environ");
    std::stringstream variables;
    variables << environment.rdbuf();
    expect(variables.str().find("PMIX_RANK=" + std::to_string(i)) != std::string::npos, "row " + std::to_string(i) + " is not that rank's");
    expect(text(launcher, row.host) == host, "another host: " + text(launcher, row.host));
    expect(std::filesystem::equivalent(text(launcher, row.program), argv[2]), "another program: " + text(launcher, row.program));
  }
  ptrace(PTRACE_DETACH, ptlrun, nullptr, nullptr);
  for (const pid_t rank : ranks) {
    while (!system_call(rank).starts_with("230 ")) expect(kill(rank, 0) == 0, "a rank did not wait for the debugger");  // clock_nanosleep
    const Debugged process(rank);
    expect(process.find("MPIR_debug_gate") != 0, "a rank has no MPIR_debug_gate");
    expect(read<int>(process, process.find("MPIR_debug_gate"), "the gate") == 0, "the gate is open");
    expect(process.write(process.find("MPIR_debug_gate"), &yes, sizeof yes), "MPIR_debug_gate cannot be written");
  }
  waitpid(ptlrun, &status, 0);
  expect(status == 0, "the job has not ended well");
  return 0;
}

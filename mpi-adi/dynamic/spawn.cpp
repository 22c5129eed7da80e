// spawn.cpp: MPI_Comm_spawn, MPI_Comm_spawn_multiple, MPI_Comm_get_parent: see spawn.hpp.
// Thread: any; collective over the communicator. Source: MPI-5.0, 11.8; info keys: 11.8.4.
#include "mpi-adi/dynamic/spawn.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/dynamic/ports.hpp"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi {
namespace {

std::atomic<MPI_Comm> parent_handle{MPI_COMM_NULL};
std::atomic<int> room{0};

// The arguments that mean something at the root alone. All arrays have `count` elements.
struct Given {
  int count;
  const char* const* commands;
  char* const* const* arguments;  // nullptr: none; so may be any of them
  const int* most;
  const MPI_Info* infos;
};

// The request to the launcher, and how that went.
struct Order {
  std::vector<ptlx_program_t> programs;
  std::vector<std::string> texts;  // of the programs
  int error = MPI_SUCCESS;
  std::string why;
  int64_t processes = 0;  // of all programs, at most: the length of the error codes
};

const std::string* hint(const Hints& hints, const char* key) {
  const auto found = std::find_if(hints.begin(), hints.end(), [&](const auto& each) { return each.first == key; });
  return found == hints.end() ? nullptr : &found->second;
}

// The largest number up to `most` that a list of A, A:B and A:B:STEP, divided by commas, allows; -1: none, -2: it is no such list.
int most_of(const std::string& list, int most) {
  int best = -1;
  for (size_t from = 0; from <= list.size();) {
    const size_t to = std::min(list.find(',', from), list.size());
    const std::string part = list.substr(from, to - from);
    long numbers[3] = {0, 0, 1};
    int known = 0;
    for (const char* at = part.c_str(); known < 3; ++at) {
      char* end = nullptr;
      numbers[known++] = std::strtol(at, &end, 10);
      if (end == at || (*end != ':' && *end != '\0')) return -2;
      at = end;
      if (*end == '\0') break;
      if (known == 3) return -2;
    }
    if (known == 1) numbers[1] = numbers[0];
    if (numbers[2] == 0) return -2;
    const auto [first, last, step] = numbers;
    if (step > 0 && first <= last && first <= most) {
      const long top = std::min<long>(last, most);
      best = std::max(best, static_cast<int>(top - (top - first) % step));
    } else if (step < 0 && first >= last) {
      long value = first <= most ? first : first - (first - most + -step - 1) / -step * -step;
      if (value >= last) best = std::max(best, static_cast<int>(value));
    }
    from = to + 1;
  }
  return best;
}

int refuse(Order& order, int error, const std::string& why) {
  order.why = why;
  return order.error = error;
}

// Understands the arguments of one program.
int add_program(const Given& given, int i, Order& order) {
  const char* command = given.commands[i];
  if (command == nullptr || given.most[i] < 0)
    return refuse(order, MPI_ERR_ARG, "the root gave no command, or a negative number of processes");
  if (given.infos == nullptr || !is_info_or_null(given.infos[i])) return refuse(order, MPI_ERR_INFO, "an info at the root is none");
  order.processes += given.most[i];
  const Hints hints = given.infos[i] == MPI_INFO_NULL ? Hints{} : hints_of(given.infos[i]);
  ptlx_program_t program{};
  program.program = command;
  program.arguments = given.arguments != nullptr ? given.arguments[i] : nullptr;
  program.processes = given.most[i];
  if (hint(hints, "file"))
    return refuse(order, MPI_ERR_SPAWN, "the info 'file' is not understood here; give its content as keys of the info");
  if (const std::string* soft = hint(hints, "soft")) {
    program.processes = most_of(*soft, given.most[i]);
    if (program.processes < 0)
      return refuse(order, program.processes == -2 ? MPI_ERR_INFO_VALUE : MPI_ERR_SPAWN,
                    "the info 'soft' allows no number of processes up to the one that is wanted");
  }
  const auto text_of = [&](const char* key) -> const char* {
    const std::string* text = hint(hints, key);
    if (text == nullptr) return nullptr;
    order.texts.push_back(*text);
    return order.texts.back().c_str();
  };
  program.folder = text_of("wdir");
  program.path = text_of("path");
  program.hosts = text_of("host");
  order.programs.push_back(program);
  return MPI_SUCCESS;
}

void understand(const Given& given, Order& order) {
  if (given.count < 1 || given.commands == nullptr || given.most == nullptr) {
    refuse(order, MPI_ERR_ARG, "the root gave no commands, or no numbers of processes");
    return;
  }
  order.texts.reserve(static_cast<size_t>(given.count) * 3);  // the programs keep addresses of these
  for (int i = 0; i < given.count && order.error == MPI_SUCCESS; ++i) add_program(given, i, order);
}

// The processes that connect are accepted at `number`, unless all of them have ended before.
rendezvous::Meeting start(Order& order, uint64_t number) {
  char text[PTLX_SPAWN_TEXT];
  const std::string port = ports::name_of({own_card(), number});
  if (PtlxJobSpawn(order.programs.data(), order.programs.size(), port.c_str(), text) != PTL_OK) {
    refuse(order, MPI_ERR_SPAWN, text);
    return {MPI_ERR_SPAWN};
  }
  rendezvous::Meeting meeting = rendezvous::accept(number, [&] { return PtlxJobEnded(text) != 0; });
  if (meeting.error != MPI_SUCCESS)
    meeting.error = refuse(order, MPI_ERR_SPAWN, "the processes have ended without MPI_Init, or cannot reach this one");
  return meeting;
}

int spawn(const char* function, const Given& given, int root, MPI_Comm handle, MPI_Comm* made, int* codes) {
  Communicator* comm;
  if (int error = check(function, handle, comm, {made})) return error;
  *made = MPI_COMM_NULL;
  if (comm->inter) return raise(function, comm, MPI_ERR_COMM, "the communicator is an intercommunicator");
  if (root < 0 || root >= comm->size) return raise(function, comm, MPI_ERR_ROOT, "there is no root %d among %d ranks", root, comm->size);
  Order order;
  rendezvous::Meeting meeting;
  uint64_t number = 0;
  if (comm->rank == root) {
    understand(given, order);
    if (order.error == MPI_SUCCESS && (number = rendezvous::publish()) == 0)
      refuse(order, MPI_ERR_OTHER, "the network has no room for a port");
    if (order.error == MPI_SUCCESS) meeting = start(order, number);
    meeting.error = order.error;
  }
  struct {
    int64_t processes;
    char why[PTLX_SPAWN_TEXT];
  } told{};
  told.processes = order.processes;
  std::copy_n(order.why.c_str(), std::min(order.why.size() + 1, sizeof told.why - 1), told.why);
  if (Exchange(*comm).broadcast(&told, sizeof told, root) != MPI_SUCCESS)
    return raise(function, comm, MPI_ERR_OTHER, "a rank of the communicator cannot be reached");
  // Which of the processes that were wanted there are: those of each program first.
  std::vector<int> good(static_cast<size_t>(told.processes), MPI_ERR_SPAWN);
  if (comm->rank == root && meeting.error == MPI_SUCCESS)
    for (size_t i = 0, from = 0; i < order.programs.size(); from += static_cast<size_t>(given.most[i++]))
      std::fill_n(good.begin() + static_cast<std::ptrdiff_t>(from), order.programs[i].processes, MPI_SUCCESS);
  if (!good.empty() && Exchange(*comm).broadcast(good.data(), good.size() * sizeof(int), root) != MPI_SUCCESS)
    return raise(function, comm, MPI_ERR_OTHER, "a rank of the communicator cannot be reached");
  if (codes != MPI_ERRCODES_IGNORE) std::copy(good.begin(), good.end(), codes);
  const int error = ports::join_sides(function, *comm, root, meeting, ports::Role::accepts, told.why, made);
  if (number != 0) rendezvous::unpublish(number);
  return error;
}

}  // namespace

int meet_parent(const char* function) {
  const char* note = PtlxJobNote();
  if (note == nullptr || *note == '\0') return MPI_SUCCESS;  // not spawned, or by who is no MPI
  rendezvous::Meeting meeting;
  if (world().rank == 0) {
    const auto port = ports::port_named(note);
    if (!port) meeting.error = MPI_ERR_PORT;
    else meeting = rendezvous::connect(port->owner, port->number);
  }
  MPI_Comm made = MPI_COMM_NULL;
  const int error =
      ports::join_sides(function, world(), 0, meeting, ports::Role::connects,
                        "the process that has started this one cannot be reached; it has ended, or a line above says why", &made);
  if (error != MPI_SUCCESS) return error;
  PMPI_Comm_set_name(made, "MPI_COMM_PARENT");
  parent_handle.store(made, std::memory_order_release);
  return MPI_SUCCESS;
}

bool is_parent(MPI_Comm handle) { return parent_handle.load(std::memory_order_acquire) == handle; }
void forget_parent(MPI_Comm handle) { parent_handle.compare_exchange_strong(handle, MPI_COMM_NULL); }

void note_room(int processes) { room.store(processes, std::memory_order_relaxed); }
int room_for_processes() { return room.load(std::memory_order_relaxed); }

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* intercomm,
                               int array_of_errcodes[]) try {
  char* const* arguments = argv;
  const Given given{1, &command, &arguments, &maxprocs, &info};
  const int error = spawn("MPI_Comm_spawn", given, root, comm, intercomm, array_of_errcodes);
  tool::emit(tool::Event::processes_spawned, error, maxprocs);
  return error;
}
MPI_WEAK_NAME(Comm_spawn)

extern "C" int PMPI_Comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[], const int array_of_maxprocs[],
                                        const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm* intercomm,
                                        int array_of_errcodes[]) try {
  const Given given{count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info};
  return spawn("MPI_Comm_spawn_multiple", given, root, comm, intercomm, array_of_errcodes);
}
MPI_WEAK_NAME(Comm_spawn_multiple)

extern "C" int PMPI_Comm_get_parent(MPI_Comm* parent) try {
  static constexpr char kName[] = "MPI_Comm_get_parent";
  if (int error = check_running(kName)) return error;
  if (int error = check_results(kName, nullptr, {parent})) return error;
  *parent = parent_handle.load(std::memory_order_acquire);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_get_parent)

// launchers.cpp: see launchers.hpp.
#include "engine/host/launchers.hpp"

#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

extern char** environ;

namespace portunus {
namespace {

// A number that is not negative; nothing where the variable is not set or says something else.
std::optional<int> number_of(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 0 || value > 1 << 24) return std::nullopt;
  return static_cast<int>(value);
}

// Slurm lists tasks per node as "4(x2),1": two nodes of 4, one of 1.
std::optional<int> slurm_tasks_of(int node) {
  const char* text = std::getenv("SLURM_STEP_TASKS_PER_NODE");
  while (text != nullptr && *text != '\0') {
    char* end = nullptr;
    const long tasks = std::strtol(text, &end, 10);
    if (end == text || tasks < 1) return std::nullopt;
    long nodes = 1;
    if (std::strncmp(end, "(x", 2) == 0) {
      nodes = std::strtol(end + 2, &end, 10);
      if (*end++ != ')' || nodes < 1) return std::nullopt;
    }
    if (*end != ',' && *end != '\0') return std::nullopt;
    if (node < nodes) return static_cast<int>(tasks);
    node -= static_cast<int>(nodes);
    text = *end == ',' ? end + 1 : nullptr;
  }
  return std::nullopt;
}

struct Names {
  const char *rank, *size, *launcher;
};

}  // namespace

bool pmix_announced() {
  if (std::getenv("PMIX_NAMESPACE") == nullptr || std::getenv("PMIX_RANK") == nullptr) return false;
  constexpr char kUri[] = "PMIX_SERVER_URI";  // followed by the protocol's version
  for (char** item = environ; *item != nullptr; ++item)
    if (std::strncmp(*item, kUri, sizeof kUri - 1) == 0) return true;
  return false;
}

bool pmi_announced() {
  const auto fd = number_of("PMI_FD"), rank = number_of("PMI_RANK"), size = number_of("PMI_SIZE");
  int type = 0;
  socklen_t length = sizeof type;
  return fd && rank && size && *rank < *size && getsockopt(*fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

std::optional<ExportedPlace> exported_place() {
  constexpr Names kLocal[] = {{"PTL_LOCAL_RANK", "PTL_LOCAL_SIZE", nullptr},
                              {"MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr}};
  for (const Names& names : kLocal) {
    const auto rank = number_of(names.rank), size = number_of(names.size);
    if (rank && size && *rank < *size) return ExportedPlace{*rank, *size};
  }
  const auto rank = number_of("SLURM_LOCALID"), node = number_of("SLURM_NODEID");
  const auto size = node ? slurm_tasks_of(*node) : std::nullopt;
  if (rank && size && *rank < *size) return ExportedPlace{*rank, *size};
  return std::nullopt;
}

std::string complaint_of_singleton() {
  constexpr Names kWorlds[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"},
                               {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun"},
                               {"PMI_RANK", "PMI_SIZE", "a launcher that speaks PMI"},
                               {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "flux"},
                               {"PALS_RANKID", "PALS_SIZE", "PALS"}};
  for (const Names& names : kWorlds) {
    const auto rank = number_of(names.rank), size = number_of(names.size);
    if (!rank || !size || *size < 2) continue;
    if (*rank != 0) return "";
    return std::string(names.launcher) + " started " + std::to_string(*size) +
           " processes, but offers no PMIx or PMI that they could ask for each other, so each is alone in a job of its own; start them "
           "with ptlrun, mpiexec or srun --mpi=pmix";
  }
  return "";
}

}  // namespace portunus

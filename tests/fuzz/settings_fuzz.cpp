// Whatever the environment and MPI's info objects say is understood or refused with a sentence, and what is understood lies within its
// limits. The first byte says which variable it is for; hints are lines of KEY=VALUE.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "engine/goal/collectives/choice.hpp"
#include "engine/host/debug.hpp"
#include "engine/host/launchers.hpp"
#include "engine/host/options.hpp"
#include "mpi-adi/core/settings.hpp"
#include "mpi-adi/io/hints.hpp"
#include "shmem/memory/symmetric_size.hpp"
#include "tests/fuzz/replay.hpp"

namespace {

constexpr const char* kEngine[] = {"PTL_PROGRESS", "PTL_ENGINE_CORES", "PTL_NODE", "PTL_NODE_RING",
                                   "PTL_DEBUG",    "PTL_PEER_TIMEOUT", "PTL_INFO"};
constexpr const char* kLaunchers[] = {"SLURM_STEP_TASKS_PER_NODE", "PTL_LOCAL_RANK", "PMI_RANK", "OMPI_COMM_WORLD_SIZE"};

void of_engine(const char* name, const std::string& value) {
  setenv(name, value.c_str(), 1);
  try {
    const portunus::Options options = portunus::Options::from_environment();
    require(options.peer_timeout_s >= 1 && options.peer_timeout_s <= 86400, "a limit lies within its limits");
    require(options.ring_bytes >= 64 * 1024 && options.ring_bytes <= (size_t{1} << 30), "a ring's size does");
    require(options.node_wire.latency_ns <= 1'000'000'000, "a wire's latency does");
    for (const portunus::DebugKey& key : portunus::debug_keys())
      require(portunus::debug_value(key.name).has_value() == (portunus::debug_wanted(key.name) != 0) || key.value != nullptr,
              "a key is there, or not");
    require(portunus::debug_wanted("very-short") >= 0, "a number of bytes is none below 0");
  } catch (const std::invalid_argument& e) {
    require(std::string(e.what()).find(name) != std::string::npos, "who is refused learns which variable it was");
  }
  unsetenv(name);
}

void of_launchers(const char* name, const std::string& value) {
  setenv(name, value.c_str(), 1);
  setenv("SLURM_LOCALID", "0", 1);
  setenv("SLURM_NODEID", "1", 1);
  setenv("PTL_LOCAL_SIZE", "4", 1);
  if (const auto place = portunus::exported_place())
    require(place->local_rank >= 0 && place->local_rank < place->local_size, "a place is among the places");
  (void)portunus::pmi_announced();
  unsetenv("PTL_LOCAL_SIZE");
  unsetenv(name);
}

void of_mpi(const portunus::mpi::Setting& setting, const std::string& value) {
  setenv(setting.name, value.c_str(), 1);
  const char* const complaint = portunus::mpi::read_settings();
  if (complaint) require(std::string(complaint).find(setting.name) != std::string::npos, "who is refused learns which variable it was");
  else
    require(portunus::mpi::settings.*setting.value >= setting.least && portunus::mpi::settings.*setting.value <= setting.most,
            "a setting lies within its limits");
  unsetenv(setting.name);
}

void of_info(const std::string& text) {
  portunus::mpi::Hints hints;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size()), equals = std::min(text.find('=', at), end);
    hints.emplace_back(text.substr(at, equals - at), equals < end ? text.substr(equals + 1, end - equals - 1) : "");
    at = end + 1;
  }
  portunus::mpi::io::Tuning tuning;
  tuning.take(hints);
  require(tuning.cb_buffer_size >= 1 && tuning.read_buffer >= 1 && tuning.write_buffer >= 1, "buffers have a size");
  require(tuning.cb_nodes >= 0 && tuning.striping_unit >= 0 && tuning.striping_factor >= 0 && tuning.permissions <= 07777,
          "numbers lie within their limits");
  portunus::mpi::io::Tuning again;
  again.take(tuning.listed("name"));
  require(again.cb_buffer_size == tuning.cb_buffer_size && again.cb_nodes == tuning.cb_nodes && again.read_buffer == tuning.read_buffer,
          "what is listed is understood again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string value = text.substr(0, text.find('\0'));
  const unsigned which = data[0] >> 3;
  switch (data[0] & 7) {
    case 0:
    case 1: of_engine(kEngine[which % std::size(kEngine)], value); break;
    case 2: of_launchers(kLaunchers[which % std::size(kLaunchers)], value); break;
    case 3: of_mpi(portunus::mpi::all_settings()[which % portunus::mpi::all_settings().size()], value); break;
    case 4:
      if (const auto bytes = portunus::shmem::parse_symmetric_size(text)) require(*bytes <= size_t{1} << 48, "a heap can be mapped");
      break;
    case 5: try { (void)portunus::goal::collectives::Choices::parse(text, [](const std::string& path) { return path; });
      } catch (const std::invalid_argument& e) {
        require(e.what()[0] != '\0', "errors have a sentence");
      }
      break;
    default: of_info(text);
  }
  return 0;
}

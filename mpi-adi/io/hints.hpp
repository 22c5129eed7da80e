// hints.hpp: what MPI_Info says about a file: values that are known and make sense; all else is dropped.
//
// Thread: plain values. Source: MPI-5.0, 14.2.8; the names beginning with romio_ are those that programs set for ROMIO.
#pragma once

#include <cstdint>

#include "mpi-adi/core/info.hpp"

namespace portunus::mpi::io {

struct Tuning {
  enum class Choice : uint8_t { automatic, enable, disable };

  int64_t cb_buffer_size = 16777216;  // bytes that an aggregator uses
  int64_t cb_nodes = 0;               // aggregators; 0: one per node
  int64_t read_buffer = 4194304;      // bytes read at once where a view has small gaps
  int64_t write_buffer = 524288;      // bytes packed at once
  int64_t striping_unit = 0, striping_factor = 0;
  int64_t permissions = -1;  // of files made; negative: what the system's mask leaves of 0666
  Choice cb_read = Choice::automatic, cb_write = Choice::automatic;
  Choice ds_read = Choice::automatic, ds_write = Choice::automatic;  // ds_write disabled: nothing is mapped
  bool sync_on_close = false;
  char cb_config_list[64] = "*:1";

  void take(const Hints& hints);
  Hints listed(const char* filename) const;
};

}  // namespace portunus::mpi::io

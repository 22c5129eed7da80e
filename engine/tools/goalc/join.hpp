// Makes of the records of a job's ranks one schedule per rank: a program that sends the same messages, after the same waits.
//
// An operation waits for what the program had waited for when it came to it: what blocks is waited for at once, the rest by its request.
// Time computed is a calc; less than a microsecond is added to the next one. A collective is the messages of the algorithm that a schedule
// would use. What is put into a rank's memory is a message that only the end of the epoch there waits for (fence, the other side's
// MPI_Win_wait), what is got a message there and back.
//
// Thread: any; pure but for the files.
#pragma once

#include <string>
#include <vector>

#include "engine/goal/schedules/schedule.hpp"

namespace portunus::goalc {

struct Joined {
  std::vector<goal::Schedule> ranks;
  std::vector<std::string> remarks;  // what the schedules do not say, a sentence each
  uint64_t took_ns = 0;              // of the rank that took longest, from the end of its MPI_Init to MPI_Finalize
};

// Throws std::runtime_error with a sentence.
[[nodiscard]] Joined join_records(const std::string& folder);

}  // namespace portunus::goalc

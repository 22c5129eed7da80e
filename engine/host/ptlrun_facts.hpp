// ptlrun_facts.hpp: what ptlrun tells ranks, and ranks tell it, for which the PMIx standard has no key.
#pragma once

namespace portunus {

inline constexpr char kFamilyKey[] = "ptlrun.family";  // text: the job that ptlrun was asked for, be it this one or not
inline constexpr char kNoteKey[] = "ptlrun.note";      // text: of spawned jobs, what the rank tells it that asked for it
inline constexpr char kBornKey[] = "ptlrun.born";      // number: of spawned jobs, the processes that were started before
inline constexpr char kPathKey[] = "ptlrun.path";      // text: of a program to be started, where it is sought instead of PATH

}  // namespace portunus

// spawn.cpp: jobs that this process asks its launcher for, and what the one that it is in was told.
#include <algorithm>
#include <cstring>
#include <string>

#include "portals/arguments.hpp"
#include "portals/job.hpp"
#include "portals/portals4_ext.h"

using namespace portunus;

namespace {

void say(char* text, const std::string& what) {
  const size_t length = std::min<size_t>(what.size(), PTLX_SPAWN_TEXT - 1);
  std::memcpy(text, what.data(), length);
  text[length] = '\0';
}

std::string text_or_none(const char* text) { return text ? text : ""; }

}  // namespace

extern "C" {

int PtlxJobSpawn(const ptlx_program_t* programs, size_t count, const char* note, char* text) try {
  if (!programs || !note || !text) return api::refuse(__func__, {!programs ? "programs" : !note ? "note" : "text", api::kIsNull});
  if (count == 0) return api::refuse(__func__, {"count", "is 0: there is nothing to start"});
  if (!api::job().bootstrap) return api::refuse(__func__, api::kNoJob);
  std::vector<SpawnedProgram> list;
  for (const ptlx_program_t* program = programs; program != programs + count; ++program) {
    if (!program->program || program->processes < 0)
      return api::refuse(__func__, {"programs", "has one without a name, or for less than 0 processes"});
    SpawnedProgram& given = list.emplace_back();
    given.ranks = program->processes;
    given.command.emplace_back(program->program);
    for (char* const* word = program->arguments; word && *word; ++word) given.command.emplace_back(*word);
    given.folder = text_or_none(program->folder);
    given.path = text_or_none(program->path);
    given.hosts = text_or_none(program->hosts);
  }
  return api::stepping_meanwhile([&]() -> int {
    try {
      say(text, api::job().bootstrap->spawn(list, note));
      return PTL_OK;
    } catch (const std::exception& error) {
      say(text, error.what());
      return PTL_FAIL;
    }
  });
}
PTL_BARRIER

int PtlxJobEnded(const char* job_id) try { return job_id && api::job().bootstrap && api::job().bootstrap->has_ended(job_id); }
PTL_BARRIER

const char* PtlxJobNote(void) {
  return api::job().bootstrap && api::job().bootstrap->view().note ? api::job().bootstrap->view().note->c_str() : nullptr;
}

}  // extern "C"

// jobs_spawned.cpp: jobs that ranks ask their launcher for. Started by ptlrun; the children are this program again, who are told by a note
// how to reach rank 0 and say so there.
#include <cstdio>
#include <cstring>
#include <string>

#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace {

int failures = 0;
void expect(bool holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "jobs_spawned.cpp:%d: not so: %s\n", line, what);
}
#define EXPECT(holds) expect((holds), #holds, __LINE__)

constexpr ptl_pt_index_t kEntry = 3;
struct Word {
  ptlx_contact_t contact;  // of who says it
  unsigned int number;     // among all that the launcher has started
  int spawned, argument;
};

ptl_handle_ni_t open(unsigned options) {
  ptl_handle_ni_t ni;
  EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | options, PTL_PID_ANY, nullptr, nullptr, &ni) == PTL_OK);
  return ni;
}

// NID:PID, then the words of the contact.
std::string note_for(const ptl_process_t& physical, const ptlx_contact_t& contact) {
  std::string note = std::to_string(physical.phys.nid) + ":" + std::to_string(physical.phys.pid);
  for (const uint64_t word : contact.words) note += ":" + std::to_string(word);
  return note;
}

void child(const ptlx_job_t& job, int argument) {
  ptl_process_t parent{};
  ptlx_contact_t contact{};
  unsigned nid, pid;
  unsigned long long words[4];
  EXPECT(std::sscanf(PtlxJobNote(), "%u:%u:%llu:%llu:%llu:%llu", &nid, &pid, &words[0], &words[1], &words[2], &words[3]) == 6);
  for (int i = 0; i < 4; ++i) contact.words[i] = words[i];
  parent.phys = {nid, pid};
  const ptl_handle_ni_t logical = open(PTL_NI_LOGICAL), physical = open(PTL_NI_PHYSICAL);
  ptl_rank_t rank = PTL_RANK_ANY;
  EXPECT(PtlxJobMap(logical) == PTL_OK);
  EXPECT(PtlxMapExtend(logical, &contact, 1, &rank) == PTL_OK && rank == static_cast<ptl_rank_t>(job.size));
  Word word{};
  EXPECT(PtlxContact(logical, &word.contact) == PTL_OK);
  word.number = job.first + static_cast<unsigned>(job.rank);
  word.spawned = job.spawned;
  word.argument = argument;
  ptl_handle_ct_t done;
  PtlCTAlloc(physical, &done);
  ptl_md_t md{&word, sizeof word, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, done};
  ptl_handle_md_t handle;
  EXPECT(PtlMDBind(physical, &md, &handle) == PTL_OK);
  EXPECT(PtlPut(handle, 0, sizeof word, PTL_CT_ACK_REQ, parent, kEntry, 0, 0, nullptr, 0) == PTL_OK);
  ptl_ct_event_t value{};
  EXPECT(PtlCTWait(done, 1, &value) == PTL_OK && value.failure == 0);
}

void parent(const ptlx_job_t& job, char* program) {
  const ptl_handle_ni_t physical = open(PTL_NI_PHYSICAL);
  ptl_process_t self;
  ptlx_contact_t contact;
  ptl_pt_index_t pt;
  EXPECT(PtlGetPhysId(physical, &self) == PTL_OK && PtlxContact(physical, &contact) == PTL_OK);
  EXPECT(PtlPTAlloc(physical, 0, PTL_EQ_NONE, kEntry, &pt) == PTL_OK);
  const std::string note = note_for(self, contact);
  char first[] = "one", second[] = "two words", text[PTLX_SPAWN_TEXT];
  char *one[] = {first, nullptr}, *two[] = {second, nullptr};
  ptlx_program_t programs[2]{};
  programs[0].program = programs[1].program = program;
  programs[0].processes = 1, programs[1].processes = 2;
  programs[0].arguments = one, programs[1].arguments = two;
  EXPECT(PtlxJobSpawn(nullptr, 1, "", text) == PTL_ARG_INVALID && PtlxJobSpawn(programs, 0, "", text) == PTL_ARG_INVALID);
  EXPECT(PtlxJobSpawn(programs, 1, nullptr, text) == PTL_ARG_INVALID && PtlxJobSpawn(programs, 1, "", nullptr) == PTL_ARG_INVALID);
  for (unsigned round = 0; round < 2; ++round) {
    ptl_handle_ct_t arrived;
    PtlCTAlloc(physical, &arrived);
    Word words[3]{};
    for (Word& word : words) {
      ptl_me_t me{};
      me.start = &word;
      me.length = sizeof word;
      me.ct_handle = arrived;
      me.uid = PTL_UID_ANY;
      me.options = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | PTL_ME_USE_ONCE;
      me.match_id.phys = {PTL_NID_ANY, PTL_PID_ANY};
      ptl_handle_me_t handle;
      EXPECT(PtlMEAppend(physical, kEntry, &me, PTL_PRIORITY_LIST, nullptr, &handle) == PTL_OK);
    }
    EXPECT(PtlxJobSpawn(programs, 2, note.c_str(), text) == PTL_OK);
    const std::string id = text;
    EXPECT(id != job.job_id && !id.empty());
    ptl_ct_event_t value{};
    EXPECT(PtlCTWait(arrived, 3, &value) == PTL_OK && value.failure == 0);
    // Processes of all jobs have different numbers; those of the first programs the lower ones.
    unsigned least = ~0u, arguments[3] = {};
    for (const Word& word : words) least = word.number < least ? word.number : least;
    EXPECT(least == static_cast<unsigned>(job.size) + 3 * round);
    for (const Word& word : words) {
      EXPECT(word.spawned == 1 && word.number - least < 3);
      if (word.number - least < 3) arguments[word.number - least] = static_cast<unsigned>(word.argument);
    }
    EXPECT(arguments[0] == 3 && arguments[1] == 9 && arguments[2] == 9);  // lengths
    while (PtlxJobEnded(id.c_str()) == 0) PtlxProgress();
    EXPECT(PtlxJobEnded("another") == 0 && PtlxJobEnded(nullptr) == 0);
  }
  // A program that cannot be started is not, and a sentence says why.
  programs[1].program = "/no/such/program";
  EXPECT(PtlxJobSpawn(programs, 2, "", text) == PTL_FAIL && std::strstr(text, "not found") != nullptr);
  programs[1].program = program, programs[1].folder = "/no/such/folder";
  EXPECT(PtlxJobSpawn(programs, 2, "", text) == PTL_FAIL && std::strstr(text, "folder") != nullptr);
  programs[1].folder = nullptr, programs[1].hosts = "elsewhere.invalid";
  EXPECT(PtlxJobSpawn(programs, 2, "", text) == PTL_FAIL && std::strstr(text, "host") != nullptr);
  programs[1].hosts = nullptr, programs[0].processes = programs[1].processes = 0;
  EXPECT(PtlxJobSpawn(programs, 2, "", text) == PTL_FAIL);
  programs[0].processes = -1;
  EXPECT(PtlxJobSpawn(programs, 2, "", text) == PTL_ARG_INVALID);
}

}  // namespace

int main(int argc, char** argv) {
  ptlx_job_t job;
  EXPECT(PtlxJobNote() == nullptr && PtlxJobEnded("any") == 0);
  EXPECT(PtlInit() == PTL_OK && PtlxJobInit(&job) == PTL_OK);
  EXPECT(job.spawned == (argc > 1) && (PtlxJobNote() != nullptr) == (argc > 1) && job.room >= 1);
  EXPECT(std::strncmp(job.job_id, job.family_id, std::strlen(job.family_id)) == 0);
  if (argc > 1) child(job, static_cast<int>(std::strlen(argv[1])));
  else if (job.rank == 0) parent(job, argv[0]);
  PtlFini();
  PtlxJobFini();
  return failures == 0 ? 0 : 1;
}

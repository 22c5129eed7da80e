// The table of other launchers' options.
//
// Thread: pure.
#include "engine/tools/ptlrun/spellings.hpp"

#include <algorithm>
#include <iterator>

namespace portunus::launch {
namespace {

constexpr Spelling kSpellings[] = {
    {"np", 1, Meaning::ranks},
    {"c", 1, Meaning::ranks},
    {"bind-to", 1, Meaning::bind},
    {"binding", 1, Meaning::bind},
    {"bind-to-core", 0, Meaning::bind_core},
    {"ppn", 1, Meaning::per_host},
    {"perhost", 1, Meaning::per_host},
    {"npernode", 1, Meaning::per_host},
    {"N", 1, Meaning::per_host},
    {"wdir", 1, Meaning::folder},
    {"wd", 1, Meaning::folder},
    {"gwdir", 1, Meaning::folder_for_all},
    {"path", 1, Meaning::path},
    {"env", 2, Meaning::set},
    {"genv", 2, Meaning::set_for_all},
    {"envlist", 1, Meaning::list},
    {"genvlist", 1, Meaning::list_for_all},
    {"envnone", 0, Meaning::none},
    {"genvnone", 0, Meaning::none_for_all},
    {"l", 0, Meaning::tag},
    {"prepend-rank", 0, Meaning::tag},
    {"iface", 1, Meaning::interfaces},
    {"host", 1, Meaning::hosts},
    {"H", 1, Meaning::hosts},
    {"hosts", 1, Meaning::hosts, true},
    {"hostfile", 1, Meaning::host_file},
    {"machinefile", 1, Meaning::host_file},
    {"machine-file", 1, Meaning::host_file},
    {"default-hostfile", 1, Meaning::host_file},
    {"f", 1, Meaning::host_file},
    {"launcher-exec", 1, Meaning::agent},
    // Everything below is accepted in silence. Ranks inherit the whole environment as it is; where they run, the kernel decides
    // unless they are bound; there are no limits on how many share a core.
    {"envall", 0, Meaning::nothing},
    {"soft", 1, Meaning::nothing},
    {"genvall", 0, Meaning::nothing},
    {"map-by", 1, Meaning::nothing},
    {"rank-by", 1, Meaning::nothing},
    {"ranks-by", 1, Meaning::nothing},
    {"bycore", 0, Meaning::nothing},
    {"bynode", 0, Meaning::nothing},
    {"byslot", 0, Meaning::nothing},
    {"bind-to-none", 0, Meaning::nothing},
    {"report-bindings", 0, Meaning::nothing},
    {"use-hwthread-cpus", 0, Meaning::nothing},
    {"oversubscribe", 0, Meaning::nothing},
    {"nooversubscribe", 0, Meaning::nothing},
    {"allow-run-as-root", 0, Meaning::nothing},
    {"mca", 2, Meaning::parameter},
    {"gmca", 2, Meaning::parameter},
    {"launcher", 1, Meaning::nothing},
    {"rmk", 1, Meaning::nothing},
    {"v", 0, Meaning::nothing},
    {"verbose", 0, Meaning::nothing},
    {"quiet", 0, Meaning::nothing},
};

}  // namespace

const Spelling* spelling_of(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return nullptr;
  const bool two = word[1] == '-';
  const std::string name = word.substr(two ? 2 : 1, word.find('=') - (two ? 2 : 1));
  const auto found = std::find_if(std::begin(kSpellings), std::end(kSpellings),
                                  [&](const Spelling& each) { return name == each.name && !(two && each.one_dash); });
  return found == std::end(kSpellings) ? nullptr : found;
}

}  // namespace portunus::launch

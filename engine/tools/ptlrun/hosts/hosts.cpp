// Messages between the hosts of a job once it runs.
//
// Thread: ptlrun's main thread.
#include "engine/tools/ptlrun/hosts/hosts.hpp"

#include <algorithm>

namespace portunus::launch {
namespace {

constexpr std::chrono::seconds kFetchTime{2};  // as long as libpmix waits for a rank of the same host
constexpr std::chrono::milliseconds kRetryTime{20};

}  // namespace

bool Hosts::fits(const std::string& data) {
  if (data.size() < kMaxBody / 2) return true;  // half: keys and the other hosts' share come to it
  handlers_.end(1, "the ranks exchange more than " + std::to_string(kMaxBody >> 21) + " MiB at once; put less under their keys",
                Ending::spare_finalized);
  return false;
}

void Hosts::fence(FenceRequest request) {
  if (!fits(request.data)) return;
  fences_[request.key] = std::move(request.done);
  const std::set<int> hosts(request.hosts.begin(), request.hosts.end());
  if (plan_.host_id == 0) return contribute(request.key, hosts, 0, std::move(request.data));
  std::string body;
  put_text(body, request.key);
  put_number(body, static_cast<uint32_t>(hosts.size()));
  for (const int host : hosts) put_number(body, static_cast<uint32_t>(host));
  put_text(body, request.data);
  link_.send(Word::fence, 0, std::move(body));
}

// At host 0: one more host has arrived at a fence. The last one opens it for all.
void Hosts::contribute(const std::string& key, const std::set<int>& hosts, int host, std::string data) {
  Gathering& gathering = gatherings_[key];
  gathering.hosts = hosts;
  gathering.data[host] = std::move(data);
  if (gathering.data.size() < gathering.hosts.size()) return;
  std::string all;
  for (const auto& [from, part] : gathering.data) all += part;
  gatherings_.erase(key);  // a quick host may come to the next fence of this name at once
  if (!fits(all)) return;
  for (const int to : hosts) {
    if (to == 0) continue;
    std::string body;
    put_text(body, key);
    put_text(body, all);
    link_.send(Word::fence_done, to, std::move(body));
  }
  if (hosts.contains(0)) answer_fence(key, all);
}

void Hosts::answer_fence(const std::string& key, const std::string& data) {
  const auto waiting = fences_.find(key);
  if (waiting == fences_.end()) return;
  const Answer answer = std::move(waiting->second);
  fences_.erase(waiting);
  answer(true, data);
}

void Hosts::modex(ModexRequest request) {
  const uint32_t id = next_fetch_++;
  fetches_[id] = std::move(request.done);
  std::string body;
  put_number(body, id);
  put_number(body, static_cast<uint32_t>(request.rank));
  put_text(body, request.key);
  link_.send(Word::modex, plan_.host_of(request.rank), std::move(body));
}

void Hosts::tell_finished() {
  if (plan_.host_id == 0) take_finished(0);
  else link_.send(Word::finished, 0, "");
}

void Hosts::take_finished(int host) {
  finished_.insert(host);
  if (finished_.size() < plan_.hosts.size()) return;
  all_finished_ = true;
  link_.send(Word::all_finished, kEveryOther, "");
}

void Hosts::tell_end(int status, const std::string& sentence, Ending ending) {
  std::string body;
  put_number(body, static_cast<uint32_t>(status));
  put_text(body, sentence);
  put_number(body, static_cast<uint32_t>(ending));
  link_.send(Word::end, kEveryOther, std::move(body));
}

void Hosts::tell_signal(int number) {
  std::string body;
  put_number(body, static_cast<uint32_t>(number));
  link_.send(Word::signal, kEveryOther, std::move(body));
}

void Hosts::tell_absent(int rank) {
  std::string body;
  put_number(body, static_cast<uint32_t>(rank));
  link_.send(Word::absent, kEveryOther, std::move(body));
}

void Hosts::service(const std::vector<pollfd>& list) {
  std::string failure;
  for (const Message& message : link_.service(list, failure)) take(message);
  if (!failure.empty() && !all_finished_) handlers_.lost(failure);
}

void Hosts::take(const Message& message) {
  Reader reader(message.body);
  bool good = true;
  switch (message.word) {
    case Word::fence: good = take_fence(message); break;
    case Word::fence_done: good = take_fence_done(message); break;
    case Word::modex: good = take_modex(message); break;
    case Word::modex_reply: good = take_modex_reply(message); break;
    case Word::signal: {
      const auto number = reader.number();
      good = reader.complete() && number >= 1 && number <= 64;
      if (good) handlers_.signal(static_cast<int>(number));
      break;
    }
    case Word::absent: {
      const auto rank = static_cast<int>(reader.number());
      good = reader.complete() && plan_.host_of(rank) == message.from;
      if (good) server_->rank_absent(rank);
      break;
    }
    case Word::finished:
      good = plan_.host_id == 0;
      if (good) take_finished(message.from);
      break;
    case Word::all_finished: all_finished_ = true; break;
    case Word::clock:
    case Word::record: good = handlers_.record(message); break;
    case Word::end: {
      const auto status = reader.number();
      const std::string sentence = reader.text();
      const auto ending = reader.number();
      good = reader.complete() && status <= 255 && ending <= static_cast<uint32_t>(Ending::at_once);
      if (good)
        handlers_.end(static_cast<int>(status),
                      sentence.empty() ? "" : "host " + std::to_string(message.from) + " ended the job: " + sentence,
                      static_cast<Ending>(ending));
      break;
    }
    default: good = false;
  }
  if (!good)
    handlers_.end(1,
                  "host " + std::to_string(message.from) + " sent a message that makes no sense; use the same version of ptlrun everywhere",
                  Ending::spare_finalized);
}

bool Hosts::take_fence(const Message& message) {
  Reader reader(message.body);
  const std::string key = reader.text();
  const auto count = reader.number();
  std::set<int> hosts;
  for (uint32_t i = 0; i < count && reader.good(); ++i) hosts.insert(static_cast<int>(reader.number()));
  std::string data = reader.text();
  const bool known =
      std::all_of(hosts.begin(), hosts.end(), [this](int host) { return host >= 0 && host < static_cast<int>(plan_.hosts.size()); });
  if (plan_.host_id != 0 || !reader.complete() || !known || !hosts.contains(message.from)) return false;
  contribute(key, hosts, message.from, std::move(data));
  return true;
}

bool Hosts::take_fence_done(const Message& message) {
  Reader reader(message.body);
  const std::string key = reader.text();
  const std::string data = reader.text();
  if (!reader.complete()) return false;
  answer_fence(key, data);
  return true;
}

bool Hosts::take_modex(const Message& message) {
  Reader reader(message.body);
  const auto id = reader.number();
  const auto rank = static_cast<int>(reader.number());
  const std::string key = reader.text();
  if (!reader.complete() || plan_.host_of(rank) != plan_.host_id) return false;
  serve({id, message.from, rank, key, Clock::now(), Clock::now() + kFetchTime});
  return true;
}

void Hosts::serve(const Fetch& fetch) {
  server_->serve_modex(fetch.rank, [this, fetch](bool good, const std::string& data) { reply(fetch, good, data); });
}

// libpmix gives what the rank has committed so far. The key stands in it as plain text, so its absence means: not yet.
void Hosts::reply(Fetch fetch, bool good, const std::string& data) {
  const auto now = Clock::now();
  if (good && data.find(fetch.key) == std::string::npos && now < fetch.until) {
    fetch.next_try = now + kRetryTime;
    waiting_.push_back(fetch);
    return;
  }
  std::string body;
  put_number(body, fetch.id);
  put_number(body, good ? 1 : 0);
  put_text(body, data);
  link_.send(Word::modex_reply, fetch.host, std::move(body));
}

Hosts::Clock::time_point Hosts::next_try() const {
  auto next = Clock::time_point::max();
  for (const Fetch& fetch : waiting_) next = std::min(next, fetch.next_try);
  return next;
}

void Hosts::retry(Clock::time_point now) {
  std::vector<Fetch> due;
  std::erase_if(waiting_, [&](const Fetch& fetch) {
    if (fetch.next_try <= now) due.push_back(fetch);
    return fetch.next_try <= now;
  });
  for (const Fetch& fetch : due) serve(fetch);
}

bool Hosts::take_modex_reply(const Message& message) {
  Reader reader(message.body);
  const auto id = reader.number();
  const bool good = reader.number() != 0;
  const std::string data = reader.text();
  const auto waiting = fetches_.find(id);
  if (!reader.complete() || waiting == fetches_.end()) return false;
  const Answer answer = std::move(waiting->second);
  fetches_.erase(waiting);
  answer(good, data);
  return true;
}

}  // namespace portunus::launch

// Whatever sequence of headers arrives, in whatever state the engine is, it touches no memory but that of the entries and
// descriptors that are open for it, ends every operation, and does not crash.
//
// The bytes of an input are a script: local calls (append, put, get, unlink ..), arrivals whose headers are taken from the
// script or imitate answers to what is outstanding, and the whims of a transport. With Clang built as a libFuzzer target
// (-fsanitize=fuzzer); with -DFUZZ_REPLAY a program that runs the files of the folders named on its command line, and
// then, after `--random N`, N scripts of chance.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/support/fabric_message.hpp"
#include "tests/support/rig.hpp"

namespace {

using namespace portunus;

void require(bool holds, const char* invariant) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", invariant);
  std::abort();
}

// How far the scripts got, so that a test of nothing but refusals is noticed.
struct {
  uint64_t arrivals = 0, matches = 0, malformed = 0, bulk_bytes = 0, unexpected = 0;
} seen;

// The input, read piece by piece; zeros once it is used up.
class Script {
 public:
  Script(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool over() const { return next_ >= size_; }
  uint8_t byte() { return over() ? 0 : data_[next_++]; }
  uint64_t word() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }
  // Small numbers, limits, and now and then anything.
  uint64_t number() {
    static constexpr uint64_t kLikely[] = {0,
                                           1,
                                           7,
                                           8,
                                           9,
                                           16,
                                           64,
                                           100,
                                           4096,
                                           8191,
                                           8192,
                                           8193,
                                           32767,
                                           32768,
                                           32769,
                                           65535,
                                           65536,
                                           1 << 20,
                                           uint64_t{1} << 40,
                                           uint64_t{1} << 63,
                                           ~uint64_t{0},
                                           ~uint64_t{0} - 7};
    const uint8_t choice = byte();
    if (choice < std::size(kLikely)) return kLikely[choice];
    return choice < 250 ? choice : word();
  }
  uint64_t below(uint64_t bound) { return byte() % bound; }

 private:
  const uint8_t* data_;
  size_t size_, next_ = 0;
};

// Memory with known bytes around it.
class Guarded {
 public:
  explicit Guarded(size_t size) : bytes_(size + 2 * kGuard, kMark), size_(size) {}
  uint8_t* data() { return bytes_.data() + kGuard; }
  size_t size() const { return size_; }
  void check() const {
    for (size_t i = 0; i < kGuard; ++i)
      require(bytes_[i] == kMark && bytes_[kGuard + size_ + i] == kMark, "memory beside an entry is not touched");
  }

 private:
  static constexpr size_t kGuard = 256;
  static constexpr uint8_t kMark = 0xc3;
  std::vector<uint8_t> bytes_;
  size_t size_;
};

constexpr uint32_t kPeers = 3;
constexpr size_t kEager = 8192;

// Takes or refuses as the script says, remembers what was asked for, moves bulk data at once, later or not at all.
class Wild final : public Transport {
 public:
  explicit Wild(Script& script) : script_(script) {
    for (uint32_t i = 0; i < kPeers; ++i) {
      links[i].process = {0x7f000001, 1001 + i};
      links[i].uid = 1000 + i;
    }
  }
  TransportName name() const override { return {PTLX_TRANSPORT_NETWORK, "wild"}; }
  TransportLimits limits() const override { return {kEager, size_t{1} << 16}; }
  Link* connect(ProcessId process) override {
    for (Link& link : links)
      if (link.process == process) return &link;
    return nullptr;
  }
  Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) override {
    size_t size = 0;
    uint8_t sum = 0;
    for (const iovec& part : payload) {
      size += part.iov_len;
      for (size_t i = 0; i < part.iov_len; ++i) sum = static_cast<uint8_t>(sum + static_cast<uint8_t*>(part.iov_base)[i]);
    }
    checksum += sum;
    require(size == header.payload_size && size <= kEager, "a message is as long as it says, and no longer than may be");
    require(header.kind > wire::Kind::none && header.kind <= wire::Kind::last_kind, "a message is of a known kind");
    require(!lost[&link - links], "nothing is sent to the lost");
    if (!generous) {
      const uint8_t mood = script_.byte();
      if (mood % 16 == 1) return Sent::again;
      if (mood == 255) return Sent::failed;
    }
    if (header.token != 0 && header.kind <= wire::Kind::swap) tokens.push_back({static_cast<uint32_t>(&link - links), header});
    if (header.kind == wire::Kind::stream_request) tokens.push_back({static_cast<uint32_t>(&link - links), header});
    return Sent::done;
  }
  bool expose(Link&, const void*, size_t, bool, Exposed& out) override {
    out.region = {1, 2};
    if (script_.byte() % 2 == 0) return false;
    ++exposed;
    return true;
  }
  void withdraw(Exposed&) override { --exposed; }
  Moved pull(Link& link, const wire::Region&, void* to, size_t size, void* context) override {
    if (lost[&link - links]) return Moved::failed;
    const Moved result = whim(context);
    if (result == Moved::done) std::memset(to, 0x5d, size);
    return result;
  }
  Moved push(Link& link, const wire::Region&, const void* from, size_t size, void* context) override {
    if (lost[&link - links]) return Moved::failed;
    const Moved result = whim(context);
    for (size_t i = 0; i < size && result == Moved::done; ++i) checksum += static_cast<const uint8_t*>(from)[i];
    return result;
  }
  int poll(int) override { return 0; }
  bool idle() override { return true; }

  struct Asked {
    uint32_t peer;
    wire::Header header;
  };
  Link links[kPeers];
  bool lost[kPeers] = {};
  bool generous = false;      // the end: everything is taken
  std::vector<Asked> tokens;  // what awaits an answer, as far as we know
  std::vector<void*> started;
  int exposed = 0;
  unsigned checksum = 0;

 private:
  Moved whim(void* context) {
    static constexpr Moved kWhims[] = {Moved::done, Moved::done, Moved::started, Moved::again, Moved::failed};
    const Moved result = generous ? Moved::done : kWhims[script_.below(std::size(kWhims))];
    if (result == Moved::started) started.push_back(context);
    return result;
  }
  Script& script_;
};

class Run {
 public:
  explicit Run(Script script) : script_(script), node_(hub_, {0x7f000001, 1000}) {
    auto wild = std::make_unique<Wild>(script_);
    wild_ = wild.get();
    node_.engine.peers().add_transport(std::move(wild));
    Interface& ni = node_.engine.interface(0);
    ni.options = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
    ni.limits.max_pt_index = 63;
    ni.limits.max_unexpected_headers = 64;
    ni.limits.max_waw_ordered_size = 1 << 20;
    ni.open.store(true);
    eq_ = node_.queue(16);
    ct_ = node_.counter();
    for (const unsigned options : {0u, 0u, unsigned{PTL_PT_FLOWCTRL}}) node_.portal(eq_, options);
    for (const uint32_t list : {PTL_PRIORITY_LIST, PTL_OVERFLOW_LIST}) {
      for (const size_t size : {0u, 1u, 8u, 100u, 8192u, 70'000u, 300'000u}) memory_[list].emplace_back(size);
      for (size_t i = 0; i < 3; ++i) pieces_[list][i] = {memory_[list][2 + i].data(), memory_[list][2 + i].size()};
    }
  }

  void play() {
    for (int i = 0; i < 6; ++i) append();
    while (!script_.over()) {
      switch (script_.below(16)) {
        case 0: append(); break;
        case 1: call(); break;
        case 2: node_.engine.step(now_ += script_.byte() * 10'000'000u); break;
        case 3: moved(); break;
        case 4: unlink(); break;
        case 5: portal(); break;
        case 6: lose(); break;
        case 7:
        case 8: answer(); break;
        case 9: raw(); break;
        default: request(); break;
      }
      if (script_.byte() % 4 == 0) node_.events(eq_);
    }
    finish();
  }

 private:
  // Lets all peers die and all whims end: nothing may be left waiting.
  void finish() {
    wild_->generous = true;
    while (!wild_->started.empty()) moved();
    for (uint32_t i = 0; i < kPeers; ++i) lose(i);
    for (int i = 0; i < 10'000 && !node_.engine.flushed(); ++i) node_.engine.step(now_ += 1'000'000'000);
    require(node_.engine.flushed(), "when all peers are lost, every operation ends");
    Stats& stats = node_.engine.stats();
    seen.arrivals += stats.arrivals.read();
    seen.matches += stats.matches.read();
    seen.malformed += stats.malformed.read();
    seen.bulk_bytes += stats.bulk_bytes.read();
    seen.unexpected += stats.unexpected.read();
    require(wild_->exposed == 0, "what was exposed is withdrawn");
    node_.engine.close_interface(0);
    for (const auto& memories : memory_)
      for (const Guarded& memory : memories) memory.check();
  }

  void append() {
    test::Node::Entry want;
    static constexpr uint32_t kOptions[] = {PTL_ME_MANAGE_LOCAL,
                                            PTL_ME_USE_ONCE,
                                            PTL_ME_NO_TRUNCATE,
                                            PTL_ME_EVENT_CT_COMM,
                                            PTL_ME_EVENT_CT_OVERFLOW,
                                            PTL_ME_EVENT_CT_BYTES,
                                            PTL_ME_UNEXPECTED_HDR_DISABLE,
                                            PTLX_ME_HOLD,
                                            PTLX_ME_COMPLETE_UNEXPECTED,
                                            PTL_ME_LOCAL_INC_UH_RLENGTH,
                                            PTL_ME_EVENT_UNLINK_DISABLE};
    const uint64_t chosen = script_.byte() | script_.byte() << 8;
    want.options = PTL_ME_EVENT_LINK_DISABLE;
    for (size_t i = 0; i < std::size(kOptions); ++i)
      if (chosen >> i & 1) want.options |= kOptions[i];
    const uint8_t kinds = script_.byte();
    if (kinds % 8 != 1) want.options |= PTL_ME_OP_PUT;
    if (kinds % 8 != 2) want.options |= PTL_ME_OP_GET;
    want.list = kinds & 64 ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST;
    if (want.list == PTL_PRIORITY_LIST) want.options &= ~static_cast<uint32_t>(PTLX_ME_HOLD);
    if (want.list == PTL_OVERFLOW_LIST) want.options &= ~static_cast<uint32_t>(PTLX_ME_COMPLETE_UNEXPECTED);
    if (kinds & 128) {
      want.options |= PTL_IOVEC;
      want.start = pieces_[want.list];
      want.length = std::size(pieces_[want.list]);
    } else {
      Guarded& memory = memory_[want.list][script_.below(memory_[want.list].size())];
      want.start = memory.data();
      want.length = memory.size();
    }
    want.ct = ct_;
    want.min_free = script_.number();
    want.match_bits = script_.below(4);
    want.ignore_bits = script_.byte() % 4 ? 3 : 0;
    want.uid = script_.byte() % 8 == 3 ? 1001 : PTL_UID_ANY;
    entries_.push_back(node_.append(want, static_cast<uint32_t>(script_.below(3))));
  }

  void call() {
    static constexpr Verb kVerbs[] = {Verb::put, Verb::get, Verb::atomic, Verb::fetch_atomic, Verb::swap};
    const Verb verb = kVerbs[script_.below(std::size(kVerbs))];
    static constexpr uint64_t kLengths[] = {0, 8, 64, 8192, 8200, 69'000, 300'000};
    const bool small = verb != Verb::put && verb != Verb::get;
    Command command = node_.put(memory_[PTL_PRIORITY_LIST].back().data(), kLengths[script_.below(small ? 3 : std::size(kLengths))], 0);
    command.verb = verb;
    command.target.phys = {0x7f000001, 1001 + static_cast<uint32_t>(script_.below(kPeers))};
    static constexpr uint8_t kAcks[] = {PTL_NO_ACK_REQ, PTL_ACK_REQ, PTL_CT_ACK_REQ, PTL_OC_ACK_REQ};
    command.ack = kAcks[script_.below(std::size(kAcks))];
    command.op = verb == Verb::swap ? PTL_SWAP : PTL_SUM;
    command.datatype = PTL_UINT64_T;
    command.source.eq = command.result.eq = eq_;
    command.source.ct = command.result.ct = ct_;
    command.source.options = command.result.options =
        PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY | (script_.byte() % 4 == 1 ? unsigned{PTL_MD_VOLATILE} : 0u);
    command.result.base = memory_[PTL_PRIORITY_LIST].back().data();
    if (script_.byte() % 4 == 1) {
      command.source.base = pieces_[PTL_PRIORITY_LIST];
      command.source.iov_count = std::size(pieces_[PTL_PRIORITY_LIST]);
      command.length = std::min<uint64_t>(command.length, 8300);
    }
    node_.run(command);
  }

  // Mostly one that makes sense, so that it gets past the first check; then some of it is spoilt.
  wire::Header any_header() {
    using wire::Kind;
    static constexpr Kind kKinds[] = {Kind::put, Kind::put, Kind::get, Kind::atomic, Kind::fetch_atomic, Kind::swap};
    wire::Header header{};
    header.kind = kKinds[script_.below(std::size(kKinds))];
    header.op = header.kind == Kind::swap ? PTL_SWAP : PTL_SUM;
    header.datatype = PTL_UINT64_T;
    header.flags = static_cast<uint8_t>(script_.byte() & wire::kAckMask);
    header.pt_index = static_cast<uint16_t>(script_.below(3));
    header.match_bits = script_.below(4);
    header.rlength = script_.number();
    header.remote_offset = script_.byte() % 4 ? 0 : script_.number();
    header.token = script_.byte() % 4 ? script_.below(8) + 1 : script_.word();
    const bool one_way = header.kind == Kind::put || header.kind == Kind::atomic;
    if (!one_way && header.kind != Kind::get) {
      if (header.rlength > kEager) header.flags |= wire::kBulk | wire::kNoRegion;
      header.rlength = (header.rlength > kEager ? header.rlength : std::min<uint64_t>(header.rlength, 8000)) & ~uint64_t{7};
    }
    if ((one_way || header.kind == Kind::get) && (header.rlength > kEager || script_.byte() % 4 == 0))
      header.flags |= script_.byte() % 2 ? wire::kBulk : wire::kBulk | wire::kNoRegion;
    const bool bulk = header.flags & wire::kBulk;
    const size_t region = bulk && !(header.flags & wire::kNoRegion) ? sizeof(wire::Region) : 0;
    header.payload_size = static_cast<uint16_t>(bulk || header.kind == Kind::get ? region : header.rlength);
    if (header.kind == Kind::swap && !bulk) header.payload_size = static_cast<uint16_t>(header.rlength + 8);
    switch (script_.byte() % 32) {
      case 1: header.kind = static_cast<Kind>(script_.byte() % 12); break;
      case 2: header.flags = script_.byte(); break;
      case 3: header.op = script_.byte(); break;
      case 4: header.datatype = script_.byte(); break;
      case 5: header.pt_index = static_cast<uint16_t>(script_.word()); break;
      case 6: header.payload_size = static_cast<uint16_t>(script_.number()); break;
      case 7: header.rlength = script_.number(); break;
      case 8: header.op = static_cast<uint8_t>(script_.below(20)), header.datatype = static_cast<uint8_t>(script_.below(24)); break;
      default: break;
    }
    return header;
  }

  void request() { arrive(static_cast<uint32_t>(script_.below(kPeers)), any_header()); }

  // Something like an answer to what we have asked.
  void answer() {
    if (wild_->tokens.empty()) return;
    const size_t which = script_.below(wild_->tokens.size());
    const Wild::Asked asked = wild_->tokens[which];
    if (script_.byte() % 2) wild_->tokens.erase(wild_->tokens.begin() + static_cast<std::ptrdiff_t>(which));
    wire::Header header = script_.byte() % 4 ? wire::Header{} : any_header();
    header.token = asked.header.token;
    header.payload_size = 0;
    header.rlength = std::min<uint64_t>(script_.number(), asked.header.rlength + 1);
    header.remote_offset = 0;
    if (asked.header.kind == wire::Kind::stream_request) {
      header.kind = wire::Kind::stream_data;
      header.token = asked.header.match_bits;
      header.remote_offset = asked.header.remote_offset + (script_.byte() % 8 ? 0 : script_.number());
      header.payload_size = static_cast<uint16_t>(std::min<uint64_t>({script_.number(), kEager, asked.header.rlength + 1}));
    } else if (asked.header.kind == wire::Kind::put || asked.header.kind == wire::Kind::atomic) {
      header.kind = script_.byte() % 2 ? wire::Kind::ack : wire::Kind::stream_request;
      header.match_bits = script_.byte();
      if (script_.byte() % 4 == 0) header.remote_offset = script_.number();
    } else {
      header.kind = script_.byte() % 2 ? wire::Kind::reply : wire::Kind::stream_data;
      header.payload_size = static_cast<uint16_t>(std::min<uint64_t>(header.rlength, kEager));
      if (header.kind == wire::Kind::stream_data) header.op = 1, header.remote_offset = script_.number();
    }
    arrive(script_.byte() % 16 ? asked.peer : static_cast<uint32_t>(script_.below(kPeers)), header);
  }

  // Bytes as a network would bring them.
  void raw() {
    constexpr size_t kHead = sizeof(fabric::Prefix) + sizeof(wire::Header);
    std::vector<std::byte> bytes(kHead + script_.below(40));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(script_.byte());
    wire::Header said;
    std::memcpy(&said, bytes.data() + sizeof(fabric::Prefix), sizeof said);
    const size_t behind = bytes.size() - kHead;
    if (script_.byte() % 8 && (said.payload_size > wire::kInlinePayload ? said.payload_size == behind : behind == 0)) {
      std::vector<std::byte> payload(said.payload_size, std::byte{0x77});
      const iovec piece{payload.data(), payload.size()};
      bytes.resize(fabric::encoded_size(said));
      fabric::encode({fabric::kMessageMagic, 0, 0, 0, 0}, said, {&piece, 1}, bytes.data());
    }
    fabric::Message message;
    if (!fabric::decode(bytes, message)) return;
    arrive(0, message.header);
  }

  void arrive(uint32_t peer, wire::Header header) {
    if (wild_->lost[peer]) return;
    header.payload_size = static_cast<uint16_t>(std::min<size_t>(header.payload_size, kEager));  // transports take no more
    Link& link = wild_->links[peer];
    if (!link.peer) node_.engine.introduced(link, *wild_);
    const std::vector<std::byte> payload(header.payload_size, std::byte{0x77});  // of its own, so that its end is watched
    node_.engine.arrived(link, header, payload.data());
  }

  void moved() {
    if (wild_->started.empty()) return;
    void* context = wild_->started.front();
    wild_->started.erase(wild_->started.begin());
    node_.engine.moved(context, script_.byte() % 4 != 1);
  }

  void unlink() {
    if (entries_.empty()) return;
    node_.engine.table().unlink(entries_[script_.below(entries_.size())]);
  }

  void portal() {
    const auto index = static_cast<uint32_t>(script_.below(3));
    switch (script_.below(3)) {
      case 0: node_.engine.table().disable(0, index); break;
      case 1: node_.engine.table().enable(0, index); break;
      default: {
        MatchPattern pattern;
        pattern.match_bits = script_.below(4);
        ListEntry like;
        like.options = PTL_ME_OP_PUT | (script_.byte() % 2 ? unsigned{PTL_ME_USE_ONCE} : 0u);
        node_.engine.target().unexpected().search(0, index, pattern, like, script_.byte() % 2 ? PTL_SEARCH_ONLY : PTL_SEARCH_DELETE);
      }
    }
  }

  void lose() {
    if (script_.byte() % 8 == 0) lose(static_cast<uint32_t>(script_.below(kPeers)));
  }
  void lose(uint32_t peer) {
    if (wild_->lost[peer]) return;
    wild_->lost[peer] = true;
    // As transports do: what was started ends before the loss is told.
    while (!wild_->started.empty()) {
      void* context = wild_->started.back();
      wild_->started.pop_back();
      node_.engine.moved(context, false);
    }
    Link& link = wild_->links[peer];
    if (!link.peer) node_.engine.introduced(link, *wild_);
    node_.engine.lost(link);
  }

  Script script_;
  std::vector<Guarded> memory_[2];  // by list: what is kept in the one is copied to the other
  ptl_iovec_t pieces_[2][3];
  SelfHub hub_;
  test::Node node_;
  Wild* wild_ = nullptr;
  uint32_t eq_ = 0, ct_ = 0;
  std::vector<uint32_t> entries_;
  uint64_t now_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Run(Script(data, size)).play();
  return 0;
}

#ifdef FUZZ_REPLAY
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace {

void play(const std::vector<uint8_t>& script) { LLVMFuzzerTestOneInput(script.data(), script.size()); }

// The script that is being played lies in the file named by WIRE_FUZZ_LAST, if set: what is left there has crashed.
void keep(const std::vector<uint8_t>& script) {
  static const char* const path = std::getenv("WIRE_FUZZ_LAST");
  if (path)
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(script.data()), static_cast<std::streamsize>(script.size()));
}

}  // namespace

int main(int argc, char** argv) {
  size_t scripts = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--random" && i + 1 < argc) {
      std::mt19937_64 chance(std::getenv("WIRE_FUZZ_SEED") ? std::strtoull(std::getenv("WIRE_FUZZ_SEED"), nullptr, 10) : 1);
      for (long left = std::atol(argv[++i]); left > 0; --left, ++scripts) {
        std::vector<uint8_t> script(64 + chance() % 4000);
        for (uint8_t& byte : script) byte = static_cast<uint8_t>(chance());
        keep(script);
        play(script);
      }
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      play(std::vector<uint8_t>{std::istreambuf_iterator<char>(in), {}});
      ++scripts;
    }
  }
  std::printf("%zu scripts: %zu arrivals, of which %zu made no sense, %zu matched, %zu were kept; %zu bytes moved in bulk\n", scripts,
              static_cast<size_t>(seen.arrivals), static_cast<size_t>(seen.malformed), static_cast<size_t>(seen.matches),
              static_cast<size_t>(seen.unexpected), static_cast<size_t>(seen.bulk_bytes));
  return seen.matches == 0 || seen.malformed == 0 || seen.bulk_bytes == 0 || seen.unexpected == 0;
}
#endif

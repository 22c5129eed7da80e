// description.cpp: the table that libportals.so exports for debuggers. Constant; nothing of the engine reads it.
#include "engine/core/description.hpp"

#include "engine/core/initiator/operation.hpp"
#include "engine/core/interface.hpp"
#include "engine/core/objects.hpp"
#include "engine/core/target/kept_header.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace portunus {

constinit client::EngineRoots engine_roots;

// A friend of the classes whose members are described.
struct Inside {
  static constexpr client::EngineDescription make() {
    using Header = KeptHeader;
    client::EngineDescription table{};
    table.version = table.kVersion;
    table.size = sizeof table;
    table.roots = &engine_roots;
    table.index_mask = kIndexMask;
    table.interface = {sizeof(Interface), PORTUNUS_FIELD(Interface, portals)};
    static_assert(sizeof(Interface::portals) == kMaxPortals * sizeof(void*));
    table.portal = {PORTUNUS_FIELD(PortalEntry, unexpected.order_.first_), PORTUNUS_FIELD(PortalEntry, unexpected.size_)};
    table.entry = {static_cast<uint32_t>(Pool<ListEntry>::bytes_of(1)),
                   sizeof(ListEntry),
                   PORTUNUS_FIELD(ListEntry, match_bits),
                   PORTUNUS_FIELD(ListEntry, ignore_bits),
                   PORTUNUS_FIELD(ListEntry, sequence_),
                   PORTUNUS_FIELD(ListEntry, memory.base),
                   PORTUNUS_FIELD(ListEntry, memory.iov_count),
                   PORTUNUS_FIELD(ListEntry, length),
                   PORTUNUS_FIELD(ListEntry, user_ptr),
                   PORTUNUS_FIELD(ListEntry, handle),
                   PORTUNUS_FIELD(ListEntry, moving),
                   PORTUNUS_FIELD(ListEntry, pt_index),
                   PORTUNUS_FIELD(ListEntry, ni),
                   PORTUNUS_FIELD(ListEntry, on_list),
                   PORTUNUS_FIELD(ListEntry, auto_unlinked)};
    table.pieces_of_layout = Memory::kLayout;
    table.header = {sizeof(Header),
                    PORTUNUS_FIELD(Header, order_links_.next),
                    PORTUNUS_FIELD(Header, match_bits),
                    PORTUNUS_FIELD(Header, header.rlength),
                    PORTUNUS_FIELD(Header, header.flags),
                    PORTUNUS_FIELD(Header, header.payload_size),
                    PORTUNUS_FIELD(Header, small),
                    PORTUNUS_FIELD(Header, payload),
                    PORTUNUS_FIELD(Header, region.address),
                    Header::kSmall,
                    wire::kBulk};
    table.operation = {sizeof(Operation),
                       PORTUNUS_FIELD(Operation, earlier),
                       PORTUNUS_FIELD(Operation, index),
                       PORTUNUS_FIELD(Operation, peer),
                       PORTUNUS_FIELD(Operation, ni),
                       PORTUNUS_FIELD(Operation, pt_index),
                       PORTUNUS_FIELD(Operation, source.base),
                       PORTUNUS_FIELD(Operation, source.iov_count),
                       PORTUNUS_FIELD(Operation, length),
                       PORTUNUS_FIELD(Operation, user_ptr),
                       PORTUNUS_FIELD(Operation, source_read)};
    return table;
  }
};

}  // namespace portunus

extern "C" __attribute__((visibility("default"))) constinit const portunus::client::EngineDescription portunus_engine_description =
    portunus::Inside::make();
#pragma GCC diagnostic pop

// delivery.cpp: the entry's memory, where it need not be there or is computed with.
#include "engine/core/target/delivery.hpp"

#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/host/accessible.hpp"

namespace portunus {

bool is_accessible(const ListEntry& entry, uint64_t offset, uint64_t size, bool write) {
  bool all = true;
  entry.memory.for_parts(offset, size, [&](const std::byte* part, uint64_t bytes) { return all = all && accessible(part, bytes, write); });
  return all;
}

// A datum that straddles two elements of an iovec has no address of its own: it is worked on in a copy.
void apply_to_entry(Delivery& delivery, const std::byte* data, std::byte* old, const std::byte* operand) {
  const wire::Header& header = delivery.header;
  const Memory& memory = delivery.entry->memory;
  const size_t width = datatype_size(header.datatype);
  const uint64_t size = delivery.mlength - delivery.mlength % width;
  for (uint64_t done = 0; done < size;) {
    const iovec part = memory.first_part(delivery.offset + done, size - done);
    const size_t whole = part.iov_len - part.iov_len % width;
    std::byte* into = old ? old + done : nullptr;
    if (whole) {
      apply_atomic(header.op, header.datatype, part.iov_base, data + done, whole, into, operand);
    } else {
      alignas(16) std::byte datum[kMaxOperand];
      memory.copy_out(delivery.offset + done, datum, width);
      apply_atomic(header.op, header.datatype, datum, data + done, width, into, operand);
      memory.copy_in(delivery.offset + done, datum, width);
    }
    done += whole ? whole : width;
  }
  delivery.mlength = size;
}

}  // namespace portunus

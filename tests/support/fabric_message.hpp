// fabric_message.hpp: what arrives by the fabric, taken for one message and nothing else. Thread: any.
#pragma once

#include "engine/transport/fabric/message.hpp"

namespace portunus::fabric {

// False when the bytes are not exactly one message of ours.
[[nodiscard]] inline bool decode(std::span<const std::byte> bytes, Message& out) {
  const size_t size = decode_first(bytes, out);
  return size != 0 && size == bytes.size() && out.prefix.magic == kMessageMagic;
}

}  // namespace portunus::fabric

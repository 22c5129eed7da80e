// From plans to executable instances: see instance.hpp.
//
// Thread: as instance.hpp says.
#include "engine/goal/instance.hpp"

#include <string>

namespace portunus::goal {

Instance::Instance(const Port& port, std::shared_ptr<const Compiled> compiled, std::span<const Argument> arguments, uint16_t context,
                   uint8_t epoch, uint32_t tag)
    : compiled_(std::move(compiled)) {
  const Plan& plan = compiled_->plan;
  for (size_t i = 0; i < plan.argument_bytes.size(); ++i) {
    const uint64_t needed = plan.argument_bytes[i], given = i < arguments.size() ? arguments[i].bytes : 0;
    if (needed <= given && (needed == 0 || arguments[i].address != nullptr)) continue;
    throw ScheduleError({}, "the schedule works on " + std::to_string(needed) + " bytes of argument " + std::to_string(i) +
                                ", but the memory given for it has " + std::to_string(given) + "; give more");
  }
  scratch_.reset(new std::byte[plan.scratch_bytes + 1]());
  program_ = std::make_unique<LoadedProgram>(port, in_context(compiled_->program, context, epoch, tag), bind(arguments));
  if (ProgramTrace* trace = program_->trace()) trace->label_by(plan.graph);
}

void* Instance::address(const Memory& m, std::span<const Argument> arguments) const {
  switch (m.space) {
    case Space::user: return reinterpret_cast<void*>(m.place);
    case Space::scratch: return scratch_.get() + m.place;
    case Space::argument: return static_cast<std::byte*>(arguments[m.number].address) + m.place;
    case Space::pieces: return const_cast<ptl_iovec_t*>(&pieces_[m.place]);
    case Space::none: break;
  }
  return nullptr;
}

std::vector<Binding> Instance::bind(std::span<const Argument> arguments) {
  const Plan& plan = compiled_->plan;
  for (const Piece& piece : plan.pieces) {
    pieces_.push_back({address(piece.at, arguments), piece.bytes});
  }
  std::vector<Binding> bindings(plan.graph.size());
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    if (plan.graph[v].kind == Kind::calc) continue;
    const Work& work = plan.works[v];
    Binding& binding = bindings[v];
    const auto number = [](const Memory& m) { return m.space == Space::pieces ? m.number : 0; };
    binding.exact = work.exact;
    binding.memory = address(work.memory, arguments);
    binding.pieces = number(work.memory);
    if (plan.graph[v].kind == Kind::parked) binding.parked = plan.parked[plan.graph[v].tag];
    if (plan.graph[v].kind != Kind::local) continue;
    binding.op = work.op;
    binding.type = work.type;
    binding.count = work.count;
    binding.a = address(work.a, arguments);
    binding.a_pieces = number(work.a);
    binding.b = address(work.b, arguments);
    binding.b_pieces = number(work.b);
  }
  return bindings;
}

}  // namespace portunus::goal

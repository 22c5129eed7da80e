#!/usr/bin/env python3
"""Writes copies of the engine's sources in which faults can be switched on one by one, and the list of these faults.

engine_faults.py SOURCE_ROOT OUTPUT_FOLDER

Each fault is a place that must be found exactly once in its file, and what stands there instead; `planted(@)` is true now and then if
this fault is the one that is switched on. So the engine as it is shipped knows nothing of them. Whoever changes such a place changes
it here as well: the build says which.
"""
import pathlib
import sys

# Work that meets it, name, what is wrong, file in engine/, place, what stands there instead.
FAULTS = [
    ('goal', 'rearm_late', 'what repeats leaves out an execution', 'core/triggered/triggers.cpp',
     'command.threshold += trigger.stride;', 'command.threshold += trigger.stride * (planted(@) ? 2 : 1);'),
    ('goal', 'epoch_stands', 'what repeats keeps its match bits', 'core/triggered/triggers.cpp',
     'const uint64_t field = trigger.match_field;', 'const uint64_t field = planted(@) ? 0 : trigger.match_field;'),
    ('goal', 'ripe_left', 'what becomes ripe together with another stays behind', 'core/triggered/triggers.cpp',
     'while (last->next && last->next->command.threshold <= reached) {',
     'while (last->next && last->next->command.threshold <= reached && !planted(@)) {'),
    ('goal', 'error_untold', 'a failure does not reach the counter of failures', 'core/reports.cpp',
     'count(errors, failure, 0);', 'if (!planted(@)) count(errors, failure, 0);'),
    ('goal', 'watch_lost', 'a counter does not watch a peer', 'core/peers.cpp',
     'peer.watchers.push_back(ct);', 'if (!planted(@)) peer.watchers.push_back(ct);'),
    ('flow', 'closed_takes', 'a portal that is closed takes messages', 'core/target/target.cpp',
     'if (!portal->admits) [[unlikely]] {', 'if (!portal->admits && !planted(@)) [[unlikely]] {'),
    ('flow', 'closing_early', 'PT_DISABLED comes before the messages under way', 'core/portal_table.cpp',
     'if (!portal.disabling || portal.moving) return;', 'if (!portal.disabling || (portal.moving && !planted(@))) return;'),
    ('flow', 'closing_forgotten', 'a portal closes without saying so', 'core/portal_table.cpp',
     'portal.disabling = !cause || ', 'portal.disabling = planted(@) ? false : !cause || '),
    ('flow', 'room_ignored', 'a message is taken for whose event there is no room', 'core/target/target.cpp',
     'if (queue && queue->room() < events) [[unlikely]] {', 'if (queue && queue->room() < events && !planted(@)) [[unlikely]] {'),
    ('flow', 'promise_forgotten', 'no room is kept for the events of messages under way', 'core/portal_table.cpp',
     'queue->promise(delivery.events);', 'queue->promise(planted(@) ? 0 : delivery.events);'),
    ('flow', 'opening_lost', 'a portal stays closed', 'core/portal_table.cpp',
     'portal->enabled = true;\n  portal->admits = !core_.interfaces[ni].keeps_order;',
     'portal->enabled = !planted(@);\n  portal->admits = portal->enabled && !core_.interfaces[ni].keeps_order;'),
    ('portals', 'header_skipped', 'a receive passes over an unexpected message', 'core/target/unexpected.cpp',
     'const bool fits = (!kept.held || completes) && header_fits(entry, kept);',
     'const bool fits = (!kept.held || completes) && header_fits(entry, kept) && !planted(@);'),
    ('portals', 'kept_short', 'of an unexpected message the last byte is not kept', 'core/target/unexpected.cpp',
     'kept->small, payload, size);', 'kept->small, payload, size - (planted(@) ? 1u : 0u));'),
    ('portals', 'header_counted', 'an unexpected message that is taken stays counted', 'core/target/unexpected.cpp',
     '--ni.unexpected_headers;', 'ni.unexpected_headers -= planted(@) ? 0 : 1;'),
    ('portals', 'piece_misplaced', 'a piece of a long message overwrites the first', 'core/initiator/bulk.cpp',
     'else delivery.entry->memory.copy_in(delivery.offset + transfer.moved, data, size);',
     'else delivery.entry->memory.copy_in(delivery.offset + (planted(@) ? 0 : transfer.moved), data, size);'),
    ('portals', 'window_short', 'the last byte of a window is not asked for', 'core/initiator/bulk.cpp',
     'header.rlength = window;', 'header.rlength = window - (planted(@) ? 1 : 0);'),
    ('portals', 'sent_twice', 'SEND comes again with the answer', 'core/initiator/pending_operations.cpp',
     'if (!operation.source_read)\n    reports_.sent(operation.source,', 'if (!operation.source_read || planted(@))\n    reports_.sent(operation.source,'),
    ('portals', 'lost_waits', 'an operation whose target is lost does not end', 'core/initiator/pending_operations.cpp',
     'if (operation.peer == &peer) finish(', 'if (operation.peer == &peer && !planted(@)) finish('),
    ('portals', 'memory_open', 'memory is not closed to others after its operation', 'core/initiator/pending_operations.cpp',
     'if (operation.is_exposed) operation.peer->transport->withdraw(',
     'if (operation.is_exposed && !planted(@)) operation.peer->transport->withdraw('),
    ('portals', 'held_overtaken', 'a message overtakes those that wait for room', 'core/initiator/initiator.cpp',
     'if (!peer->holds_back()) {\n    Sent result = transmit(*peer, command);',
     'if (!peer->holds_back() || planted(@)) {\n    Sent result = transmit(*peer, command);'),
    ('portals', 'held_dropped', 'a message that waits for room is dropped where there is none', 'core/initiator/initiator.cpp',
     'if (result == Sent::again) break;', 'if (result == Sent::again && !planted(@)) break;'),
    ('portals', 'stall_forgotten', 'nobody looks after a message that waits for room', 'core/peers.cpp',
     'stalled_.push_back(&peer);\n  core_.maybe_busy = true;', 'stalled_.push_back(&peer);\n  if (!planted(@)) core_.maybe_busy = true;'),
    ('portals', 'paused_lost', 'puts that were asked to wait are forgotten', 'core/target/flow_control.cpp',
     'free_to_go.swap(found->paused);', 'if (!planted(@)) free_to_go.swap(found->paused);'),
    ('portals', 'flush_left_out', 'a step ends without sending what was kept back', 'core/engine.cpp',
     'peers_.end_bundle();\n    peers_.flush();', 'peers_.end_bundle();\n    if (!planted(@)) peers_.flush();'),
]


def write(faults, folder, root, out, seeds={}):
    """Copies of the files of this folder that have faults, and the list. Seeds: where the search for a fault begins, if not at 1."""
    texts = {}
    for number, (_, name, _, file, place, instead) in enumerate(faults):
        text = texts.setdefault(file, (pathlib.Path(root) / folder / file).read_text())
        if text.count(place) != 1:
            sys.exit(f'{sys.argv[0]}: the place of {name} is {text.count(place)} times in {folder}/{file}; mend the list')
        texts[file] = text.replace(place, instead.replace('planted(@)', f'::portunus::planted({number})'))
    for file, text in texts.items():
        head = 'namespace portunus {\nbool planted(unsigned fault);\n}\n'
        (pathlib.Path(out) / f'faulty_{file.replace("/", "_")}').write_text(head + text)
    if unknown := seeds.keys() - {name for _, name, *_ in faults}:
        sys.exit(f'{sys.argv[0]}: there is no fault {", ".join(unknown)}; mend the list of seeds')
    lines = [f'    {{Work::{work.removesuffix("_deaths")}, {str(work.endswith("_deaths")).lower()}, "{name}", "{text}", {seeds.get(name, 1)}}},'
             for work, name, text, *_ in faults]
    (pathlib.Path(out) / f'faulty_list_{folder.replace("-", "_")}.cpp').write_text('\n'.join([
        '#include "tests/simulation/faults.hpp"', 'namespace portunus::simulation {', 'std::span<const Fault> faults() {',
        '  static constexpr Fault kFaults[] = {', *lines, '  };', '  return kFaults;', '}', '}', '']))


if __name__ == '__main__':
    write(FAULTS, 'engine', sys.argv[1], sys.argv[2])

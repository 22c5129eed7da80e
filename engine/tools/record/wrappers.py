#!/usr/bin/env python3
"""wrappers.py MPI_H: writes C++ that defines MPI_ functions, each of which records what it does and calls the function of the name PMPI_.

A row of the tables below is what a function does before and after: C++ that names its parameters. What asks MPI comes after, when the
arguments are known to be right: an error would be the program's. Functions with large counts (_c), those
that start a collective (MPI_I..) and persistent ones (.._init) follow from the row of the first.
"""

import re
import sys

PROTOTYPE = re.compile(r"^int MPI_(\w+)\(([^;]*)\);", re.MULTILINE)

SIZE, OUT, IN = "bytes(count, datatype)", "bytes(sendcount, sendtype)", "bytes(recvcount, recvtype)"

# name: (before, after). `seen` is the status, `id` what is recorded for a request.
CALLS = {
    "Init": ("", "begin(call);"),
    "Init_thread": ("", "begin(call); allow_threads(*provided);"),
    "Session_init": ("", "begin_session();"),
    "Session_finalize": ("end_session();", ""),
    "Finalize": ("end(call);", ""),
    "Sendrecv": ("", f"const uint64_t id = start_send(call, comm, dest, sendtag, {OUT}); received(call, comm, *seen); done(call, id);"),
    "Sendrecv_replace": ("", f"const uint64_t id = start_send(call, comm, dest, sendtag, {SIZE}); received(call, comm, *seen); done(call, id);"),
    "Isendrecv": ("", f"const uint64_t id = start_send(call, comm, dest, sendtag, {OUT}), in = post(call, comm, source, recvtag);"
                      "pending(*request, in, Kind::receive, comm, id);"),
    "Isendrecv_replace": ("", f"const uint64_t id = start_send(call, comm, dest, sendtag, {SIZE}), in = post(call, comm, source, recvtag);"
                              "pending(*request, in, Kind::receive, comm, id);"),
    "Recv": ("", "received(call, comm, *seen);"),
    "Irecv": ("", "pending(*request, post(call, comm, source, tag), Kind::receive, comm);"),
    "Recv_init": ("", "keep_receive(*request, comm, source, tag);"),
    "Psend_init": ("", f"keep_send(*request, comm, dest, tag, static_cast<uint64_t>(partitions) * {SIZE}, partitions);"),
    "Precv_init": ("", "keep_receive(*request, comm, source, tag, true);"),
    "Pready": ("", "ready(call, request, 1);"),
    "Pready_range": ("", "ready(call, request, partition_high - partition_low + 1);"),
    "Pready_list": ("", "ready(call, request, length);"),
    "Iprobe": ("", "if (*flag == 0) call.found_nothing();"),
    "Mprobe": ("", "matched(call, comm, *message, *seen);"),
    "Improbe": ("", "if (*flag == 0) call.found_nothing(); else matched(call, comm, *message, *seen);"),
    "Mrecv": ("const MPI_Message taken = message == nullptr ? MPI_MESSAGE_NULL : *message;", "matched_received(call, taken, *seen);"),
    "Imrecv": ("const MPI_Message taken = message == nullptr ? MPI_MESSAGE_NULL : *message;", "matched_started(taken, *request);"),
    "Start": ("", "start(call, *request);"),
    "Startall": ("", "for (int i = 0; i < count; ++i) start(call, array_of_requests[i]);"),
    "Cancel": ("if (request != nullptr) cancel(*request);", ""),
    "Request_free": ("if (request != nullptr) free_request(*request);", ""),
    "Wait": ("const MPI_Request one = request == nullptr ? MPI_REQUEST_NULL : *request;", "completed(call, one, *seen);"),
    "Test": ("const MPI_Request one = request == nullptr ? MPI_REQUEST_NULL : *request;", "if (*flag != 0) completed(call, one, *seen); else call.found_nothing();"),
    "Waitall": ("const Requests all(array_of_requests, count);", "all.completed(call, seen);"),
    "Testall": ("const Requests all(array_of_requests, count);", "if (*flag != 0) all.completed(call, seen); else call.found_nothing();"),
    "Waitany": ("const Requests all(array_of_requests, count);", "if (*indx >= 0) completed(call, all[*indx], *seen);"),
    "Testany": ("const Requests all(array_of_requests, count);",
                "if (*flag == 0) call.found_nothing(); else if (*indx >= 0) completed(call, all[*indx], *seen);"),
    "Waitsome": ("const Requests all(array_of_requests, incount);", "all.completed(call, seen, *outcount, array_of_indices);"),
    "Testsome": ("const Requests all(array_of_requests, incount);",
                 "if (*outcount == 0) call.found_nothing(); all.completed(call, seen, *outcount, array_of_indices);"),
    "Comm_create_group": ("", "created_by_tag(call, name_of(comm, tag), *newcomm);"),
    "Comm_create_from_group": ("", "created_by_tag(call, name_of(stringtag), *newcomm);"),
    "Intercomm_create": ("", "created_by_tag(call, name_of(MPI_COMM_NULL, tag), *newintercomm);"),
    "Intercomm_create_from_groups": ("", "created_by_tag(call, name_of(stringtag), *newintercomm);"),
    "Intercomm_merge": ("", "created(intercomm, *newintracomm);"),
    "Comm_idup": ("", "pending(*request, start_collective(call, comm, {Collective::barrier}), Kind::other, comm); created_later(call, *request, comm, newcomm);"),
    "Comm_idup_with_info": ("", "pending(*request, start_collective(call, comm, {Collective::barrier}), Kind::other, comm); created_later(call, *request, comm, newcomm);"),
    "Comm_free": ("if (comm != nullptr) forget(*comm);", ""),
    "Comm_disconnect": ("if (comm != nullptr) forget(*comm);", ""),
    "Comm_spawn": ("", "foreign(call);"),
    "Comm_spawn_multiple": ("", "foreign(call);"),
    "Comm_accept": ("", "foreign(call);"),
    "Comm_connect": ("", "foreign(call);"),
    "Comm_join": ("", "foreign(call);"),
    "Win_free": ("if (win != nullptr) forget(call, *win);", ""),
    "Win_fence": ("", "fence(call, win);"),
    "Win_post": ("", "post(call, win, group);"),
    "Win_start": ("", "start(call, win, group);"),
    "Win_complete": ("", "complete(call, win);"),
    "Win_wait": ("", "wait(call, win);"),
    "Win_test": ("", "if (*flag != 0) wait(call, win); else call.found_nothing();"),
    "Win_unlock": ("", "flush(call, win, rank);"),
    "Win_flush": ("", "flush(call, win, rank);"),
    "Win_unlock_all": ("", "flush(call, win, -1);"),
    "Win_flush_all": ("", "flush(call, win, -1);"),
    "Put": ("", "put(call, win, target_rank, bytes(origin_count, origin_datatype));"),
    "Accumulate": ("", "put(call, win, target_rank, bytes(origin_count, origin_datatype));"),
    "Get": ("", "get(call, win, target_rank, bytes(origin_count, origin_datatype));"),
    "Get_accumulate": ("", "get(call, win, target_rank, bytes(result_count, result_datatype));"),
    "Fetch_and_op": ("", "get(call, win, target_rank, bytes(1, datatype));"),
    "Compare_and_swap": ("", "get(call, win, target_rank, bytes(1, datatype));"),
    "Rput": ("", "pending(*request, start_put(call, win, target_rank, bytes(origin_count, origin_datatype)));"),
    "Raccumulate": ("", "pending(*request, start_put(call, win, target_rank, bytes(origin_count, origin_datatype)));"),
    "Rget": ("", "pending(*request, start_get(call, win, target_rank, bytes(origin_count, origin_datatype)));"),
    "Rget_accumulate": ("", "pending(*request, start_get(call, win, target_rank, bytes(result_count, result_datatype)));"),
}
for way in ("", "S", "B", "R"):
    CALLS[f"{way}send".capitalize()] = ("", f"send(call, comm, dest, tag, {SIZE});")
    CALLS[f"I{way.lower()}send"] = ("", f"pending(*request, start_send(call, comm, dest, tag, {SIZE}), Kind::send, comm);")
    CALLS[f"{way}send_init".capitalize()] = ("", f"keep_send(*request, comm, dest, tag, {SIZE});")
# (the communicator that it is made of, the new one)
for name, (old, new) in {"Comm_dup": ("comm", "newcomm"), "Comm_dup_with_info": ("comm", "newcomm"), "Comm_create": ("comm", "newcomm"),
                         "Comm_split": ("comm", "newcomm"), "Comm_split_type": ("comm", "newcomm"), "Cart_sub": ("comm", "newcomm"),
                         "Cart_create": ("comm_old", "comm_cart"), "Graph_create": ("comm_old", "comm_graph"),
                         "Dist_graph_create": ("comm_old", "comm_dist_graph"),
                         "Dist_graph_create_adjacent": ("comm_old", "comm_dist_graph")}.items():
    CALLS[name] = ("", f"collective(call, {old}, {{Collective::barrier}}); created({old}, *{new});")
for name in ("Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic"):
    CALLS[name] = ("", "created(call, comm, *win);")

ROOTED = "is_root(comm, root)"
NEIGHBOURS_IN, NEIGHBOURS_OUT = "neighbours(comm, true).size()", "neighbours(comm, false).size()"
# Collectives: the C++ of a Shape.
SHAPES = {
    "Barrier": "{Collective::barrier}",
    "Bcast": f"{{Collective::bcast, root, {SIZE}}}",
    "Gather": f"{{Collective::gather, root, {ROOTED} ? {IN} : {OUT}}}",
    "Scatter": f"{{Collective::scatter, root, {ROOTED} ? {OUT} : {IN}}}",
    "Allgather": f"{{Collective::allgather, 0, {IN}}}",
    "Alltoall": f"{{Collective::alltoall, 0, {IN}}}",
    "Reduce": f"{{Collective::reduce, root, {SIZE}}}",
    "Allreduce": f"{{Collective::allreduce, 0, {SIZE}}}",
    "Scan": f"{{Collective::scan, 0, {SIZE}}}",
    "Exscan": f"{{Collective::exscan, 0, {SIZE}}}",
    "Reduce_scatter_block": "{Collective::reduce_scatter_block, 0, bytes(recvcount, datatype)}",
    "Reduce_scatter": "{Collective::reduce_scatter, 0, 0, sizes(comm, recvcounts, datatype)}",
    "Gatherv": f"{ROOTED} ? Shape{{Collective::gatherv, root, 0, sizes(comm, recvcounts, recvtype)}} : "
               f"Shape{{Collective::gatherv, root, {OUT}}}",
    "Scatterv": f"{ROOTED} ? Shape{{Collective::scatterv, root, 0, sizes(comm, sendcounts, sendtype)}} : "
                f"Shape{{Collective::scatterv, root, {IN}}}",
    "Allgatherv": "{Collective::allgatherv, 0, 0, sizes(comm, recvcounts, recvtype)}",
    "Alltoallv": "{Collective::alltoallv, 0, 0, sendbuf == MPI_IN_PLACE ? joined(sizes(comm, recvcounts, recvtype), sizes(comm, recvcounts, "
                 "recvtype)) : joined(sizes(comm, sendcounts, sendtype), sizes(comm, recvcounts, recvtype))}",
    "Alltoallw": "{Collective::alltoallv, 0, 0, sendbuf == MPI_IN_PLACE ? joined(sizes(comm, recvcounts, recvtypes), sizes(comm, recvcounts, "
                 "recvtypes)) : joined(sizes(comm, sendcounts, sendtypes), sizes(comm, recvcounts, recvtypes))}",
    "Neighbor_allgather": f"exchange(comm, std::vector<uint64_t>({NEIGHBOURS_OUT}, {OUT}), std::vector<uint64_t>({NEIGHBOURS_IN}, {IN}))",
    "Neighbor_alltoall": f"exchange(comm, std::vector<uint64_t>({NEIGHBOURS_OUT}, {OUT}), std::vector<uint64_t>({NEIGHBOURS_IN}, {IN}))",
    "Neighbor_allgatherv": f"exchange(comm, std::vector<uint64_t>({NEIGHBOURS_OUT}, {OUT}), "
                           f"sizes_of({NEIGHBOURS_IN}, recvcounts, [=](size_t) {{ return recvtype; }}))",
    "Neighbor_alltoallv": f"exchange(comm, sizes_of({NEIGHBOURS_OUT}, sendcounts, [=](size_t) {{ return sendtype; }}), "
                          f"sizes_of({NEIGHBOURS_IN}, recvcounts, [=](size_t) {{ return recvtype; }}))",
    "Neighbor_alltoallw": f"exchange(comm, sizes_of({NEIGHBOURS_OUT}, sendcounts, [=](size_t i) {{ return sendtypes[i]; }}), "
                          f"sizes_of({NEIGHBOURS_IN}, recvcounts, [=](size_t i) {{ return recvtypes[i]; }}))",
}


def actions(name):
    """(before, after) of a function, or None."""
    base = name.removesuffix("_c")
    if base in CALLS:
        return CALLS[base]
    if base in SHAPES:
        return "", f"if (has_one_side(call, comm)) collective(call, comm, {SHAPES[base]});"
    if base.endswith("_init") and base[:-5] in SHAPES:
        return "", f"if (has_one_side(call, comm)) keep(*request, comm, {SHAPES[base[:-5]]});"
    started = base[1:].capitalize() if base.startswith("I") else ""
    if started in SHAPES:
        return "", f"if (has_one_side(call, comm)) pending(*request, start_collective(call, comm, {SHAPES[started]}), Kind::other, comm);"
    return None


def wrapper(name, parameters):
    before, after = actions(name)
    words = [] if parameters == "void" else [" ".join(word.split()) for word in parameters.split(",")]
    names = [re.search(r"(\w+)\s*(?:\[\w*\])*$", word).group(1) for word in words]
    handed = list(names)
    seen = ""
    if "seen" in after and "status" in names:
        seen, handed[names.index("status")] = "Seen seen(status);", "seen"
    elif "seen" in after:
        count = "incount" if "incount" in names else "count"
        seen, handed[names.index("array_of_statuses")] = f"SeenAll seen(array_of_statuses, {count});", "seen"
    lines = [f"int MPI_{name}({', '.join(words) or 'void'}) {{", "Call call;", seen, before, f"const int error = PMPI_{name}({', '.join(handed)});",
             f"if (error == MPI_SUCCESS) {{ {after} }}" if after else "", "return error;", "}"]
    return "\n".join(line for line in lines if line)


def main(arguments):
    with open(arguments[0], encoding="utf-8") as header:
        text = re.sub(r"/\*.*?\*/", "", header.read(), flags=re.DOTALL)
    prototypes = [(name, " ".join(parameters.split())) for name, parameters in PROTOTYPE.findall(text)]
    wrapped = [wrapper(name, parameters) for name, parameters in prototypes if actions(name)]
    missing = set(CALLS) | set(SHAPES)
    missing -= {name for name, _ in prototypes}
    if missing:
        sys.exit(f"wrappers.py: {arguments[0]} has no {', '.join(sorted(missing))}")
    print('#include "engine/tools/record/mpi_seen.hpp"\nusing namespace portunus::record;\nusing namespace portunus::record::mpi;\nextern "C" {\n'
          "#pragma GCC visibility push(default)\n")
    print("\n".join(wrapped))
    print("#pragma GCC visibility pop\n}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""event_loop.py LIBRARY: messages awaited in Python's asyncio, by ctypes. Each rank has a task for each other one, which sends it numbers and
awaits its answers, while a task of its own counts; the loop sleeps in its selector."""

import asyncio
import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
Handle = ctypes.c_void_p
WORLD, BYTE, INFO_NULL, STATUS_IGNORE = Handle(0x101), Handle(0x247), Handle(0x130), None
Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
ROUNDS = 20


def call(name, *arguments):
    code = getattr(mpi, name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name}: {code}")


def number(name):
    value = ctypes.c_int()
    call(name, WORLD, ctypes.byref(value))
    return value.value


class Loop:
    """Requests as futures."""

    def __init__(self):
        self.loop, self.waiting, self.requests = asyncio.get_running_loop(), {}, Handle()
        self.callback = Callback(self.complete)
        descriptor = ctypes.c_int()
        call("MPIX_Continue_init", -1, 0, ctypes.byref(self.requests), INFO_NULL)
        call("MPIX_Continue_get_fd", self.requests, ctypes.byref(descriptor))
        self.descriptor = descriptor.value
        self.loop.add_reader(self.descriptor, self.test)

    def complete(self, code, key):
        self.waiting.pop(key).set_result(code)
        return 0

    def test(self):
        flag = ctypes.c_int()
        call("MPI_Test", ctypes.byref(self.requests), ctypes.byref(flag), STATUS_IGNORE)

    async def run(self, name, buffer, peer):
        request, future = Handle(), self.loop.create_future()
        call(name, buffer, len(buffer), BYTE, peer, 5, WORLD, ctypes.byref(request))
        key = ctypes.addressof(buffer)
        self.waiting[key] = future
        call("MPIX_Continue", ctypes.byref(request), self.callback, Handle(key), 0, STATUS_IGNORE, self.requests)
        if await future != 0:
            raise RuntimeError(f"{name} has failed")

    def close(self):
        self.loop.remove_reader(self.descriptor)
        call("MPI_Request_free", ctypes.byref(self.requests))


async def talk(loop, rank, peer):
    for i in range(ROUNDS):
        out = ctypes.create_string_buffer(f"{rank} to {peer}: {i}".encode(), 64)
        room = ctypes.create_string_buffer(64)
        await asyncio.gather(loop.run("MPI_Irecv", room, peer), loop.run("MPI_Isend", out, peer))
        assert room.value == f"{peer} to {rank}: {i}".encode(), room.value


async def main():
    rank, size = number("MPI_Comm_rank"), number("MPI_Comm_size")
    loop = Loop()
    await asyncio.gather(*(talk(loop, rank, peer) for peer in range(size) if peer != rank), asyncio.sleep(0))
    loop.close()


call("MPI_Init", None, None)
asyncio.run(main())
call("MPI_Finalize")

// access.hpp: one-sided accesses as operations of a graph.
//
// Puts and gets on memory that this process maps are copies; all others are operations of Portals that a schedule parks (GOAL_Park). An
// access has ended when it is complete at its target: so a flush is an edge and nothing else. Accumulates on the same bytes of a target
// come one behind the other, as MPI has their order. Recorded are accesses to windows of the same ranks as the captured communicator's, in
// a passive epoch; such an epoch has to be under way in each run.
//
// Thread: the one that captures; is_captured_here() any. Cost: a load in each access while nobody captures. Source: MPI-5.0, 12.3, 12.5.3.
#pragma once

#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/rma/access.hpp"

namespace portunus::mpi::graph {

constexpr char kEpochsStay[] =
    "a graph neither begins nor ends an epoch; begin a passive one before the capture (MPI_Win_lock_all), and record flushes";
constexpr char kNotPassive[] = "accesses of a graph need a passive epoch; call MPI_Win_lock_all before the capture";
constexpr char kNotNotified[] = "notifications are not recorded; send a message behind a flush";
constexpr char kStillAccessed[] = "a graph that accesses the window runs; complete its request first";

// Whether this thread captures accesses to the window.
[[gnu::cold]] bool is_captured(const rma::Window& window);
inline bool is_captured_here(const rma::Window& window) { return does_any_thread_capture() && is_captured(window); }

// Record an access that was checked: an error class. A call with a request has access.handle.
int put(const char* function, const rma::Buffer& origin, const rma::Buffer& target, const rma::Access& access);
int get(const char* function, const rma::Buffer& origin, const rma::Buffer& target, const rma::Access& access);
// `result`: nullptr: nobody asks for the old elements.
int accumulate(const char* function, const rma::Buffer& origin, const rma::Buffer* result, const rma::Buffer& target, MPI_Op op,
               const rma::Access& access);
// Makes what comes later depend on the accesses to this rank so far; -1: to all.
int flush(const rma::Window& window, int rank);

// Whether this rank, or any, accesses the window in a graph that runs here.
bool is_accessed(const rma::Window& window);
bool is_in_use(const rma::Window& window);
// The window is freed: graphs that access it run no more.
void forget_window(const rma::Window& window);

}  // namespace portunus::mpi::graph

// misuse.cpp: programs with one mistake each, by the paper's calls: the job must end with a sentence. "misuse CASE".
#include <vdc.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string what = argv[1];
  if (what == "before") Vdc_acquire_view(1);
  Vdc_startup(argc, argv);
  static char* data;
  if (Vdc_proc_id == 0) data = Vdc_malloc(8192);
  Vdcx_distribute(&data, sizeof data);
  const Vdcx_piece piece{data + 4096, 64, 1, 0};
  Vdcx_declare(9, &piece, 1, VDCX_FAULT);
  if (what == "image") {  // fine: process 0 initialises
    if (Vdc_proc_id == 0) data[5] = 1;
    Vdc_barrier(1);
    if (data[5] != 1) return 1;
  }
  Vdc_barrier(2);
  if (what == "stray") data[0] = 1;
  if (what == "reader") {
    Vdc_acquire_Rview(9);
    data[4096] = 1;
  }
  if (what == "other") {
    Vdc_acquire_view(9);
    data[0] = 1;
  }
  if (what == "id") Vdc_acquire_view(VDC_NVIEWS);
  if (what == "release") Vdc_release_view(3);
  if (what == "rrelease") Vdc_release_Rview(3);
  if (what == "nested" && Vdc_proc_id == 0) {
    Vdc_acquire_view(1);
    Vdc_acquire_view(2);
  }
  if (what == "upgrade") {
    Vdc_acquire_Rview(1);
    Vdc_acquire_view(1);
  }
  if (what == "full") Vdc_malloc(size_t{1} << 30);
  if (what == "free") Vdc_free(data + 1);
  if (what == "twice" && Vdc_proc_id == 0) {
    Vdc_free(data);
    Vdc_free(data);
  }
  if (what == "foreign") Vdc_free(reinterpret_cast<char*>(&data));
  if (what == "barriers") Vdc_barrier(static_cast<unsigned>(Vdc_proc_id));
  if (what == "end" && Vdc_proc_id == 1) Vdc_exit(0);
  if (what == "null" && Vdc_proc_id == 1) {
    static volatile uintptr_t offset = 16;  // of a member of what NULL points to
    *reinterpret_cast<volatile char*>(offset) = 1;
  }
  if (what == "overlap" && Vdc_proc_id == 0) {
    for (const int view : {1, 2}) {
      Vdc_acquire_view(view);
      data[7] += 1;
      Vdc_release_view(view);
    }
  }
  if (what == "held" && Vdc_proc_id == 0) Vdc_acquire_view(1);
  if (what == "unacquired" || what == "acquired") {  // whole pages of a declared view, which PTL_DEBUG=views watches
    static char* pages;
    if (Vdc_proc_id == 0) pages = Vdc_malloc(3 * 4096);
    Vdcx_distribute(&pages, sizeof pages);
    const auto past = reinterpret_cast<uintptr_t>(pages) % 4096;
    char* const page = pages + (past ? 4096 - past : 0);
    const Vdcx_piece whole{page, 2 * 4096, 1, 0};
    if (Vdcx_declare(11, &whole, 1, VDCX_TWIN) != VDCX_SUCCESS) return 1;
    Vdc_acquire_view(11);
    page[4096] = static_cast<char>(page[4096] + 1);
    Vdc_release_view(11);
    Vdc_barrier(4);
    Vdc_acquire_Rview(11);
    const bool right = page[4096] == Vdc_nprocs;
    Vdc_release_Rview(11);
    if (!right) return 1;
    if (what == "unacquired" && page[4096] == 0) return 1;
  }
  if (what == "again") Vdc_startup(argc, argv);
  Vdc_barrier(3);
  Vdc_exit(0);
}

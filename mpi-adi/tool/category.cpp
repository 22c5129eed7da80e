// category.cpp: the two categories of variables: all control variables, and all performance variables.
#include <algorithm>
#include <numeric>

#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/tool/tool.hpp"

namespace portunus::mpi::tool {
namespace {

struct Category {
  const char *name, *meaning;
  int (*cvars)();
  int (*pvars)();
};
int none() { return 0; }
constexpr Category kCategories[] = {
    {"settings", "what the environment decides about MPI, before it starts", cvar_count, none},
    {"engine", "what the engine of this process counts about itself", none, pvar_count},
};
constexpr int kCount = static_cast<int>(std::size(kCategories));

bool category_exists(int index) { return index >= 0 && index < kCount; }

int give_indices(int index, int (*Category::*count)(), int length, int indices[]) {
  if (!open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!category_exists(index)) return MPI_T_ERR_INVALID_INDEX;
  const int given = std::min(length, (kCategories[index].*count)());
  if (given > 0 && indices == nullptr) return MPI_T_ERR_INVALID;
  if (given > 0) std::iota(indices, indices + given, 0);
  return MPI_SUCCESS;
}
int give_nothing(int index) {
  if (!open()) return MPI_T_ERR_NOT_INITIALIZED;
  return category_exists(index) ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX;
}

}  // namespace
}  // namespace portunus::mpi::tool

using namespace portunus::mpi;

extern "C" int PMPI_T_category_get_num(int* num_cat) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (num_cat == nullptr) return MPI_T_ERR_INVALID;
  *num_cat = tool::kCount;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_category_get_num)

extern "C" int PMPI_T_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len, int* num_cvars, int* num_pvars,
                                        int* num_categories) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!tool::category_exists(cat_index)) return MPI_T_ERR_INVALID_INDEX;
  const tool::Category& category = tool::kCategories[cat_index];
  tool::give(category.name, name, name_len);
  tool::give(category.meaning, desc, desc_len);
  tool::give(num_cvars, category.cvars());
  tool::give(num_pvars, category.pvars());
  tool::give(num_categories, 0);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_category_get_info)

extern "C" int PMPI_T_category_get_index(const char* name, int* cat_index) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || cat_index == nullptr) return MPI_T_ERR_INVALID;
  const int found = tool::find(tool::kCategories, name);
  if (!tool::category_exists(found)) return MPI_T_ERR_INVALID_NAME;
  *cat_index = found;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_category_get_index)

extern "C" int PMPI_T_category_get_cvars(int cat_index, int len, int indices[]) try {
  return tool::give_indices(cat_index, &tool::Category::cvars, len, indices);
}
MPI_WEAK_NAME(T_category_get_cvars)

extern "C" int PMPI_T_category_get_pvars(int cat_index, int len, int indices[]) try {
  return tool::give_indices(cat_index, &tool::Category::pvars, len, indices);
}
MPI_WEAK_NAME(T_category_get_pvars)

extern "C" int PMPI_T_category_get_categories(int cat_index, int, int[]) try { return tool::give_nothing(cat_index); }
MPI_WEAK_NAME(T_category_get_categories)

extern "C" int PMPI_T_category_get_events(int cat_index, int, int[]) try { return tool::give_nothing(cat_index); }
MPI_WEAK_NAME(T_category_get_events)

extern "C" int PMPI_T_category_get_num_events(int cat_index, int* num_events) try {
  if (int error = tool::give_nothing(cat_index)) return error;
  tool::give(num_events, 0);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_category_get_num_events)

extern "C" int PMPI_T_category_changed(int* update_number) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  tool::give(update_number, 0);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_category_changed)

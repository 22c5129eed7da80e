// hints.cpp: see hints.hpp.
#include "mpi-adi/io/hints.hpp"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

namespace portunus::mpi::io {
namespace {

using Choice = Tuning::Choice;

std::string trimmed(const std::string& text) {
  size_t first = 0, last = text.size();
  while (first < last && std::isspace(static_cast<unsigned char>(text[first]))) ++first;
  while (last > first && std::isspace(static_cast<unsigned char>(text[last - 1]))) --last;
  return text.substr(first, last - first);
}

bool read(const std::string& text, int64_t least, int64_t most, int64_t& value, int base = 10) {
  int64_t number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) return false;
  value = number;
  return true;
}
void read(const std::string& text, Choice& value) {
  if (text == "automatic") value = Choice::automatic;
  if (text == "enable") value = Choice::enable;
  if (text == "disable") value = Choice::disable;
}
const char* written(Choice value) { return value == Choice::automatic ? "automatic" : value == Choice::enable ? "enable" : "disable"; }

constexpr int64_t kLargest = int64_t{1} << 40;

}  // namespace

void Tuning::take(const Hints& hints) {
  for (const auto& [key, text] : hints) {
    const std::string value = trimmed(text);
    if (key == "cb_buffer_size") read(value, 1, kLargest, cb_buffer_size);
    if (key == "cb_nodes") read(value, 1, 1 << 20, cb_nodes);
    if (key == "ind_rd_buffer_size") read(value, 1, kLargest, read_buffer);
    if (key == "ind_wr_buffer_size") read(value, 1, kLargest, write_buffer);
    if (key == "striping_unit") read(value, 1, kLargest, striping_unit);
    if (key == "striping_factor") read(value, 1, 1 << 20, striping_factor);
    if (key == "file_perm") read(value, 0, 07777, permissions, 8);
    if (key == "romio_cb_read") read(value, cb_read);
    if (key == "romio_cb_write") read(value, cb_write);
    if (key == "romio_ds_read") read(value, ds_read);
    if (key == "romio_ds_write") read(value, ds_write);
    if (key == "collective_buffering" && (value == "true" || value == "false"))
      cb_read = cb_write = value == "true" ? Choice::automatic : Choice::disable;
    if (key == "sync_on_close" && (value == "true" || value == "false")) sync_on_close = value == "true";
    if (key == "cb_config_list" && !value.empty() && value.size() < sizeof cb_config_list)
      std::snprintf(cb_config_list, sizeof cb_config_list, "%s", value.c_str());
  }
}

Hints Tuning::listed(const char* filename) const {
  Hints hints;
  const auto add = [&](const char* key, const std::string& value) { hints.emplace_back(key, value); };
  add("cb_buffer_size", std::to_string(cb_buffer_size));
  add("cb_nodes", std::to_string(cb_nodes));
  add("cb_config_list", cb_config_list);
  add("collective_buffering", cb_write == Choice::disable && cb_read == Choice::disable ? "false" : "true");
  add("romio_cb_read", written(cb_read));
  add("romio_cb_write", written(cb_write));
  add("romio_ds_read", written(ds_read));
  add("romio_ds_write", written(ds_write));
  add("romio_no_indep_rw", "false");
  add("romio_visibility_immediate", "true");
  add("ind_rd_buffer_size", std::to_string(read_buffer));
  add("ind_wr_buffer_size", std::to_string(write_buffer));
  if (striping_unit > 0) add("striping_unit", std::to_string(striping_unit));
  if (striping_factor > 0) add("striping_factor", std::to_string(striping_factor));
  if (permissions >= 0) {
    char octal[16];
    std::snprintf(octal, sizeof octal, "%04o", static_cast<unsigned>(permissions));
    add("file_perm", octal);
  }
  add("sync_on_close", sync_on_close ? "true" : "false");
  add("filename", filename);
  return hints;
}

}  // namespace portunus::mpi::io

// schedule_cache.hpp: compiled schedules of one group that stay, to be run again by each call of the same shape.
//
// A shape is what all ranks of the group know alike of a call (operation, type, size, root ..), so all of them keep and
// forget the same schedules: 64 shapes, the one that was not used for longest goes. A shape has up to 8 places that take
// turns, for runs that are under way at the same time. The tags of a place's messages are its own:
//
//     tag    | shape, 0 .. 63 | place, 0 .. 7 |      0 .. kTags - 1
//
// A tag may be used again before other ranks are done with it: of two processes, the messages of the first use are matched
// before those of the second, as every message of a schedule has its receive. Where what a place holds cannot be used (it is
// still under way on this rank alone, or bound to other memory, or this rank's own sizes are others than its), another takes its
// place there and counts on from its epoch (GOAL_Epoch): to the other ranks it is the same.
//
// `Key` is the shape, with ==. `Resident` owns a schedule and has busy(): its last run is not over, or its user not done
// with it.
//
// Thread: one at a time per object. It is not known to GOAL: whoever compiles gives the tag to the group.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace portunus::goal {

template <class Key, class Resident>
class ScheduleCache {
 public:
  static constexpr unsigned kTurns = 8, kShapes = 64, kIdle = 3;
  static constexpr uint32_t kTags = kTurns * kShapes;

  // The schedule that a place holds now, and those that it held before: of which runs are still pending, and the last few others, which
  // may be wanted again.
  struct Place {
    std::shared_ptr<Resident> now;
    std::vector<std::shared_ptr<Resident>> before;
    uint32_t tag = 0;
    uint8_t epoch = 0;  // of the next run, whatever its shape
  };

  // The place of the next run of such a call. The caller puts there what it makes (replace), unless it can use what is
  // there, and counts the run in `epoch`. `turns`: over so many places, if runs may be under way at the same time; else 1.
  Place& place_of(const Key& key, unsigned turns) {
    Shape& shape = shape_of(key);
    assert(shape.key == key && shape.last_use <= uses_ && turns >= 1 && turns <= kTurns);
    shape.last_use = ++uses_;
    return shape.places[turns > 1 ? shape.turn++ % turns : 0];
  }
  // The newest of the shape that place_of was asked for last of which `fits` is true; nullptr: none.
  template <class Fits>
  const Resident* find(Fits&& fits) const {
    for (const Place& place : shapes_[last_]->places) {
      if (place.now && fits(*place.now)) return place.now.get();
      for (size_t i = place.before.size(); i-- > 0;)
        if (fits(*place.before[i])) return place.before[i].get();
    }
    return nullptr;
  }
  // Lets go of all that is not busy; what has its place is made anew when it is needed.
  void drop_idle() {
    for (const auto& shape : shapes_)
      if (shape)
        for (Place& place : shape->places) {
          if (place.now && !place.now->busy()) place.now.reset();
          keep(place, 0);
        }
  }
  // The run that place_of was asked for last does not take place; nothing was asked for since.
  void take_back(bool turns) {
    assert(shapes_[last_] && (!turns || shapes_[last_]->turn > 0));
    if (turns) --shapes_[last_]->turn;
  }
  // `original`: what it is a copy of, or nullptr.
  static void replace(Place& place, std::shared_ptr<Resident> made, const Resident* original = nullptr) {
    std::erase_if(place.before, [&](const auto& older) { return older.get() == original && !older->busy(); });
    if (place.now) place.before.push_back(std::move(place.now));
    keep(place, kIdle);
    place.now = std::move(made);
  }

 private:
  struct Shape {
    Key key{};
    uint64_t last_use = 0;  // 0: there is none
    unsigned turn = 0;
    std::array<Place, kTurns> places;
    [[nodiscard]] bool is(const Key& other) const { return last_use > 0 && key == other; }
  };

  // The shape with this key, or a place for it: a free one, or to that which was not used for longest. Epochs go on there.
  Shape& shape_of(const Key& key) {
    if (shapes_[last_] && shapes_[last_]->is(key)) [[likely]]
      return *shapes_[last_];
    unsigned found = 0;
    for (unsigned i = 0; i < kShapes; ++i) {
      if (!shapes_[i]) shapes_[i] = fresh(i);
      if (shapes_[i]->last_use == 0 || shapes_[i]->is(key)) {
        found = i;
        break;
      }
      if (shapes_[i]->last_use < shapes_[found]->last_use) found = i;
    }
    last_ = found;
    Shape& shape = *shapes_[found];
    if (shape.is(key)) return shape;
    for (Place& place : shape.places) {
      replace(place, nullptr);
      keep(place, 0);
    }
    shape.key = key;
    shape.turn = 0;
    return shape;
  }
  // Keeps, of the schedules that a place held before, those that are busy, and so many of the newest others.
  static void keep(Place& place, size_t idle) {
    size_t excess = static_cast<size_t>(std::ranges::count_if(place.before, [](const auto& one) { return !one->busy(); }));
    excess -= std::min(excess, idle);
    std::erase_if(place.before, [&](const auto& older) { return excess > 0 && !older->busy() && excess-- > 0; });
  }
  static std::unique_ptr<Shape> fresh(unsigned number) {
    auto shape = std::make_unique<Shape>();
    for (unsigned i = 0; i < kTurns; ++i) shape->places[i].tag = number * kTurns + i;
    return shape;
  }

  std::array<std::unique_ptr<Shape>, kShapes> shapes_;
  unsigned last_ = 0;  // the shape used last
  uint64_t uses_ = 0;
};

}  // namespace portunus::goal

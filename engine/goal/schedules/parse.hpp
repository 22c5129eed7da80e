// Reads the GOAL text language into one schedule per rank.
//
// Accepts what the language's own compiler (txt2bin) accepts, and besides: indentation, comments anywhere,
// several statements on a line separated by ";", statements on the line of "{" or "}", references to labels
// defined later, several prerequisites in one statement, tag, cpu and nic in any order, nic on calc, and ranks
// in any order. Not accepted, unlike there: a label defined twice, a graph with a cycle.
//
//     file      := "num_ranks" N { "rank" R "{" { statement } "}" }
//     statement := [ LABEL ":" ] operation { attribute }  |  LABEL ( "requires" | "irequires" ) LABEL { [","] LABEL }
//     operation := "send" BYTES "b" "to" RANK  |  "recv" BYTES "b" "from" ( RANK | "-1" )  |  "calc" NS
//     attribute := "tag" ( TAG | "-1" )  |  "cpu" N  |  "nic" N
//
// A statement ends with its line, with ";" or before "}". "//" and "/* */" are comments.
//
// Thread: any; pure.
// Source: LogGOPSim's txt2bin and schedgen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/goal/schedules/schedule.hpp"

namespace portunus::goal {

// The text is not GOAL, or names something that is not there.
struct ParseError : ScheduleError {
  using ScheduleError::ScheduleError;
};

// A comment of the form "//@ text": skipped by other tools, it says here what the language cannot, such as where
// the bytes of an operation lie.
struct Annotation {
  static constexpr uint32_t kNoRank = 0xffffffff;
  uint32_t rank = kNoRank;  // whose block it stands in; kNoRank outside of blocks
  uint32_t line = 0;
  uint32_t column = 0;  // of the text
  std::string text;     // without "//@" and the blanks around
};

struct GoalFile {
  uint32_t num_ranks = 0;
  std::vector<Schedule> ranks;  // finished, one per rank
  std::vector<Annotation> annotations;
};

// Throws ParseError, or ScheduleError for a label used twice and for cycles. Whether messages match across ranks
// is asked by validate(). A send's tag -1 is the number 4294967295, which only receives of any tag accept.
[[nodiscard]] GoalFile parse_goal(std::string_view text);

}  // namespace portunus::goal

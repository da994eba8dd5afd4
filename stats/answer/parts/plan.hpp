// Cuts the tensors of some files into parts of equal work. Only the heads of the files are read.
//
// A part is a list: a text file, which one process folds. Parts are stretches of one sequence, the tensors of the files
// in their order, and a large tensor is cut where a part ends. A file's size and time are in the list, so that a file
// that changes between two folds is noticed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/answer/parts/plan_request.hpp"

namespace tensorstat {

struct PlannedFile {
  // Tensors of the file by their numbers, [first, end), or elements of one.
  struct Work {
    bool is_piece = false;
    std::uint64_t tensor = 0;          // a piece's
    std::uint64_t first = 0, end = 0;  // tensors, or elements
  };

  std::uint64_t number = 0;                       // its place among all files of the plan
  std::uint64_t size_bytes = 0, modified_us = 0;  // 0 and 0: it could not be read when it was planned
  std::string path;
  std::vector<Work> work;
};

// One part of a plan.
struct PartList {
  std::uint64_t key = 0;  // equal in all lists of one plan; another plan has another key with near certainty
  std::uint32_t part = 0, parts = 1;
  PlanRequest request;
  std::vector<std::string> faults;  // paths that could not be read when it was planned
  std::vector<PlannedFile> files;

  std::string text() const;
  // The error is kUnreadable. `text` may be anything.
  static Result<PartList> parse(std::string_view text);
};

// "007", as many digits as the last part has, at least three.
std::string part_name(std::uint32_t part, std::uint32_t parts);

// Size and modification time of a file; false if the path is not a file or does not exist.
bool stat_file(const std::string& path, std::uint64_t& size_bytes, std::uint64_t& modified_us);

inline constexpr std::uint32_t kMostParts = 1'000'000;

struct Plan {
  std::vector<PartList> lists;  // as many as were asked for; some may be empty
  std::uint64_t tensors = 0, bytes = 0;
  std::uint64_t most_bytes = 0;     // of a part
  std::uint64_t uncut_tensors = 0;  // that are larger than an equal part, and cannot be cut
  std::string first_uncut;          // the label of one
  std::vector<Error> unreadable;    // of files and tensors; folding reports them, too
};

// `faults`: of finding the files. What cannot be read is planned, too, so that the merge reports it. `progressed` gets
// the number of files that are done.
Plan make_plan(const PlanRequest& request, const std::vector<std::string>& files, const std::vector<Error>& faults,
               std::uint32_t parts, const std::function<void(std::size_t files)>& progressed);

}  // namespace tensorstat

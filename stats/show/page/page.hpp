// A run on one HTML page.
#pragma once

#include <functional>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/show/page/contents.hpp"

namespace tensorstat {

// Writes the page in pieces, in order. Equal contents give equal bytes. The first statistic is always in the page; the
// others as long as the page stays below 4 MB, and the page says which were left out.
Status write_page(const PageContents& contents, const std::function<Status(std::string_view piece)>& sink);

}  // namespace tensorstat

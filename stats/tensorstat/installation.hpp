// SPDX-License-Identifier: Apache-2.0
// Tells the static libraries where their installation lies: a program may be linked anywhere, and they need the helper
// program tensorstat-preflight. The installed meter.hpp includes this. There is nothing to call.
#pragma once

#ifndef TENSORSTAT_INSTALLATION  // a build inside another project's names its own folder
#define TENSORSTAT_INSTALLATION __FILE__
#endif

// Weak, because every source of a program that includes this has one.
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const char tensorstat_installation[];
const char tensorstat_installation[] = TENSORSTAT_INSTALLATION;
}

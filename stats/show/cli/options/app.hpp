// Declares CLI11's class only. Including CLI11 takes seconds of compile time.
#pragma once

namespace CLI {
class App;
}

// CLI11's command, declared only: a file that includes CLI11 takes seconds longer to compile.
#pragma once

namespace CLI {
class App;
}

#include "stats/data/files/torch/torch_objects.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/dimensions.hpp"
#include "stats/data/files/torch/torch_arrays.hpp"
#include "stats/data/files/torch/torch_optimizer.hpp"
#include "stats/data/files/torch/torch_rebuilds.hpp"
#include "stats/data/files/torch/torch_shards.hpp"

namespace tensorstat {
namespace {

using Id = std::uint32_t;
using Kind = Pickle::Kind;
using Node = Pickle::Node;

constexpr std::size_t kMostNesting = 1000;
// A tensor that is there under many names takes a few bytes for each of them.
constexpr std::size_t kFreeTensors = 65'536, kBytesATensor = 16;
constexpr std::uint64_t kMostNameBytes = std::uint64_t{256} << 20;

// Attributes of a torch.nn.Module that stand for no name.
constexpr std::string_view kUnnamed[] = {"_modules", "_parameters", "_buffers"};

class Walk {
 public:
  explicit Walk(const Pickle& pickle) : pickle_(pickle), is_met_(pickle.node_count()), names_(pickle) {}

  Result<TorchObjects> run() {
    enter(pickle_.root(), false);
    while (!frames_.empty()) {
      if (frames_.size() > kMostNesting) return Error{Code::kUnreadable, "holds objects nested deeper than 1000"};
      if (found_.tensors.size() > kFreeTensors + pickle_.size_bytes() / kBytesATensor) {
        return Error{Code::kUnreadable,
                     "names too many tensors for its bytes: " + std::to_string(found_.tensors.size())};
      }
      if (name_bytes_ > kMostNameBytes) return Error{Code::kUnreadable, "has names of more than 268435456 bytes"};
      advance();
    }
    return std::move(found_);
  }

 private:
  // A container that is being walked.
  struct Frame {
    Id node;
    std::size_t next;         // of its items
    std::size_t name_length;  // of name_, before this frame's own
    bool is_state;            // attributes of an object
    bool is_refused;          // below a call that is not known
    bool is_pairs = false;    // a list of pairs of a key and a value
  };

  // Whether a container is met for the first time.
  bool meet(Id id) {
    const bool is_new = !is_met_[id];
    is_met_[id] = true;
    return is_new;
  }

  const Node& at(Id id) const { return pickle_[id]; }
  static std::string called(const Node& name) {
    return shown(std::string(name.text) + "." + std::string(name.more), 100);
  }

  // Looks at an object under name_: a tensor is found, a container becomes a frame.
  void enter(Id id, bool is_refused) {
    const Node& node = at(id);
    switch (node.kind) {
      case Kind::kStored:
        if (is_refused) refuse();
        return;
      case Kind::kCall:
        return enter_call(id, is_refused);
      case Kind::kTuple:
      case Kind::kList:
      case Kind::kDict:
        if (meet(id)) frames_.push_back({id, 0, name_.size(), false, is_refused});
        return;
      default:
        return;
    }
  }

  void enter_call(Id id, bool is_refused) {
    const Node& call = at(id);
    const Node& callee = at(call.items[0]);
    if (const auto tensor = tensor_call(id)) {
      if (is_refused) return refuse();
      auto made = made_by(*tensor);
      name_bytes_ += name_.size() + shard_.size();
      if (made) {
        made->name = name_;
        made->shard = shard_;
      } else {
        made = Error{made.error().code, (name_.empty() ? "" : "'" + shown(name_, 200) + "' ") + made.error().message};
      }
      found_.tensors.push_back(std::move(made));
      return;
    }
    if (!meet(id)) return;
    if (const Unread* unread = unread_of(callee); unread != nullptr && !is_refused) {
      refused_call_ = unread->what;
      refused_code_ = unread->has_numbers ? Code::kUnsupported : Code::kNoNumbers;
      refused_name_ = name_;
      return refuse();
    }
    if (const auto state = state_of_subclass(call)) {
      if (auto shard = shard_in(pickle_, at(*state))) {
        append("_local_tensor");
        shard_ = std::move(shard->placement);
        enter(shard->local, is_refused);
        return shard_.clear();
      }
      enter(*state, is_refused);
      if (!frames_.empty() && frames_.back().node == *state) frames_.back().is_state = true;
      return;
    }
    if (const auto pairs = pairs_of(call)) {
      if (meet(*pairs)) frames_.push_back({*pairs, 0, name_.size(), false, is_refused, true});
      // The values that other opcodes added to the result.
      if (call.items.size() == 2) return;
      return frames_.push_back({id, 2, name_.size(), false, is_refused});
    }
    if (!is_refused) {
      refused_code_ = Code::kUnsupported;
      refused_call_ = "is made by " + (callee.kind == Kind::kName ? called(callee) : std::string("a function")) +
                      ", which is not read";
      refused_name_ = name_;
    }
    // The meaning of its arguments is unknown; the values added to the result are tensors as usual.
    frames_.push_back({id, 1, name_.size(), false, is_refused});
  }

  // A call that makes a tensor of a storage, or an array of NumPy's.
  struct TensorCall {
    const Rebuilt* function;  // null: an array
    const std::vector<Id>* arguments;
    Id id;
  };

  Result<TorchTensor> made_by(const TensorCall& call) {
    if (call.function != nullptr) return tensor_of(call);
    if (const auto known = arrays_.find(call.id); known != arrays_.end()) return known->second;
    auto array = array_of(pickle_, call.id, pickle_.size_bytes() - array_bytes_);
    if (!array) return array;
    array_bytes_ += array->elements->size();
    return arrays_.emplace(call.id, *array), array;
  }

  // The call that makes the tensor, behind those that pass it on; nothing where this makes none.
  std::optional<TensorCall> tensor_call(Id id) const {
    for (std::size_t depth = 0; depth < kMostNesting; ++depth) {
      const Node& call = at(id);
      if (call.kind != Kind::kCall) return std::nullopt;
      if (is_array(pickle_, id)) return TensorCall{nullptr, nullptr, id};
      const Node *callee = &at(call.items[0]), *arguments = &at(call.items[1]);
      if (is_of_subclass(*callee, *arguments)) {
        callee = &at(arguments->items[0]);
        arguments = &at(arguments->items[2]);
      }
      if (callee->kind != Kind::kName || arguments->kind != Kind::kTuple || arguments->items.empty())
        return std::nullopt;
      const auto function = std::ranges::find_if(
          kRebuilt, [&](const Rebuilt& each) { return each.name == callee->more && each.module == callee->text; });
      if (function != std::end(kRebuilt)) return TensorCall{function, &arguments->items, id};
      if (callee->text != kTorchUtils || std::ranges::count(kPassing, callee->more) == 0) return std::nullopt;
      id = arguments->items[0];
    }
    return std::nullopt;
  }
  static bool is_named(const Node& node, std::string_view module, std::string_view name) {
    return node.kind == Kind::kName && node.text == module && node.more == name;
  }

  // A tensor of a subclass of Tensor: the function, the class, its arguments, a state.
  static bool is_of_subclass(const Node& callee, const Node& arguments) {
    return arguments.kind == Kind::kTuple && arguments.items.size() == 4 &&
           (is_named(callee, "torch._tensor", "_rebuild_from_type_v2") ||
            is_named(callee, "torch._tensor", "_rebuild_from_type"));
  }

  static const Unread* unread_of(const Node& callee) {
    if (callee.kind != Kind::kName || callee.text != kTorchUtils) return nullptr;
    const auto* entry = std::ranges::find(kUnread, callee.more, &Unread::name);
    return entry == std::end(kUnread) ? nullptr : entry;
  }

  // The state of a subclass that has no storage: its tensors are attributes, such as the _local_tensor of a DTensor.
  std::optional<Id> state_of_subclass(const Node& call) const {
    const Node &callee = at(call.items[0]), &arguments = at(call.items[1]);
    if (!is_of_subclass(callee, arguments)) return std::nullopt;
    if (!is_named(at(arguments.items[0]), kTorchUtils, "_rebuild_wrapper_subclass")) return std::nullopt;
    return arguments.items[3];
  }

  // Python 2 makes an OrderedDict of one list of pairs.
  std::optional<Id> pairs_of(const Node& call) const {
    const Node& arguments = at(call.items[1]);
    if (!is_named(at(call.items[0]), "collections", "OrderedDict") || arguments.kind != Kind::kTuple ||
        arguments.items.size() != 1) {
      return std::nullopt;
    }
    const Node& pairs = at(arguments.items[0]);
    const auto is_pair = [&](Id item) {
      return (at(item).kind == Kind::kList || at(item).kind == Kind::kTuple) && at(item).items.size() == 2;
    };
    return pairs.kind == Kind::kList && std::ranges::all_of(pairs.items, is_pair) ? std::optional(arguments.items[0])
                                                                                  : std::nullopt;
  }

  void refuse() {
    if (refused_call_.empty()) return;
    name_bytes_ += refused_name_.size();
    found_.tensors.push_back(
        Error{refused_code_, (refused_name_.empty() ? "" : "'" + shown(refused_name_, 200) + "' ") + refused_call_});
    refused_call_.clear();  // once
  }

  void advance() {
    Frame& frame = frames_.back();
    name_.resize(frame.name_length);
    const Node& node = at(frame.node);
    if (frame.next >= node.items.size()) return frames_.pop_back();
    const bool is_refused = frame.is_refused;
    if (node.kind == Kind::kCall) {
      const std::size_t i = frame.next++;
      const bool is_argument = i == 1;
      if (is_argument) return enter(node.items[i], true);
      enter(node.items[i], is_refused);
      // The state of an object is a dict of its attributes, or that beside one of its slots.
      if (frames_.back().node == node.items[i]) frames_.back().is_state = true;
      return;
    }
    if (frame.is_pairs) {
      const Node& pair = at(node.items[frame.next++]);
      append_name(at(pair.items[0]));
      return enter(pair.items[1], is_refused);
    }
    if (node.kind == Kind::kDict) {
      if (frame.next == 0) names_.look(node);
      const Id key = node.items[frame.next], value = node.items[frame.next + 1];
      frame.next += 2;
      const bool is_unnamed = at(key).kind == Kind::kText && std::ranges::count(kUnnamed, at(key).text) != 0;
      if (const std::string_view name = names_.name(frame.node, at(key)); !name.empty()) {
        append(name);
      } else if (!(frame.is_state && is_unnamed)) {
        append_name(at(key));
      }
      return enter(value, is_refused);
    }
    const std::size_t i = frame.next++;
    if (!frame.is_state || node.kind == Kind::kList) append(std::to_string(i));
    const bool is_state = frame.is_state;
    enter(node.items[i], is_refused);
    if (is_state && frames_.back().node == node.items[i]) frames_.back().is_state = true;
  }

  void append_name(const Node& key) {
    append(key.kind == Kind::kText ? key.text : key.kind == Kind::kInteger ? std::to_string(key.number) : "?");
  }
  void append(std::string_view part) { name_.append(name_.empty() ? "" : ".").append(part); }

  static Error unreadable(std::string what) { return {Code::kUnreadable, std::move(what)}; }

  Result<Shape> numbers(Id id) const {
    const Node* list = &at(id);
    if (list->kind == Kind::kCall && at(list->items[1]).kind == Kind::kTuple && at(list->items[1]).items.size() == 1) {
      list = &at(at(list->items[1]).items[0]);  // torch.Size((2, 3))
    }
    Shape shape;
    if (list->kind != Kind::kTuple && list->kind != Kind::kList) return unreadable("has a shape that is none");
    if (list->items.size() > kMostDimensions) return unreadable("has more than 64 dimensions");
    for (const Id item : list->items) {
      if (at(item).kind != Kind::kInteger || at(item).number < 0) return unreadable("has a shape that is none");
      shape.push_back(static_cast<std::uint64_t>(at(item).number));
    }
    return shape;
  }

  // Whether a dict has this key with another value than False. torch writes the flags that are set.
  bool has_flag(const Node& dict, std::string_view key) const {
    const auto value = pickle_.find(dict, key);
    return value && at(*value).kind == Kind::kInteger && at(*value).number != 0;
  }

  Result<TorchTensor> tensor_of(const TensorCall& call) const {
    const std::vector<Id>& arguments = *call.arguments;
    if (arguments.size() < 4 || arguments.size() <= call.function->dtype_at)
      return unreadable("is a tensor without a shape");
    const Node& stored = at(arguments[0]);
    if (stored.kind != Kind::kStored || at(stored.items[0]).kind != Kind::kTuple)
      return unreadable("is a tensor without a storage");
    const std::vector<Id>& identity = at(stored.items[0]).items;
    if (identity.size() < 5 || at(identity[0]).text != "storage" || at(identity[1]).kind != Kind::kName ||
        at(identity[2]).kind != Kind::kText || at(arguments[1]).kind != Kind::kInteger || at(arguments[1]).number < 0) {
      return unreadable("is a tensor without a storage");
    }
    TorchTensor tensor;
    tensor.storage = at(identity[2]).text;
    tensor.offset = static_cast<std::uint64_t>(at(arguments[1]).number);
    if (identity.size() == 6 && at(identity[5]).kind == Kind::kTuple && at(identity[5]).items.size() == 3) {
      const Node& begin = at(at(identity[5]).items[1]);  // of a view of the storage, as torch 0.3 wrote
      if (begin.kind != Kind::kInteger || begin.number < 0) return unreadable("is a tensor without a storage");
      tensor.offset += static_cast<std::uint64_t>(begin.number);
    }
    auto shape = numbers(arguments[2]), stride = numbers(arguments[3]);
    if (!shape) return shape.error();
    if (!stride) return stride.error();
    if (shape->size() != stride->size()) return unreadable("has as many strides as no shape has");
    tensor.shape = *std::move(shape);
    tensor.stride = *std::move(stride);
    std::string_view name;
    if (call.function->dtype_at != 0) {
      const Node& dtype = at(arguments[call.function->dtype_at]);
      if (dtype.kind != Kind::kName || dtype.text != "torch") return unreadable("is a tensor without a dtype");
      name = dtype.more;
    } else {
      const auto known = std::ranges::find(kTorchDtypes, at(identity[1]).more, &TorchDtype::storage);
      if (known == std::end(kTorchDtypes)) {
        return Error{Code::kUnsupported, "is of a " + called(at(identity[1])) + ", which is not read"};
      }
      name = known->name;
    }
    const bool is_pairs = name == kTorchPairs;
    const auto dtype = is_pairs ? Dtype::kFloat4E2m1fn : dtype_from(name);
    if (!dtype || (is_packed(*dtype) && !is_pairs))
      return Error{Code::kUnsupported, "is of dtype " + shown(name) + ", which is not supported"};
    tensor.dtype = *dtype;
    const std::size_t flags = call.function->metadata_at;
    if (flags != 0 && flags < arguments.size()) {
      tensor.is_negated = has_flag(at(arguments[flags]), "neg");
      tensor.is_conjugated = has_flag(at(arguments[flags]), "conj");
    }
    return tensor;
  }

  const Pickle& pickle_;
  std::vector<bool> is_met_;
  ParameterNames names_;
  std::vector<Frame> frames_;
  std::string name_, shard_;  // for the object that is being walked
  Code refused_code_ = Code::kUnsupported;
  std::string refused_call_, refused_name_;  // while the arguments of an unknown call are walked, until it is refused
  std::uint64_t name_bytes_ = 0;
  std::unordered_map<Id, TorchTensor> arrays_;  // without names
  std::size_t array_bytes_ = 0;                 // of arrays, in memory
  TorchObjects found_;
};

}  // namespace

Result<TorchObjects> torch_objects(const Pickle& pickle) { return Walk(pickle).run(); }

Result<std::vector<TorchStorage>> torch_storages(const Pickle& pickle) {
  std::vector<TorchStorage> storages;
  for (Id id = 0; id < pickle.node_count(); ++id) {
    if (pickle[id].kind != Kind::kStored || pickle[pickle[id].items[0]].kind != Kind::kTuple) continue;
    const std::vector<Id>& identity = pickle[pickle[id].items[0]].items;
    if (identity.size() < 3 || pickle[identity[1]].kind != Kind::kName || pickle[identity[2]].kind != Kind::kText)
      continue;
    const std::string_view type = pickle[identity[1]].more;
    if (std::ranges::count(kByteStorages, type) != 0) {
      storages.push_back({pickle[identity[2]].text, 1});
      continue;
    }
    const auto known =
        std::ranges::find(kTorchDtypes, type == "QInt32Storage" ? "IntStorage" : type, &TorchDtype::storage);
    const auto dtype = known == std::end(kTorchDtypes) ? std::nullopt : dtype_from(known->name);
    if (!dtype) return Error{Code::kUnsupported, "has a storage of type " + shown(type) + ", whose size is not known"};
    storages.push_back({pickle[identity[2]].text, size_bytes(*dtype)});
  }
  return storages;
}

}  // namespace tensorstat

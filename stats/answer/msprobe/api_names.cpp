#include "stats/answer/msprobe/api_names.hpp"

#include <algorithm>
#include <cstdint>

namespace tensorstat::msprobe {
namespace {

// MindSpore's Functional.X that are Torch.X, sorted.
constexpr std::string_view kOfTorch[] = {"abs",
                                         "absolute",
                                         "acos",
                                         "acosh",
                                         "add",
                                         "addbmm",
                                         "addcdiv",
                                         "addcmul",
                                         "addmm",
                                         "addmv",
                                         "angle",
                                         "arange",
                                         "arccos",
                                         "arccosh",
                                         "arcsinh",
                                         "arctan",
                                         "arctanh",
                                         "argmax",
                                         "asin",
                                         "asinh",
                                         "atan",
                                         "atan2",
                                         "atanh",
                                         "baddbmm",
                                         "bartlett_window",
                                         "bincount",
                                         "bitwise_and",
                                         "bitwise_or",
                                         "bitwise_xor",
                                         "blackman_window",
                                         "ceil",
                                         "cholesky_solve",
                                         "clamp",
                                         "clip",
                                         "column_stack",
                                         "conj",
                                         "cosh",
                                         "cross",
                                         "cumprod",
                                         "diag_embed",
                                         "diagflat",
                                         "diagonal",
                                         "digamma",
                                         "dist",
                                         "div",
                                         "divide",
                                         "einsum",
                                         "erf",
                                         "erfc",
                                         "exp",
                                         "exp2",
                                         "expm1",
                                         "eye",
                                         "flip",
                                         "fliplr",
                                         "flipud",
                                         "floor_divide",
                                         "fmax",
                                         "fmod",
                                         "full",
                                         "full_like",
                                         "gcd",
                                         "geqrf",
                                         "greater",
                                         "greater_equal",
                                         "hamming_window",
                                         "hann_window",
                                         "heaviside",
                                         "histc",
                                         "hsplit",
                                         "hstack",
                                         "hypot",
                                         "i0",
                                         "igamma",
                                         "igammac",
                                         "imag",
                                         "inner",
                                         "inverse",
                                         "is_nonzero",
                                         "is_tensor",
                                         "isinf",
                                         "isneginf",
                                         "isposinf",
                                         "isreal",
                                         "kaiser_window",
                                         "kron",
                                         "lcm",
                                         "lerp",
                                         "log1p",
                                         "logaddexp",
                                         "logaddexp2",
                                         "logdet",
                                         "logical_and",
                                         "logical_not",
                                         "logical_or",
                                         "logical_xor",
                                         "logit",
                                         "logspace",
                                         "lt",
                                         "lu_solve",
                                         "lu_unpack",
                                         "masked_select",
                                         "matmul",
                                         "mm",
                                         "moveaxis",
                                         "movedim",
                                         "msort",
                                         "mul",
                                         "multiply",
                                         "nan_to_num",
                                         "nansum",
                                         "neg",
                                         "negative",
                                         "nextafter",
                                         "nonzero",
                                         "not_equal",
                                         "numel",
                                         "ones_like",
                                         "orgqr",
                                         "outer",
                                         "permute",
                                         "polar",
                                         "pow",
                                         "rand",
                                         "rand_like",
                                         "randn",
                                         "randn_like",
                                         "ravel",
                                         "real",
                                         "reciprocal",
                                         "remainder",
                                         "reshape",
                                         "roll",
                                         "rot90",
                                         "round",
                                         "row_stack",
                                         "rsqrt",
                                         "searchsorted",
                                         "sgn",
                                         "sign",
                                         "signbit",
                                         "sin",
                                         "sinc",
                                         "sinh",
                                         "slogdet",
                                         "square",
                                         "subtract",
                                         "sum",
                                         "swapdims",
                                         "t",
                                         "tan",
                                         "topk",
                                         "trace",
                                         "trapz",
                                         "tril",
                                         "tril_indices",
                                         "triu_indices",
                                         "true_divide",
                                         "trunc",
                                         "unbind",
                                         "unsqueeze",
                                         "vander",
                                         "view_as_real",
                                         "vsplit",
                                         "where",
                                         "xlogy",
                                         "zeros_like"};
static_assert(std::ranges::is_sorted(kOfTorch));

struct Renamed {
  std::string_view from, to;
};
constexpr Renamed kRenamed[] = {{"Functional.bidense", "Functional.bilinear"},
                                {"Functional.dense", "Functional.linear"},
                                {"Functional.equal", "Torch.eq"},
                                {"Functional.swapaxes", "Torch.transpose"},
                                {"Tensor.asnumpy", "Tensor.numpy"},
                                {"Tensor.cauchy", "Tensor.cauchy_"},
                                {"Tensor.equal", "Tensor.eq"},
                                {"Tensor.fill_diagonal", "Tensor.fill_diagonal_"},
                                {"Tensor.gather_elements", "Tensor.gather"},
                                {"Tensor.swapaxes", "Tensor.transpose"}};

}  // namespace

std::string replaced(std::string text, std::string_view from, std::string_view to, std::size_t most) {
  for (std::size_t offset = 0; most != 0 && (offset = text.find(from, offset)) != text.npos; --most) {
    text.replace(offset, from.size(), to);
    offset += to.size();
    if (from.empty()) break;
  }
  return text;
}

std::string_view api_of(std::string_view name) {
  const std::size_t first = name.find('.');
  return first == name.npos ? name : name.substr(0, name.find('.', first + 1));
}

std::string with_pytorch_api(const std::string& name) {
  const std::string_view api = api_of(name), type = api.substr(0, api.find('.'));
  if (type == "Mint") return replaced(name, type, "Torch");
  if (type == "MintFunctional") return replaced(name, type, "Functional");
  if (const auto renamed = std::ranges::find(kRenamed, api, &Renamed::from); renamed != std::end(kRenamed)) {
    return replaced(name, renamed->from, renamed->to);
  }
  if (type == "Functional" && api.size() > type.size() &&
      std::ranges::binary_search(kOfTorch, api.substr(type.size() + 1))) {
    return replaced(name, api, "Torch" + std::string(api.substr(type.size())));
  }
  return name;
}

}  // namespace tensorstat::msprobe

#include "sim/serving/models/model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/printable.h"

namespace larder::sim {
namespace {

constexpr std::array<std::string_view, 2> kv_type_names{"fp16", "fp8"};
// Beyond them a number is a mistake, and their products could pass 64 bits.
constexpr std::uint32_t layers_max = 10'000;
constexpr std::uint32_t size_max = 10'000'000;
constexpr std::uint32_t heads_max = 10'000;

std::unexpected<Error> wrong(std::string_view place, const std::string& what) {
  return failed(ErrorCode::bad_file, std::string(place) + ": " + what);
}

struct Limited {
  std::string_view place;
  std::uint32_t value;
  std::uint32_t max;
};

Status check_numbers(const std::vector<Limited>& numbers) {
  for (const auto& [place, value, max] : numbers) {
    if (value < 1 || value > max) {
      return wrong(place, std::to_string(value) + " is not from 1 to " + std::to_string(max));
    }
  }
  return {};
}

Status check_mixture(const Model& model) {
  const Mixture& mixture = *model.mixture;
  LARDER_CHECK(check_numbers({{"/mixture/experts", mixture.experts, heads_max},
                              {"/mixture/active", mixture.active, mixture.experts},
                              {"/mixture/width", mixture.width, size_max}}));
  if (mixture.shared > heads_max) {
    return wrong("/mixture/shared",
                 std::to_string(mixture.shared) + " is more than " + std::to_string(heads_max));
  }
  if (mixture.dense_layers > model.layers) {
    return wrong("/mixture/dense_layers", std::to_string(mixture.dense_layers) + " of " +
                                              std::to_string(model.layers) + " layers");
  }
  return {};
}

std::uint64_t dense_layers(const Model& model) {
  return model.mixture ? model.mixture->dense_layers : model.layers;
}

std::uint64_t attention_parameters(const Model& model) {
  const std::uint64_t hidden = model.hidden;
  const std::uint64_t heads = model.heads;
  if (model.latent) {
    const auto& [query_rank, kv_rank, rope, nope, value] = *model.latent;
    const std::uint64_t query = heads * (nope + rope);
    return (query_rank == 0 ? hidden * query : query_rank * (hidden + query)) +
           hidden * (kv_rank + rope) + kv_rank * heads * (nope + value) + heads * value * hidden;
  }
  const std::uint64_t query = heads * model.head_size;
  const std::uint64_t kept = std::uint64_t{model.kv_heads} * model.head_size;
  return hidden * (2 * query + 2 * kept);
}

std::uint64_t gated(std::uint64_t hidden, std::uint64_t width) { return 3 * hidden * width; }

// Of all layers, with this many experts of each mixture, without the shared ones.
std::uint64_t layer_parameters(const Model& model, std::uint64_t experts) {
  std::uint64_t count = model.layers * attention_parameters(model) +
                        dense_layers(model) * gated(model.hidden, model.feed_forward);
  if (model.mixture) {
    const Mixture& mixture = *model.mixture;
    const std::uint64_t choice = std::uint64_t{model.hidden} * mixture.experts;
    count += (model.layers - dense_layers(model)) *
             (gated(model.hidden, mixture.width) * (experts + mixture.shared) + choice);
  }
  return count;
}

}  // namespace

std::string_view kv_type_name(KvType type) { return kv_type_names[static_cast<std::size_t>(type)]; }

std::optional<KvType> kv_type_named(std::string_view name) {
  const auto* at = std::ranges::find(kv_type_names, name);
  if (at == kv_type_names.end()) return std::nullopt;
  return static_cast<KvType>(at - kv_type_names.begin());
}

Status check_model(const Model& model) {
  if (model.name.empty()) return wrong("/name", "a model without a name");
  LARDER_CHECK(check_numbers({{"/layers", model.layers, layers_max},
                              {"/hidden", model.hidden, size_max},
                              {"/heads", model.heads, heads_max},
                              {"/vocabulary", model.vocabulary, size_max},
                              {"/context_tokens", model.context_tokens, 1'000'000'000},
                              {"/parameter_bytes", model.parameter_bytes, 2}}));
  if (model.latent) {
    LARDER_CHECK(check_numbers({{"/latent/kv_rank", model.latent->kv_rank, size_max},
                                {"/latent/rope_size", model.latent->rope_size, size_max},
                                {"/latent/nope_size", model.latent->nope_size, size_max},
                                {"/latent/value_size", model.latent->value_size, size_max}}));
  } else {
    LARDER_CHECK(check_numbers(
        {{"/kv_heads", model.kv_heads, model.heads}, {"/head_size", model.head_size, size_max}}));
    if (model.heads % model.kv_heads != 0) {
      return wrong("/kv_heads", std::to_string(model.kv_heads) + " do not divide " +
                                    std::to_string(model.heads) + " heads");
    }
  }
  if (model.mixture) LARDER_CHECK(check_mixture(model));
  if (dense_layers(model) == 0) return {};
  return check_numbers({{"/feed_forward", model.feed_forward, size_max}});
}

Bytes kv_bytes_per_token_and_rank(const Model& model, KvType type, std::uint32_t ranks) {
  const std::uint64_t numbers =
      model.latent ? model.latent->kv_rank + model.latent->rope_size
                   : std::uint64_t{2} * model.head_size * ((model.kv_heads + ranks - 1) / ranks);
  return Bytes{numbers * model.layers * bytes_of(type)};
}

Bytes kv_bytes_per_token(const Model& model, KvType type) {
  return kv_bytes_per_token_and_rank(model, type, 1);
}

std::uint64_t parameters(const Model& model) {
  const std::uint64_t experts = model.mixture ? model.mixture->experts : 0;
  const std::uint64_t embeddings = std::uint64_t{model.vocabulary} * model.hidden;
  return layer_parameters(model, experts) + embeddings * (model.tied_embeddings ? 1 : 2);
}

std::uint64_t parameters_per_token(const Model& model) {
  return layer_parameters(model, model.mixture ? model.mixture->active : 0);
}

std::uint64_t expert_parameters(const Model& model) {
  if (!model.mixture) return 0;
  return (model.layers - dense_layers(model)) * model.mixture->experts *
         gated(model.hidden, model.mixture->width);
}

}  // namespace larder::sim

#include "sim/serving/models/model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/printable.h"

namespace larder::sim {
namespace {

constexpr std::array<std::string_view, 2> kv_type_names{"fp16", "fp8"};
// Beyond them a number is a mistake.
constexpr std::uint32_t layers_max = 10'000;
constexpr std::uint32_t size_max = 10'000'000;
constexpr std::uint32_t heads_max = 10'000;
constexpr std::size_t name_bytes_max = 200;
// And their products could pass 64 bits.
constexpr double parameters_max = 1e15;
constexpr Bytes kv_bytes_max{std::uint64_t{1} << 32};

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

// In `Number`s: as doubles, which cannot overflow, before it is known whether 64 bits are enough.
template <class Number>
Number attention_parameters(const Model& model) {
  const auto hidden = static_cast<Number>(model.hidden);
  const auto heads = static_cast<Number>(model.heads);
  if (model.latent) {
    const auto query_rank = static_cast<Number>(model.latent->query_rank);
    const auto kv_rank = static_cast<Number>(model.latent->kv_rank);
    const auto rope = static_cast<Number>(model.latent->rope_size);
    const auto nope = static_cast<Number>(model.latent->nope_size);
    const auto value = static_cast<Number>(model.latent->value_size);
    const Number query = heads * (nope + rope);
    return (query_rank == 0 ? hidden * query : query_rank * (hidden + query)) +
           hidden * (kv_rank + rope) + kv_rank * heads * (nope + value) + heads * value * hidden;
  }
  const Number query = heads * static_cast<Number>(model.head_size);
  const Number kept = static_cast<Number>(model.kv_heads) * static_cast<Number>(model.head_size);
  return hidden * (2 * query + 2 * kept);
}

template <class Number>
Number gated(std::uint32_t hidden, std::uint32_t width) {
  return 3 * static_cast<Number>(hidden) * static_cast<Number>(width);
}

// Of all layers, with this many experts of each mixture, without the shared ones.
template <class Number>
Number layer_parameters(const Model& model, std::uint32_t experts) {
  const auto dense = static_cast<Number>(dense_layers(model));
  const auto layers = static_cast<Number>(model.layers);
  Number count = layers * attention_parameters<Number>(model) +
                 dense * gated<Number>(model.hidden, model.feed_forward);
  if (model.mixture) {
    const Mixture& mixture = *model.mixture;
    const Number choice = static_cast<Number>(model.hidden) * static_cast<Number>(mixture.experts);
    const Number all = static_cast<Number>(experts) + static_cast<Number>(mixture.shared);
    count += (layers - dense) * (gated<Number>(model.hidden, mixture.width) * all + choice);
  }
  return count;
}

template <class Number>
Number all_parameters(const Model& model) {
  const Number embeddings =
      static_cast<Number>(model.vocabulary) * static_cast<Number>(model.hidden);
  return layer_parameters<Number>(model, model.mixture ? model.mixture->experts : 0) +
         embeddings * (model.tied_embeddings ? 1 : 2);
}

}  // namespace

std::string_view kv_type_name(KvType type) { return kv_type_names[static_cast<std::size_t>(type)]; }

std::optional<KvType> kv_type_named(std::string_view name) {
  const auto* at = std::ranges::find(kv_type_names, name);
  if (at == kv_type_names.end()) return std::nullopt;
  return static_cast<KvType>(at - kv_type_names.begin());
}

Status check_model(const Model& model) {
  if (model.name.empty() || model.name.size() > name_bytes_max ||
      printable(model.name) != model.name) {
    return wrong("/name", "wants 1 to 200 bytes of text without control characters, not " +
                              in_quotes(model.name));
  }
  LARDER_CHECK(check_numbers({{"/layers", model.layers, layers_max},
                              {"/hidden", model.hidden, size_max},
                              {"/heads", model.heads, heads_max},
                              {"/vocabulary", model.vocabulary, size_max},
                              {"/context_tokens", model.context_tokens, 1'000'000'000},
                              {"/parameter_bytes", model.parameter_bytes, 2}}));
  if (model.latent) {
    if (model.latent->query_rank > size_max) {
      return wrong("/latent/query_rank", std::to_string(model.latent->query_rank) +
                                             " is not from 0 to " + std::to_string(size_max));
    }
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
  if (dense_layers(model) > 0) {
    LARDER_CHECK(check_numbers({{"/feed_forward", model.feed_forward, size_max}}));
  } else if (model.feed_forward > size_max) {
    return wrong("/feed_forward",
                 std::to_string(model.feed_forward) + " is more than " + std::to_string(size_max));
  }
  if (all_parameters<double>(model) > parameters_max) {
    return wrong("the model",
                 "its layers and vocabulary have more than a million billion "
                 "parameters together");
  }
  if (const Bytes kv = kv_bytes_per_token(model, KvType::fp16); kv > kv_bytes_max) {
    return wrong("the model", "the KV of one token has " + std::to_string(kv.value) +
                                  " bytes; at most " + std::to_string(kv_bytes_max.value));
  }
  return {};
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

std::uint64_t parameters(const Model& model) { return all_parameters<std::uint64_t>(model); }

std::uint64_t parameters_per_token(const Model& model) {
  return layer_parameters<std::uint64_t>(model, model.mixture ? model.mixture->active : 0);
}

std::uint64_t expert_parameters(const Model& model) {
  if (!model.mixture) return 0;
  return (model.layers - dense_layers(model)) * model.mixture->experts *
         gated<std::uint64_t>(model.hidden, model.mixture->width);
}

}  // namespace larder::sim

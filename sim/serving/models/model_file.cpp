#include "sim/serving/models/model_file.h"

#include <nlohmann/json.hpp>

#include "proto/hardware/json_object.h"

namespace larder::sim {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

Status read_latent(const json& value, const std::string& place, Model& model) {
  LARDER_TRY(
      const JsonObject object,
      JsonObject::make(value, place,
                       {.needed = {"query_rank", "kv_rank", "rope_size", "nope_size", "value_size"},
                        .allowed = {}}));
  LatentAttention& latent = model.latent.emplace();
  LARDER_CHECK(object.number("query_rank", latent.query_rank));
  LARDER_CHECK(object.number("kv_rank", latent.kv_rank));
  LARDER_CHECK(object.number("rope_size", latent.rope_size));
  LARDER_CHECK(object.number("nope_size", latent.nope_size));
  return object.number("value_size", latent.value_size);
}

Status read_mixture(const json& value, const std::string& place, Model& model) {
  LARDER_TRY(const JsonObject object, JsonObject::make(value, place,
                                                       {.needed = {"experts", "active", "width"},
                                                        .allowed = {"dense_layers", "shared"}}));
  Mixture& mixture = model.mixture.emplace();
  LARDER_CHECK(object.number("dense_layers", mixture.dense_layers));
  LARDER_CHECK(object.number("experts", mixture.experts));
  LARDER_CHECK(object.number("active", mixture.active));
  LARDER_CHECK(object.number("shared", mixture.shared));
  return object.number("width", mixture.width);
}

Status read_numbers(const JsonObject& object, Model& model) {
  LARDER_CHECK(object.number("layers", model.layers));
  LARDER_CHECK(object.number("hidden", model.hidden));
  LARDER_CHECK(object.number("heads", model.heads));
  LARDER_CHECK(object.number("kv_heads", model.kv_heads));
  LARDER_CHECK(object.number("head_size", model.head_size));
  LARDER_CHECK(object.number("feed_forward", model.feed_forward));
  LARDER_CHECK(object.number("vocabulary", model.vocabulary));
  LARDER_CHECK(object.flag("tied_embeddings", model.tied_embeddings));
  LARDER_CHECK(object.number("context_tokens", model.context_tokens));
  return object.number("parameter_bytes", model.parameter_bytes);
}

}  // namespace

Result<Model> read_model(std::string_view text) {
  LARDER_TRY(const json value, parse_json(text));
  JsonObject::Keys keys{
      .needed = {"name", "layers", "hidden", "heads", "vocabulary", "context_tokens"},
      .allowed = {"feed_forward", "mixture", "tied_embeddings", "parameter_bytes"}};
  if (value.is_object() && value.contains("latent")) {
    keys.needed.emplace_back("latent");
  } else {
    keys.needed.insert(keys.needed.end(), {"kv_heads", "head_size"});
    keys.allowed.emplace_back("latent");
  }
  LARDER_TRY(const JsonObject object, JsonObject::make(value, "", keys));
  Model model;
  LARDER_TRY(model.name, object.text("name"));
  LARDER_CHECK(read_numbers(object, model));
  if (object.has("latent")) {
    LARDER_CHECK(read_latent(object.at("latent"), object.place("latent"), model));
  }
  if (object.has("mixture")) {
    LARDER_CHECK(read_mixture(object.at("mixture"), object.place("mixture"), model));
  }
  LARDER_CHECK(check_model(model));
  return model;
}

std::string write_model(const Model& model) {
  ordered_json value{{"name", model.name},
                     {"layers", model.layers},
                     {"hidden", model.hidden},
                     {"heads", model.heads}};
  if (model.latent) {
    value["latent"] = {{"query_rank", model.latent->query_rank},
                       {"kv_rank", model.latent->kv_rank},
                       {"rope_size", model.latent->rope_size},
                       {"nope_size", model.latent->nope_size},
                       {"value_size", model.latent->value_size}};
  } else {
    value["kv_heads"] = model.kv_heads;
    value["head_size"] = model.head_size;
  }
  if (model.feed_forward != 0) value["feed_forward"] = model.feed_forward;
  if (model.mixture) {
    value["mixture"] = {{"dense_layers", model.mixture->dense_layers},
                        {"experts", model.mixture->experts},
                        {"active", model.mixture->active},
                        {"shared", model.mixture->shared},
                        {"width", model.mixture->width}};
  }
  value["vocabulary"] = model.vocabulary;
  value["tied_embeddings"] = model.tied_embeddings;
  value["context_tokens"] = model.context_tokens;
  value["parameter_bytes"] = model.parameter_bytes;
  return value.dump(2) + "\n";
}

}  // namespace larder::sim

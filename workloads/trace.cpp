#include "workloads/trace.h"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "workloads/agentic.h"
#include "workloads/input_file.h"
#include "workloads/mooncake.h"

namespace larder::workloads {
namespace {

namespace fs = std::filesystem;

// The session files of a directory, in order of name.
Result<std::vector<fs::path>> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".json") files.push_back(at->path());
  }
  if (error) {
    return failed(ErrorCode::file_read_fail,
                  "cannot list " + directory.string() + ": " + error.message());
  }
  if (files.empty()) {
    return failed(ErrorCode::bad_file,
                  directory.string() + " is a directory without any *.json session file");
  }
  std::ranges::sort(files);
  return files;
}

Result<TraceFormat> detect(InputFile& file) {
  LARDER_TRY(const std::string_view start, file.peek(4096));
  const std::size_t mooncake =
      std::min(start.find("\"timestamp\""), start.find("\"input_length\""));
  const std::size_t agentic = std::min(start.find("\"block_size\""), start.find("\"requests\""));
  if (mooncake < agentic) return TraceFormat::mooncake;
  if (agentic < mooncake) return TraceFormat::agentic;
  if (file.path().extension() == ".jsonl") return TraceFormat::mooncake;
  if (file.path().extension() == ".json") return TraceFormat::agentic;
  if (start.empty()) {
    return failed(ErrorCode::bad_file, file.path().string() + ": line 1: the file is empty");
  }
  return failed(ErrorCode::bad_file, file.path().string() +
                                         ": neither content nor extension tells the format; name "
                                         "it: mooncake or agentic");
}

}  // namespace

std::string_view format_name(TraceFormat format) {
  return format == TraceFormat::mooncake ? "mooncake" : "agentic";
}

std::optional<TraceFormat> format_named(std::string_view name) {
  for (const TraceFormat format : {TraceFormat::mooncake, TraceFormat::agentic}) {
    if (format_name(format) == name) return format;
  }
  return std::nullopt;
}

Result<std::unique_ptr<TraceReader>> open_trace(std::span<const fs::path> paths,
                                                const TraceOptions& options) {
  if (paths.empty()) return failed(ErrorCode::invalid_params, "no trace file is named");
  if (options.block_tokens == 0) {
    return failed(ErrorCode::invalid_params, "a block of 0 tokens cannot be");
  }
  std::vector<fs::path> names;
  for (const fs::path& path : paths) {
    std::error_code ignored;  // open() below says what is wrong with the path
    if (options.format == TraceFormat::mooncake || !fs::is_directory(path, ignored)) {
      names.push_back(path);
      continue;
    }
    LARDER_TRY(const auto inside, files_in(path));
    names.insert(names.end(), inside.begin(), inside.end());
  }
  std::vector<InputFile> files;
  std::optional<TraceFormat> format = options.format;
  for (const fs::path& name : names) {
    LARDER_TRY(InputFile file, InputFile::open(name));
    if (!options.format) {
      LARDER_TRY(const TraceFormat found, detect(file));
      if (found == TraceFormat::mooncake || !format) format = found;
    }
    files.push_back(std::move(file));
  }
  if (format == TraceFormat::agentic) return read_agentic(std::move(files));
  if (files.size() > 1) {
    return failed(ErrorCode::invalid_params, "a mooncake trace is one file, but " +
                                                 std::to_string(files.size()) +
                                                 " are named, from " + names.front().string() +
                                                 " to " + names.back().string());
  }
  return read_mooncake(std::move(files.front()), options.block_tokens);
}

std::string all_is_warmup(std::uint64_t warmup_requests, std::uint64_t requests) {
  return "a warm-up of " + std::to_string(warmup_requests) +
         " requests leaves none to count: the " + "trace has " + std::to_string(requests);
}

}  // namespace larder::workloads

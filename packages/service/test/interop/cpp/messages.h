// The messages of docs/PROTOCOL.md section 3 as both clients write and read them.
#pragma once

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>

#include "dataflow.pb.h"
#include "wav.h"

using google::protobuf::Struct;

struct Session {
  Wav wav;
  std::string tenant;
  std::string project;
  std::string token;
  // Whether a Finalize request ends the audio; otherwise the half-close does.
  bool finalizes = false;
};

constexpr int kChunkMs = 20;

inline StreamInput RequestOf(const Struct& json) {
  StreamInput input;
  const auto status = google::protobuf::util::MessageToJsonString(json, input.mutable_message()->mutable_content());
  if (!status.ok()) throw std::runtime_error("The request cannot be written as JSON: " + status.ToString());
  input.mutable_message()->set_content_type(REQUEST);
  return input;
}

inline StreamInput StartOf(const Session& session) {
  Struct start;
  auto& fields = *start.mutable_fields();
  fields["MessageName"].set_string_value("Start");
  fields["Tenant"].set_string_value(session.tenant);
  fields["Token"].set_string_value(session.token);
  fields["ProjectName"].set_string_value(session.project);
  auto& audio = *fields["Audio"].mutable_struct_value()->mutable_fields();
  audio["SampleRate"].set_number_value(session.wav.sample_rate);
  audio["ChannelCount"].set_number_value(session.wav.channels);
  audio["Encoding"].set_string_value(session.wav.encoding);
  return RequestOf(start);
}

inline StreamInput FinalizeRequest() {
  Struct finalize;
  (*finalize.mutable_fields())["MessageName"].set_string_value("Finalize");
  return RequestOf(finalize);
}

// The samples of a file, 20 ms a message.
class AudioMessages {
 public:
  explicit AudioMessages(const Wav& wav) : wav_(wav), chunk_(wav.ChunkBytes(kChunkMs)) {}

  bool Next(StreamInput* input) {
    if (at_ >= wav_.samples.size()) return false;
    input->mutable_message()->set_binary_content(wav_.samples.substr(at_, chunk_));
    input->mutable_message()->set_content_type(AUDIO);
    at_ += chunk_;
    return true;
  }

 private:
  const Wav& wav_;
  const size_t chunk_;
  size_t at_ = 0;
};

inline bool IsSuccess(const StreamOutput& response) {
  Struct json;
  if (!google::protobuf::util::JsonStringToMessage(response.message().content(), &json).ok()) return false;
  const auto found = json.fields().find("operation-result");
  return found != json.fields().end() && found->second.string_value() == "success";
}

// A line for all that happens, in order: "RESPONSE {...}", "EVENT {...}", "SENT 1639", "STATUS 0".
class Report {
 public:
  void Line(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::cout << line << std::endl;
  }

  void Message(const StreamOutput& output) {
    Line(CONTENT_TYPE_Name(output.message().content_type()) + " " + output.message().content());
  }

 private:
  std::mutex mutex_;
};

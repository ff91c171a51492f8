// A session by the synchronous API: one thread writes, another reads all the while.
#pragma once

#include <grpcpp/grpcpp.h>

#include <thread>

#include "dataflow.grpc.pb.h"
#include "messages.h"

inline grpc::Status RunSync(dataflow::Stub& stub, const Session& session, grpc::ClientContext& context, Report& report) {
  auto stream = stub.Stream(&context);
  StreamOutput output;
  stream->Write(StartOf(session));
  bool accepted = false;
  while (stream->Read(&output)) {
    report.Message(output);
    if (output.message().content_type() != RESPONSE) continue;
    accepted = IsSuccess(output);
    break;
  }
  if (!accepted) {
    while (stream->Read(&output)) report.Message(output);
    return stream->Finish();
  }

  std::thread reader([&] {
    while (stream->Read(&output)) report.Message(output);
  });
  AudioMessages audio(session.wav);
  int sent = 0;
  for (StreamInput input; audio.Next(&input) && stream->Write(input);) ++sent;
  report.Line("SENT " + std::to_string(sent));
  if (session.finalizes)
    stream->Write(FinalizeRequest());
  else
    stream->WritesDone();
  reader.join();
  return stream->Finish();
}

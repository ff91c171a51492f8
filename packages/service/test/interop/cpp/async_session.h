// A session by the asynchronous API: one thread, one completion queue, a read and a write always under way.
#pragma once

#include <grpcpp/grpcpp.h>

#include "dataflow.grpc.pb.h"
#include "messages.h"

class AsyncSession {
 public:
  AsyncSession(dataflow::Stub& stub, const Session& session, grpc::ClientContext& context, Report& report)
      : session_(session), report_(report), audio_(session.wav) {
    stream_ = stub.AsyncStream(&context, &queue_, TagOf(kOpened));
  }

  grpc::Status Run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      switch (static_cast<Step>(reinterpret_cast<intptr_t>(tag))) {
        case kOpened:
          if (ok) {
            stream_->Write(StartOf(session_), TagOf(kWritten));
            stream_->Read(&output_, TagOf(kRead));
          } else {
            stream_->Finish(&status_, TagOf(kFinished));
          }
          break;
        case kRead:
          if (!ok) {
            stream_->Finish(&status_, TagOf(kFinished));
            break;
          }
          report_.Message(output_);
          OnMessage();
          stream_->Read(&output_, TagOf(kRead));
          break;
        case kWritten:
          writing_ = false;
          if (ok) WriteNext();
          break;
        case kFinished:
          queue_.Shutdown();
          break;
      }
    }
    return status_;
  }

 private:
  enum Step : intptr_t { kOpened, kRead, kWritten, kFinished };

  static void* TagOf(Step step) { return reinterpret_cast<void*>(static_cast<intptr_t>(step)); }

  void OnMessage() {
    if (answered_ || output_.message().content_type() != RESPONSE) return;
    answered_ = true;
    accepted_ = IsSuccess(output_);
    WriteNext();
  }

  // The API takes one write at a time, and no audio is sent before the start was accepted.
  void WriteNext() {
    if (writing_ || !accepted_ || ended_) return;
    writing_ = true;
    StreamInput input;
    if (audio_.Next(&input)) {
      ++sent_;
      stream_->Write(input, TagOf(kWritten));
      return;
    }
    ended_ = true;
    report_.Line("SENT " + std::to_string(sent_));
    if (session_.finalizes)
      stream_->Write(FinalizeRequest(), TagOf(kWritten));
    else
      stream_->WritesDone(TagOf(kWritten));
  }

  const Session& session_;
  Report& report_;
  AudioMessages audio_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<StreamInput, StreamOutput>> stream_;
  StreamOutput output_;
  grpc::Status status_;
  bool answered_ = false;
  bool accepted_ = false;
  bool writing_ = true;
  bool ended_ = false;
  int sent_ = 0;
};

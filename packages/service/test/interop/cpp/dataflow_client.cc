// A client of proto/dataflow.proto by gRPC's C++ package alone:
//   DATAFLOW_TOKEN=... dataflow_client sync|async ADDRESS CA.pem CALL.wav TENANT PROJECT half-close|finalize
// It prints a line for each message and for the status, and returns 0 for OK, 1 for any other status, 2 for wrong use.
// The generated sources are part of this one, so that gRPC's headers are compiled once.
#include "dataflow.pb.cc"
#include "dataflow.grpc.pb.cc"

#include <cstdlib>

#include "async_session.h"
#include "sync_session.h"

// No session of the tests takes so long, and none may last for ever.
constexpr auto kDeadline = std::chrono::seconds(90);

int main(int count, char** arguments) {
  const char* token = std::getenv("DATAFLOW_TOKEN");
  if (count != 8 || token == nullptr) {
    std::cerr << "DATAFLOW_TOKEN=... " << arguments[0]
              << " sync|async ADDRESS CA.pem CALL.wav TENANT PROJECT half-close|finalize" << std::endl;
    return 2;
  }
  const std::string api = arguments[1];
  grpc::SslCredentialsOptions tls;
  std::ifstream ca(arguments[3]);
  tls.pem_root_certs.assign(std::istreambuf_iterator<char>(ca), std::istreambuf_iterator<char>());
  Session session{ReadWav(arguments[4]), arguments[5], arguments[6], token, std::string(arguments[7]) == "finalize"};

  dataflow::Stub stub(grpc::CreateChannel(arguments[2], grpc::SslCredentials(tls)));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  Report report;
  const grpc::Status status = api == "async" ? AsyncSession(stub, session, context, report).Run()
                                             : RunSync(stub, session, context, report);
  report.Line("STATUS " + std::to_string(status.error_code()) + " " + status.error_message());
  return status.ok() ? 0 : 1;
}

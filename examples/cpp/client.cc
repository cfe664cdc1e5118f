// Calls Sonant over gRPC: saves a text's audio to a file, reads a stream, speaks live, and makes calls that fail on
// purpose.
//
// The API key comes from SONANT_API_KEY, the address from the first argument; it begins with https:// for TLS.
#include <grpcpp/grpcpp.h>
#include <openssl/evp.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "sonant/v1/speech.grpc.pb.h"

using namespace std::chrono_literals;
using sonant::v1::SpeechService;
using std::chrono::steady_clock;

// Every call has its own context, with the key and a deadline. Without a deadline, a call to an unreachable machine may
// wait forever.
class Call : public grpc::ClientContext {
 public:
  explicit Call(std::chrono::milliseconds deadline = 30s) {
    const char* key = std::getenv("SONANT_API_KEY");
    AddMetadata("x-api-key", key ? key : "");
    set_deadline(std::chrono::system_clock::now() + deadline);
  }
};

// Returns the stable name of a failure from its google.rpc.ErrorInfo; for errors of gRPC itself, the status number.
std::string ReasonOf(const grpc::Status& failure) {
  google::rpc::Status status;
  status.ParseFromString(failure.error_details());
  for (const auto& detail : status.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info)) return info.reason();
  }
  return "gRPC status " + std::to_string(failure.error_code());
}

std::string Explain(const grpc::Status& failure) { return ReasonOf(failure) + ": " + failure.error_message(); }

// Requests the complete audio of a text. Inline audio is limited to 4 MB, so longer texts should be streamed.
grpc::Status SynthesizeToFile(SpeechService::Stub& speech) {
  sonant::v1::SynthesizeSpeechRequest request;
  request.set_voice_id("clara");
  request.set_text("Hello from Sonant.");
  request.set_output_format(sonant::v1::OUTPUT_FORMAT_MP3);
  request.set_return_format(sonant::v1::RETURN_FORMAT_BUFFER);
  sonant::v1::SynthesizeSpeechResponse response;
  Call call;
  const grpc::Status status = speech.SynthesizeSpeech(&call, request, &response);
  if (!status.ok()) return status;
  const std::string& audio = response.audio_bytes();
  std::ofstream("hello.mp3", std::ios::binary) << audio;
  const auto& duration = response.duration();
  const long millis = duration.seconds() * 1000 + duration.nanos() / 1'000'000;
  std::cout << "hello.mp3: " << audio.size() << " bytes, " << millis << " ms of speech" << std::endl;
  return status;
}

// Streams raw samples, which a player could play from the first piece on.
grpc::Status Stream(SpeechService::Stub& speech) {
  sonant::v1::StreamSpeechRequest request;
  request.set_voice_id("clara");
  request.add_text_chunks("Dear reader, it cost $19.99.");
  request.add_text_chunks("Yours, Clara.");
  request.set_output_format(sonant::v1::OUTPUT_FORMAT_PCM);
  request.set_sample_rate(24000);

  const auto asked = steady_clock::now();
  Call call;
  const auto events = speech.StreamSpeech(&call, request);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr);
  std::size_t size = 0;
  sonant::v1::StreamSpeechResponse response;
  while (events->Read(&response)) {
    if (!response.has_audio()) continue;
    if (size == 0) std::cout << "first sound after " << (steady_clock::now() - asked) / 1ms << " ms" << std::endl;
    const std::string& piece = response.audio().audio();
    size += piece.size();
    EVP_DigestUpdate(hash.get(), piece.data(), piece.size());
  }
  // All audio has arrived only if the status is OK.
  const grpc::Status status = events->Finish();
  if (!status.ok()) return status;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_DigestFinal_ex(hash.get(), digest, &length);
  std::cout << "streamed " << size << " bytes, SHA-256 " << std::hex << std::setfill('0');
  for (unsigned i = 0; i < length; i++) std::cout << std::setw(2) << static_cast<int>(digest[i]);
  std::cout << std::dec << std::endl;
  return status;
}

// Speaks two turns as they are written. The listener hangs up in the second, which cancels the call.
grpc::Status SpeakLive(SpeechService::Stub& speech) {
  std::string longer;
  for (int i = 0; i < 200; i++) longer += "This takes a while. ";
  Call call;
  const auto live = speech.LiveSpeech(&call);
  sonant::v1::LiveSpeechRequest start, text, flush;
  start.mutable_start()->set_voice_id("clara");
  flush.mutable_flush();
  live->Write(start);
  for (const std::string& turn : {std::string("Good morning. It is late."), longer}) {
    text.mutable_text()->set_text(turn);
    live->Write(text);
    live->Write(flush);
  }
  std::size_t size = 0;
  sonant::v1::LiveSpeechResponse response;
  while (live->Read(&response)) {
    size += response.audio().audio().size();
    if (!response.has_flushed()) continue;
    std::cout << "turn 0: " << response.flushed().chars() << " characters, " << size << " bytes" << std::endl;
    call.TryCancel();
  }
  const grpc::Status status = live->Finish();
  if (status.error_code() != grpc::StatusCode::CANCELLED) return status;
  std::cout << "cancelled in turn 1" << std::endl;
  return grpc::Status::OK;
}

void AskForAnUnknownVoice(SpeechService::Stub& speech) {
  sonant::v1::SynthesizeSpeechRequest request;
  request.set_voice_id("nobody");
  request.set_text("Hello.");
  sonant::v1::SynthesizeSpeechResponse response;
  Call call;
  std::cout << "refused: " << Explain(speech.SynthesizeSpeech(&call, request, &response)) << std::endl;
}

// Requests a long text with a deadline of ten milliseconds. Sonant stops speaking as soon as the caller gives up.
grpc::Status GiveUpEarly(SpeechService::Stub& speech) {
  sonant::v1::SynthesizeSpeechRequest request;
  request.set_voice_id("clara");
  for (int i = 0; i < 200; i++) request.mutable_text()->append("This takes a while. ");
  sonant::v1::SynthesizeSpeechResponse response;
  Call call(10ms);
  const grpc::Status status = speech.SynthesizeSpeech(&call, request, &response);
  if (status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED) return status;
  std::cout << "gave up after 10 ms, as told" << std::endl;
  return grpc::Status::OK;
}

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "127.0.0.1:50051";
  const bool secure = address.rfind("https://", 0) == 0;
  // All calls of a program share one channel.
  const auto speech = SpeechService::NewStub(
      grpc::CreateChannel(secure ? address.substr(8) : address,
                          secure ? grpc::SslCredentials({}) : grpc::InsecureChannelCredentials()));

  grpc::Status status = SynthesizeToFile(*speech);
  if (status.ok()) status = Stream(*speech);
  if (status.ok()) status = SpeakLive(*speech);
  if (status.ok()) AskForAnUnknownVoice(*speech);
  if (status.ok()) status = GiveUpEarly(*speech);
  if (status.ok()) return 0;
  std::cerr << Explain(status) << std::endl;
  return 1;
}

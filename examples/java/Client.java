import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.Durations;
import com.google.rpc.ErrorInfo;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import sonant.v1.LiveFlush;
import sonant.v1.LiveSpeechRequest;
import sonant.v1.LiveSpeechResponse;
import sonant.v1.LiveStart;
import sonant.v1.LiveText;
import sonant.v1.OutputFormat;
import sonant.v1.ReturnFormat;
import sonant.v1.SpeechServiceGrpc;
import sonant.v1.SpeechServiceGrpc.SpeechServiceBlockingStub;
import sonant.v1.StreamSpeechRequest;
import sonant.v1.StreamSpeechResponse;
import sonant.v1.SynthesizeSpeechRequest;
import sonant.v1.SynthesizeSpeechResponse;

/**
 * Calls Sonant over gRPC: saves a text's audio to a file, reads a stream, speaks live, and makes calls that fail on
 * purpose.
 *
 * <p>The API key comes from SONANT_API_KEY, the address from the first argument; it begins with https:// for TLS.
 */
public final class Client {
  private final SpeechServiceBlockingStub speech;

  private Client(SpeechServiceBlockingStub speech) {
    this.speech = speech;
  }

  public static void main(String[] args) throws Exception {
    String address = args.length > 0 ? args[0] : "127.0.0.1:50051";
    // All calls of a program share one channel.
    ManagedChannelBuilder<?> builder = ManagedChannelBuilder.forTarget(address.replace("https://", ""));
    if (!address.startsWith("https://")) builder.usePlaintext();
    ManagedChannel channel = builder.build();
    try {
      Client client = new Client(SpeechServiceGrpc.newBlockingStub(channel).withInterceptors(apiKey()));
      client.synthesizeToFile();
      client.stream();
      client.speakLive();
      client.askForAnUnknownVoice();
      client.giveUpEarly();
    } catch (StatusRuntimeException failure) {
      System.err.println(reasonOf(failure) + ": " + failure.getStatus().getDescription());
      System.exit(1);
    } finally {
      channel.shutdownNow();
    }
  }

  private static ClientInterceptor apiKey() {
    Metadata metadata = new Metadata();
    String key = System.getenv().getOrDefault("SONANT_API_KEY", "");
    metadata.put(Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER), key);
    return MetadataUtils.newAttachHeadersInterceptor(metadata);
  }

  /** Every call has a deadline, without which a call to an unreachable machine may wait forever. */
  private SpeechServiceBlockingStub withDeadline() {
    return speech.withDeadlineAfter(30, TimeUnit.SECONDS);
  }

  /** Requests the complete audio of a text. Inline audio is limited to 4 MB, so longer texts should be streamed. */
  private void synthesizeToFile() throws IOException {
    SynthesizeSpeechRequest request =
        SynthesizeSpeechRequest.newBuilder()
            .setVoiceId("clara")
            .setText("Hello from Sonant.")
            .setOutputFormat(OutputFormat.OUTPUT_FORMAT_MP3)
            .setReturnFormat(ReturnFormat.RETURN_FORMAT_BUFFER)
            .build();
    SynthesizeSpeechResponse response = withDeadline().synthesizeSpeech(request);
    byte[] audio = response.getAudioBytes().toByteArray();
    Files.write(Path.of("hello.mp3"), audio);
    long millis = Durations.toMillis(response.getDuration());
    System.out.println("hello.mp3: " + audio.length + " bytes, " + millis + " ms of speech");
  }

  /** Streams raw samples, which a player could play from the first piece on. */
  private void stream() throws NoSuchAlgorithmException {
    StreamSpeechRequest request =
        StreamSpeechRequest.newBuilder()
            .setVoiceId("clara")
            .addTextChunks("Dear reader, it cost $19.99.")
            .addTextChunks("Yours, Clara.")
            .setOutputFormat(OutputFormat.OUTPUT_FORMAT_PCM)
            .setSampleRate(24000)
            .build();
    long asked = System.nanoTime();
    int size = 0;
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    Iterator<StreamSpeechResponse> events = withDeadline().streamSpeech(request);
    // If the loop ends without an exception, all audio has arrived.
    while (events.hasNext()) {
      StreamSpeechResponse event = events.next();
      if (!event.hasAudio()) continue;
      if (size == 0) {
        System.out.println("first sound after " + (System.nanoTime() - asked) / 1_000_000 + " ms");
      }
      byte[] bytes = event.getAudio().getAudio().toByteArray();
      size += bytes.length;
      digest.update(bytes);
    }
    System.out.println("streamed " + size + " bytes, SHA-256 " + HexFormat.of().formatHex(digest.digest()));
  }

  /** Speaks two turns as they are written. The listener hangs up in the second, which cancels the call. */
  private void speakLive() {
    CompletableFuture<Status> end = new CompletableFuture<>();
    var responses =
        new ClientResponseObserver<LiveSpeechRequest, LiveSpeechResponse>() {
          private ClientCallStreamObserver<LiveSpeechRequest> call;
          private int size = 0;

          public void beforeStart(ClientCallStreamObserver<LiveSpeechRequest> call) {
            this.call = call;
          }

          public void onNext(LiveSpeechResponse response) {
            size += response.getAudio().getAudio().size();
            if (!response.hasFlushed()) return;
            System.out.println("turn 0: " + response.getFlushed().getChars() + " characters, " + size + " bytes");
            call.cancel("the listener hung up", null);
          }

          public void onError(Throwable failure) {
            end.complete(Status.fromThrowable(failure));
          }

          public void onCompleted() {
            end.complete(Status.OK);
          }
        };
    var requests = SpeechServiceGrpc.newStub(speech.getChannel()).withDeadlineAfter(30, TimeUnit.SECONDS)
        .liveSpeech(responses);
    requests.onNext(LiveSpeechRequest.newBuilder().setStart(LiveStart.newBuilder().setVoiceId("clara")).build());
    for (String text : new String[] {"Good morning. It is late.", "This takes a while. ".repeat(200)}) {
      requests.onNext(LiveSpeechRequest.newBuilder().setText(LiveText.newBuilder().setText(text)).build());
      requests.onNext(LiveSpeechRequest.newBuilder().setFlush(LiveFlush.getDefaultInstance()).build());
    }
    Status status = end.join();
    if (status.getCode() != Status.Code.CANCELLED) throw status.asRuntimeException();
    System.out.println("cancelled in turn 1");
  }

  private void askForAnUnknownVoice() {
    try {
      withDeadline()
          .synthesizeSpeech(SynthesizeSpeechRequest.newBuilder().setVoiceId("nobody").setText("Hello.").build());
    } catch (StatusRuntimeException failure) {
      System.out.println("refused: " + reasonOf(failure) + ": " + failure.getStatus().getDescription());
    }
  }

  /** Requests a long text with a deadline of ten milliseconds. Sonant stops speaking as soon as the caller gives up. */
  private void giveUpEarly() {
    SynthesizeSpeechRequest request =
        SynthesizeSpeechRequest.newBuilder().setVoiceId("clara").setText("This takes a while. ".repeat(200)).build();
    try {
      speech.withDeadlineAfter(10, TimeUnit.MILLISECONDS).synthesizeSpeech(request);
    } catch (StatusRuntimeException failure) {
      if (failure.getStatus().getCode() != Status.Code.DEADLINE_EXCEEDED) throw failure;
      System.out.println("gave up after 10 ms, as told");
    }
  }

  /** Returns the stable name of a failure from its google.rpc.ErrorInfo; for errors of gRPC itself, the status. */
  private static String reasonOf(StatusRuntimeException failure) {
    com.google.rpc.Status status = StatusProto.fromThrowable(failure);
    try {
      if (status != null) {
        for (Any detail : status.getDetailsList()) {
          if (detail.is(ErrorInfo.class)) return detail.unpack(ErrorInfo.class).getReason();
        }
      }
    } catch (InvalidProtocolBufferException notForUs) {
      // Returns gRPC's status instead.
    }
    return failure.getStatus().getCode().name();
  }
}

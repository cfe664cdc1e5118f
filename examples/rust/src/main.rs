//! Calls Sonant over gRPC: saves a text's audio to a file, reads a stream, speaks live, and makes calls that fail on
//! purpose.
//!
//! The API key comes from SONANT_API_KEY, the address from the first argument; it begins with https:// for TLS.
use std::error::Error;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use sonant::speech_service_client::SpeechServiceClient;
use sonant::{live_speech_request, live_speech_response, stream_speech_response, synthesize_speech_response::Audio};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

#[allow(dead_code)]
mod sonant {
    tonic::include_proto!("sonant.v1");
}

type AddKey = fn(Request<()>) -> Result<Request<()>, Status>;
type Speech = SpeechServiceClient<InterceptedService<Channel, AddKey>>;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    if let Err(error) = run().await {
        eprintln!("{}", error.downcast_ref().map_or_else(|| format!("{error:?}"), explain));
        std::process::exit(1);
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:50051".into());
    let url = if address.starts_with("https://") { address } else { format!("http://{address}") };
    // All calls of a program share one channel. An address with https trusts the certificates of the machine.
    let channel = Endpoint::new(url)?.connect().await?;
    let mut speech = SpeechServiceClient::with_interceptor(channel, add_key as AddKey);
    synthesize_to_file(&mut speech).await?;
    stream(&mut speech).await?;
    speak_live(&mut speech).await?;
    ask_for_an_unknown_voice(&mut speech).await;
    Ok(give_up_early(&mut speech).await?)
}

fn add_key(mut request: Request<()>) -> Result<Request<()>, Status> {
    let key = std::env::var("SONANT_API_KEY").unwrap_or_default();
    let value = key.parse().map_err(|_| Status::invalid_argument("the key has a character that no key has"))?;
    request.metadata_mut().insert("x-api-key", value);
    Ok(request)
}

/// Every call has a deadline, without which a call to an unreachable machine may wait forever.
fn within<T>(deadline: Duration, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(deadline);
    request
}

const DEADLINE: Duration = Duration::from_secs(30);

/// Requests the complete audio of a text. Inline audio is limited to 4 MB, so longer texts should be streamed.
async fn synthesize_to_file(speech: &mut Speech) -> Result<(), Box<dyn Error>> {
    let request = sonant::SynthesizeSpeechRequest {
        voice_id: "clara".into(),
        text: "Hello from Sonant.".into(),
        output_format: sonant::OutputFormat::Mp3.into(),
        return_format: sonant::ReturnFormat::Buffer.into(),
        ..Default::default()
    };
    let response = speech.synthesize_speech(within(DEADLINE, request)).await?.into_inner();
    let Some(Audio::AudioBytes(audio)) = response.audio else { return Err("a link came instead of bytes".into()) };
    std::fs::write("hello.mp3", &audio)?;
    let millis = Duration::try_from(response.duration.unwrap_or_default())?.as_millis();
    println!("hello.mp3: {} bytes, {millis} ms of speech", audio.len());
    Ok(())
}

/// Streams raw samples, which a player could play from the first piece on.
async fn stream(speech: &mut Speech) -> Result<(), Status> {
    let request = sonant::StreamSpeechRequest {
        voice_id: "clara".into(),
        text_chunks: vec!["Dear reader, it cost $19.99.".into(), "Yours, Clara.".into()],
        output_format: sonant::OutputFormat::Pcm.into(),
        sample_rate: Some(24_000),
        ..Default::default()
    };
    let (asked, mut size, mut digest) = (Instant::now(), 0, Sha256::new());
    let mut events = speech.stream_speech(within(DEADLINE, request)).await?.into_inner();
    // If the loop ends without an error, all audio has arrived.
    while let Some(response) = events.message().await? {
        let Some(stream_speech_response::Event::Audio(piece)) = response.event else { continue };
        if size == 0 {
            println!("first sound after {} ms", asked.elapsed().as_millis());
        }
        size += piece.audio.len();
        digest.update(&piece.audio);
    }
    println!("streamed {size} bytes, SHA-256 {:x}", digest.finalize());
    Ok(())
}

/// Speaks two turns as they are written. The listener hangs up in the second: dropping the stream cancels the call.
async fn speak_live(speech: &mut Speech) -> Result<(), Status> {
    use live_speech_request::Request::{Flush, Start, Text};
    let mut requests = vec![Start(sonant::LiveStart { voice_id: "clara".into(), ..Default::default() })];
    for text in ["Good morning. It is late.".into(), "This takes a while. ".repeat(200)] {
        requests.extend([Text(sonant::LiveText { text }), Flush(sonant::LiveFlush {})]);
    }
    let written = requests.into_iter().map(|request| sonant::LiveSpeechRequest { request: Some(request) });
    let call = within(DEADLINE, tokio_stream::iter(written));
    let (mut events, mut size) = (speech.live_speech(call).await?.into_inner(), 0);
    while let Some(response) = events.message().await? {
        match response.event {
            Some(live_speech_response::Event::Audio(piece)) => size += piece.audio.len(),
            Some(live_speech_response::Event::Flushed(turn)) => {
                println!("turn 0: {} characters, {size} bytes", turn.chars);
                drop(events);
                println!("cancelled in turn 1");
                return Ok(());
            }
            _ => {}
        }
    }
    Err(Status::unknown("the call ended before its turn"))
}

async fn ask_for_an_unknown_voice(speech: &mut Speech) {
    let request =
        sonant::SynthesizeSpeechRequest { voice_id: "nobody".into(), text: "Hello.".into(), ..Default::default() };
    if let Err(status) = speech.synthesize_speech(within(DEADLINE, request)).await {
        println!("refused: {}", explain(&status));
    }
}

/// Requests a long text with a deadline of ten milliseconds. Sonant stops speaking as soon as the caller gives up.
async fn give_up_early(speech: &mut Speech) -> Result<(), Status> {
    let text = "This takes a while. ".repeat(200);
    let request = sonant::SynthesizeSpeechRequest { voice_id: "clara".into(), text, ..Default::default() };
    match speech.synthesize_speech(within(Duration::from_millis(10), request)).await {
        // The first comes from Sonant, the second from tonic.
        Err(status) if matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled) => {
            println!("gave up after 10 ms, as told");
            Ok(())
        }
        answer => answer.map(drop),
    }
}

/// Returns the stable name of a failure from its google.rpc.ErrorInfo; for errors of gRPC itself, the status.
fn explain(status: &Status) -> String {
    let reason = status.get_details_error_info().map_or_else(|| format!("{:?}", status.code()), |info| info.reason);
    format!("{reason}: {}", status.message())
}

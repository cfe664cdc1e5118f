// Calls Sonant over gRPC: saves a text's audio to a file, reads a stream, speaks live, and makes calls that fail on
// purpose.
//
// The API key comes from SONANT_API_KEY, the address from the first argument; it begins with https:// for TLS.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	sonantv1 "sonant.example/gen/sonant/v1"
)

// Every call has a deadline, without which a call to an unreachable machine may wait forever.
const deadline = 30 * time.Second

func main() {
	address := "127.0.0.1:50051"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	if err := run(address); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", reasonOf(err), status.Convert(err).Message())
		os.Exit(1)
	}
}

func run(address string) error {
	// All calls of a program share one connection. Newer releases of gRPC prefer grpc.NewClient and
	// grpc.WithTransportCredentials(insecure.NewCredentials()), but still accept the older names.
	security := grpc.WithInsecure()
	if strings.HasPrefix(address, "https://") {
		security = grpc.WithTransportCredentials(credentials.NewTLS(nil))
	}
	connection, err := grpc.Dial(strings.TrimPrefix(address, "https://"), security)
	if err != nil {
		return err
	}
	defer connection.Close()
	speech := sonantv1.NewSpeechServiceClient(connection)
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-api-key", os.Getenv("SONANT_API_KEY"))

	for _, step := range []func(context.Context, sonantv1.SpeechServiceClient) error{
		synthesizeToFile, stream, speakLive, askForAnUnknownVoice, giveUpEarly,
	} {
		if err := step(ctx, speech); err != nil {
			return err
		}
	}
	return nil
}

// Requests the complete audio of a text. Inline audio is limited to 4 MB, so longer texts should be streamed.
func synthesizeToFile(ctx context.Context, speech sonantv1.SpeechServiceClient) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	response, err := speech.SynthesizeSpeech(ctx, &sonantv1.SynthesizeSpeechRequest{
		VoiceId:      "clara",
		Text:         "Hello from Sonant.",
		OutputFormat: sonantv1.OutputFormat_OUTPUT_FORMAT_MP3,
		ReturnFormat: sonantv1.ReturnFormat_RETURN_FORMAT_BUFFER,
	})
	if err != nil {
		return err
	}
	audio := response.GetAudioBytes()
	if err := os.WriteFile("hello.mp3", audio, 0o644); err != nil {
		return err
	}
	fmt.Printf("hello.mp3: %d bytes, %d ms of speech\n", len(audio), response.Duration.AsDuration().Milliseconds())
	return nil
}

// Streams raw samples, which a player could play from the first piece on.
func stream(ctx context.Context, speech sonantv1.SpeechServiceClient) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	sampleRate := int32(24000)
	asked := time.Now()
	events, err := speech.StreamSpeech(ctx, &sonantv1.StreamSpeechRequest{
		VoiceId:      "clara",
		TextChunks:   []string{"Dear reader, it cost $19.99.", "Yours, Clara."},
		OutputFormat: sonantv1.OutputFormat_OUTPUT_FORMAT_PCM,
		SampleRate: &sampleRate,
	})
	if err != nil {
		return err
	}
	size, digest := 0, sha256.New()
	for {
		response, err := events.Recv()
		if err == io.EOF { // All audio has arrived. Any other error means that audio is missing.
			break
		}
		if err != nil {
			return err
		}
		if audio := response.GetAudio(); audio != nil {
			if size == 0 {
				fmt.Printf("first sound after %d ms\n", time.Since(asked).Milliseconds())
			}
			size += len(audio.Audio)
			digest.Write(audio.Audio)
		}
	}
	fmt.Printf("streamed %d bytes, SHA-256 %x\n", size, digest.Sum(nil))
	return nil
}

// Speaks two turns as they are written. The listener hangs up in the second, which cancels the call.
func speakLive(ctx context.Context, speech sonantv1.SpeechServiceClient) error {
	ctx, hangUp := context.WithTimeout(ctx, deadline)
	defer hangUp()
	call, err := speech.LiveSpeech(ctx)
	if err != nil {
		return err
	}
	requests := []*sonantv1.LiveSpeechRequest{
		{Request: &sonantv1.LiveSpeechRequest_Start{Start: &sonantv1.LiveStart{VoiceId: "clara"}}},
	}
	for _, text := range []string{"Good morning. It is late.", strings.Repeat("This takes a while. ", 200)} {
		requests = append(requests,
			&sonantv1.LiveSpeechRequest{Request: &sonantv1.LiveSpeechRequest_Text{Text: &sonantv1.LiveText{Text: text}}},
			&sonantv1.LiveSpeechRequest{Request: &sonantv1.LiveSpeechRequest_Flush{}})
	}
	for _, request := range requests {
		if err := call.Send(request); err != nil {
			return err
		}
	}
	for size := 0; ; {
		response, err := call.Recv()
		if status.Code(err) == codes.Canceled {
			fmt.Println("cancelled in turn 1")
			return nil
		}
		if err != nil {
			return err
		}
		size += len(response.GetAudio().GetAudio())
		if flushed := response.GetFlushed(); flushed != nil {
			fmt.Printf("turn 0: %d characters, %d bytes\n", flushed.Chars, size)
			hangUp()
		}
	}
}

func askForAnUnknownVoice(ctx context.Context, speech sonantv1.SpeechServiceClient) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	_, err := speech.SynthesizeSpeech(ctx, &sonantv1.SynthesizeSpeechRequest{VoiceId: "nobody", Text: "Hello."})
	fmt.Printf("refused: %s: %s\n", reasonOf(err), status.Convert(err).Message())
	return nil
}

// Requests a long text with a deadline of ten milliseconds. Sonant stops speaking as soon as the caller gives up.
func giveUpEarly(ctx context.Context, speech sonantv1.SpeechServiceClient) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	text := strings.Repeat("This takes a while. ", 200)
	_, err := speech.SynthesizeSpeech(ctx, &sonantv1.SynthesizeSpeechRequest{VoiceId: "clara", Text: text})
	if status.Code(err) != codes.DeadlineExceeded {
		return err
	}
	fmt.Println("gave up after 10 ms, as told")
	return nil
}

// Returns the stable name of a failure from its google.rpc.ErrorInfo; for errors of gRPC itself, the status.
func reasonOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return status.Code(err).String()
}

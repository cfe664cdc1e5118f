// What a worklet for sound finds around it (https://webaudio.github.io/web-audio-api/#AudioWorkletGlobalScope); the
// compiler's own library knows only pages.

declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort;
}

declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

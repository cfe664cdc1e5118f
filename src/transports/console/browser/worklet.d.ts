// Globals of AudioWorkletGlobalScope, which lib.dom does not declare, and the message that the player worklet posts.
declare const sampleRate: number;
declare const currentTime: number;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

/** Playback position: `played` samples had been rendered at `time`, in seconds of the audio context's clock. */
interface PlaybackReport {
  /** Identifies the playback run; reports of earlier runs are ignored. */
  number: number;
  played: number;
  underruns: number;
  checksum: number;
  isDry: boolean;
  isOver: boolean;
  time: number;
}

// What an audio worklet has about it, which lib.dom does not tell of, and what it tells the page.
declare const sampleRate: number;
declare const currentTime: number;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

/** Where a line of sound is: `played` samples were out at `time` of the context. */
interface SoundReport {
  /** Of the line that is meant. */
  number: number;
  played: number;
  underruns: number;
  checksum: number;
  isDry: boolean;
  isOver: boolean;
  time: number;
}

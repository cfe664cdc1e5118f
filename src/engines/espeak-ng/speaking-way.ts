// The two ways to eSpeak NG, its library and its program, which sound alike.
import type { Segment, SpokenPcm } from '../engine.ts';
import type { EspeakVoice } from './espeak-voices.ts';
import type { SpokenText } from './plain-text.ts';

/** What eSpeak NG itself is asked. */
export interface EspeakRequest {
  spoken: SpokenText;
  /** The file of the voice. */
  voice: string;
  wordsPerMinute: number;
  amplitude: number;
  /** 0 to 99, usually 50. */
  pitch: number;
}

export interface SpeakingWay {
  name: 'library' | 'program';
  version: string;
  voices: readonly EspeakVoice[];
  /** Whether it times words. */
  timings: boolean;
  speak(request: EspeakRequest, segment: Segment, signal: AbortSignal): AsyncGenerator<SpokenPcm>;
  close(): Promise<void>;
}

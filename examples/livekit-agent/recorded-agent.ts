// Audio output of an agent without a room: measures the audio instead of playing it, and takes no time.
import { voice } from '@livekit/agents';
import type { AudioFrame } from '@livekit/rtc-node';

export class Recorder extends voice.AudioOutput {
  seconds = 0;
  #segmentSeconds = 0;
  #onSound: () => void;

  constructor(onSound: () => void = () => {}) {
    super(undefined, undefined, { pause: false });
    this.#onSound = onSound;
  }

  override async captureFrame(frame: AudioFrame): Promise<void> {
    await super.captureFrame(frame);
    if (this.#segmentSeconds === 0) this.onPlaybackStarted(Date.now());
    const { samplesPerChannel, sampleRate } = frame;
    this.#segmentSeconds += samplesPerChannel / sampleRate;
    this.seconds += samplesPerChannel / sampleRate;
    this.#onSound();
  }

  override flush(): void {
    super.flush();
    this.#end(false);
  }

  override clearBuffer(): void {
    this.#end(true);
  }

  #end(interrupted: boolean): void {
    if (this.#segmentSeconds === 0) return;
    const playbackPosition = this.#segmentSeconds;
    this.#segmentSeconds = 0;
    this.onPlaybackFinished({ playbackPosition, interrupted });
  }
}

// eSpeak NG's library, loaded into this process: each text sounds as the program `espeak-ng` speaks it, byte for byte, and
// as it does alone. The library goes on where the text before left it, in the flutter of its pitch and elsewhere, and has
// no call to begin anew; so its static memory is put back before each text. `openLibrary` throws where that cannot be done,
// or does not have the effect.
import { createHash } from 'node:crypto';
import { samplesOf } from '../../audio/pcm.ts';
import { parseEspeakVoices } from './espeak-voices.ts';
import type { LibraryFacts, LibraryRequest, SoundMark } from './library-frames.ts';
import { type Address, openNativeCalls } from './native-calls.ts';
import { openStaticMemory } from './static-memory.ts';

/** How much sound there is in a callback. */
const bufferMs = 500;
/** UTF-8, phonemes in brackets, a pause at the end: the flags with which the program calls it for `-b 1`. */
const synthFlags = 0x1 | 0x100 | 0x1000;
const [rateParameter, volumeParameter, pitchParameter] = [1, 2, 3];
/** espeak_EVENT: its type, the position in the text and the sample, each an i32. */
const event = { bytes: 40, position: 8, sample: 20 };
const eventKinds = { none: 0, word: 1, end: 5 };
/** The library has so many events for so much sound at most. */
const eventsMax = bufferMs / 5 + 20;
/** Sound below is silence. */
const audiblePeak = 64;
/** The seed that a new process begins with. */
const firstSeed = 1;
const nothing = Buffer.from('\0');

export interface EspeakLibrary {
  facts: LibraryFacts;
  /** Speaks until `isStopped`; returns where the words are, if that is asked for. */
  speak(request: LibraryRequest, onSound: (bytes: Uint8Array) => void, isStopped: () => boolean): SoundMark[];
  isReadable(file: number): boolean;
}

export function openLibrary(name: string): EspeakLibrary {
  const calls = openNativeCalls(name);
  calls.endWithParent();
  const sampleRateHz = calls.initialize(bufferMs);
  if (sampleRateHz <= 0) throw new Error('the library does not find its data');
  const listener = createListener(calls.memory.view);
  calls.onSound(listener.onSound);
  const files = [calls.memory.fileOf(calls.symbol) ?? name, calls.dataFolder()];
  const facts = { version: calls.version(), sampleRateHz, voiceTable: calls.voiceTable(), files };
  const memory = openStaticMemory(calls.memory, calls.symbol);
  if (!memory) throw new Error('the memory of the library is not found on this system');

  const speak: EspeakLibrary['speak'] = (
    { text, voice, wordsPerMinute, amplitude, pitch, marks },
    onSound,
    isStopped,
  ) => {
    memory.restore();
    calls.srand(firstSeed);
    if (calls.setVoice(voice) !== 0) throw new Error(`the library does not load the voice ${voice}`);
    // Consumes the change of voice, which is memory that the library frees, so that it can be kept.
    listener.listen(undefined);
    calls.synth(nothing, synthFlags);
    memory.keep();
    calls.setParameter(rateParameter, wordsPerMinute);
    calls.setParameter(volumeParameter, amplitude);
    calls.setParameter(pitchParameter, pitch);
    const found: SoundMark[] = [];
    listener.listen({ onSound, isStopped, ...(marks && { marks: found }) });
    calls.synth(Buffer.from(`${text}\0`), synthFlags);
    return found;
  };
  checkRepeats(speak, facts);
  return { facts, speak, isReadable: calls.isReadable };
}

/** Throws where a text does not sound the same after another. */
function checkRepeats(speak: EspeakLibrary['speak'], { voiceTable }: LibraryFacts): void {
  const voices = parseEspeakVoices(voiceTable);
  const voice = voices.find(({ languageCodes }) => languageCodes.includes('en')) ?? voices[0];
  if (!voice) throw new Error('the library lists no voices');
  const hashOf = (text: string): string => {
    const hash = createHash('sha256');
    const request = { text, voice: voice.file, wordsPerMinute: 175, amplitude: 80, pitch: 50, marks: false };
    speak(
      request,
      (bytes) => hash.update(bytes),
      () => false,
    );
    return hash.digest('hex');
  };
  const before = hashOf('one');
  if (hashOf('fly away') === before || hashOf('one') !== before)
    throw new Error('the library does not speak a text twice alike');
}

interface Listening {
  onSound(bytes: Uint8Array): void;
  isStopped(): boolean;
  /** Where marks are added, if they are wanted. */
  marks?: SoundMark[];
}

/** What the library calls with sound. It has one buffer of sound and one of events, which are not looked up each time. */
function createListener(view: (address: Address, byteLength: number) => ArrayBuffer) {
  let listening: Listening | undefined;
  let sound = { address: 0n, bytes: new Uint8Array() };
  let events = { address: 0n, data: new DataView(new ArrayBuffer(0)) };
  let sampleCount = 0;
  let audibleUntil = 0;

  const hearMarks = (bytes: Uint8Array, at: Address, marks: SoundMark[]) => {
    if (events.address !== at) events = { address: at, data: new DataView(view(at, eventsMax * event.bytes)) };
    const samples = samplesOf(bytes);
    const listenTo = (end: number) => {
      for (let n = heard; n < end; n++) if (Math.abs(samples[n]!) > audiblePeak) audibleUntil = sampleCount + n + 1;
      heard = Math.max(heard, end);
    };
    let heard = 0;
    for (let n = 0; n < eventsMax; n++) {
      const kind = events.data.getInt32(n * event.bytes, true);
      if (kind === eventKinds.none) break;
      if (kind !== eventKinds.word && kind !== eventKinds.end) continue;
      const sample = events.data.getInt32(n * event.bytes + event.sample, true);
      listenTo(Math.min(samples.length, sample - sampleCount));
      const position = kind === eventKinds.word ? events.data.getInt32(n * event.bytes + event.position, true) : 0;
      marks.push({ position, sample, audibleUntil });
    }
    listenTo(samples.length);
  };

  return {
    listen(next: Listening | undefined): void {
      listening = next;
      sampleCount = 0;
      audibleUntil = 0;
    },
    onSound(at: Address | null, count: number, eventsAt: Address): number {
      if (!at || !listening) return 0;
      const size = 2 * count;
      if (sound.address !== at || sound.bytes.length < size)
        sound = { address: at, bytes: new Uint8Array(view(at, size)) };
      const bytes = sound.bytes.subarray(0, size);
      if (listening.marks) hearMarks(bytes, eventsAt, listening.marks);
      sampleCount += count;
      if (size > 0) listening.onSound(bytes);
      return listening.isStopped() ? 1 : 0;
    },
  };
}

// Loads eSpeak NG's library into this process. Each text sounds exactly as if the program `espeak-ng` spoke it alone.
// The library keeps state between texts and has no call to reset it, so its static memory is restored before each text.
// `openLibrary` throws if restoring fails or has no effect.

import { createHash } from 'node:crypto';
import koffi from 'koffi';
import { samplesOf } from '../../platform/pcm.ts';
import { parseEspeakVoices } from './espeak-voices.ts';
import type { LibraryFacts, LibraryRequest, SoundMark } from './library-frames.ts';

/** Length of audio per callback. */
const bufferMs = 500;
/** Flags that the program `espeak-ng` uses for `-b 1`: UTF-8, phonemes in brackets, a pause at the end. */
const synthFlags = 0x1 | 0x100 | 0x1000;
/** Modes of espeak_TextToPhonemes. */
const utf8Text = 1;
const ipaPhonemes = 2;
const [rateParameter, volumeParameter, pitchParameter] = [1, 2, 3];
/** Layout of espeak_EVENT: its type, the position in the text and the sample, each an i32. */
const event = { bytes: 40, position: 8, sample: 20 };
const eventKinds = { none: 0, word: 1, end: 5 };
/** Largest number of events in one callback. */
const eventsMax = bufferMs / 5 + 20;
/** Samples up to this peak count as silence. */
const audiblePeak = 64;
/** Seed of the C library's random numbers in a new process. */
const firstSeed = 1;
const nothing = Buffer.from('\0');

interface EspeakLibrary {
  facts: LibraryFacts;
  /** Converts a text to IPA, with spaces between words. */
  toIpa(text: string, voice: string): string;
  /** Speaks the text, or stops when `isStopped` returns true. Returns the positions of words, if requested. */
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
  const facts = { version: calls.version(), sampleRateHz, voiceTable: calls.voiceTable() };
  const memory = openStaticMemory(calls.memory, calls.symbol);
  if (!memory) throw new Error('the memory of the library was not found on this system');

  const speak: EspeakLibrary['speak'] = (
    { text, voice, wordsPerMinute, amplitude, pitch, marks },
    onSound,
    isStopped,
  ) => {
    memory.restore();
    calls.srand(firstSeed);
    if (calls.setVoice(voice) !== 0) throw new Error(`the library does not load the voice ${voice}`);
    // Consumes the voice-change event. The library frees the event's memory, so the saved state must not refer to it.
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
  const toIpa = (text: string, voice: string): string => {
    if (calls.setVoice(voice) !== 0) throw new Error(`the library does not load the voice ${voice}`);
    return calls.toIpa(text);
  };
  return { facts, toIpa, speak, isReadable: calls.isReadable };
}

/**
 * Throws unless a text yields the same audio before and after another text, and the other text yields different audio.
 */
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
    throw new Error('the library does not speak the same text identically twice');
}

interface Listening {
  onSound(bytes: Uint8Array): void;
  isStopped(): boolean;
  /** List that receives the positions of words; absent if they were not requested. */
  marks?: SoundMark[];
}

/** The callback for audio. The library has one audio buffer and one event buffer, so their views are cached. */
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

const elfMagic = 0x464c457f;
const is64Bits = 2;
const isLittleEndian = 1;
const loadType = 1;
const relroType = 0x6474e552;
const writableFlag = 2;
const headerBytes = 64;
const programHeadersMax = 64;

interface StaticMemory {
  /** Saves the current state. */
  keep(): void;
  /** Restores the last saved state. */
  restore(): void;
}

/** The static memory of the library that contains `symbol`; undefined if the file format is unknown. */
function openStaticMemory({ view, baseOf, pageBytes }: NativeMemory, symbol: bigint): StaticMemory | undefined {
  const base = baseOf(symbol);
  if (base === undefined) return undefined;
  const areas = writableAreas(view, base, pageBytes);
  if (!areas) return undefined;
  const kept = areas.map((area) => area.slice());
  return {
    keep() {
      for (const [i, area] of areas.entries()) kept[i]!.set(area);
    },
    restore() {
      for (const [i, area] of areas.entries()) area.set(kept[i]!);
    },
  };
}

function writableAreas(view: NativeMemory['view'], base: bigint, pageBytes: number): Uint8Array[] | undefined {
  const header = new DataView(view(base, headerBytes));
  const isKnown = header.getUint8(4) === is64Bits && header.getUint8(5) === isLittleEndian;
  if (header.getUint32(0, true) !== elfMagic || !isKnown) return undefined;
  const at = Number(header.getBigUint64(32, true));
  const [size, count] = [header.getUint16(54, true), header.getUint16(56, true)];
  if (count > programHeadersMax) return undefined;
  const table = new DataView(view(base + BigInt(at), size * count));
  const rows = Array.from({ length: count }, (_, n) => ({
    type: table.getUint32(n * size, true),
    flags: table.getUint32(n * size + 4, true),
    from: Number(table.getBigUint64(n * size + 16, true)),
    length: Number(table.getBigUint64(n * size + 40, true)),
  }));
  const relro = rows.find(({ type }) => type === relroType);
  const relroEnd = relro ? Math.floor((relro.from + relro.length) / pageBytes) * pageBytes : 0;
  return rows
    .filter(({ type, flags }) => type === loadType && (flags & writableFlag) !== 0)
    .map(({ from, length }) => ({ from: Math.max(from, relroEnd), to: from + length }))
    .filter(({ from, to }) => to > from)
    .map(({ from, to }) => new Uint8Array(view(base + BigInt(from), to - from)));
}

type Address = bigint;

/** Access to memory and to the base address of a library. */
interface NativeMemory {
  view(address: Address, byteLength: number): ArrayBuffer;
  baseOf(symbol: Address): Address | undefined;
  pageBytes: number;
}

/** Called with audio and its events, and finally with null. A result other than 0 stops the synthesis. */
type OnSound = (samples: Address | null, count: number, events: Address) => number;

const addressBytes = 8;

export function openNativeCalls(library: string) {
  const own = koffi.load(null);
  const dladdr = own.func('int dladdr(void *address, void *found)');
  const poll = own.func('int poll(void *files, unsigned long count, int ms)');
  const srand = own.func('void srand(unsigned int seed)');
  const pageBytes: number = own.func('int getpagesize()')();
  const memory: NativeMemory = {
    view: (address, byteLength) => koffi.view(address, byteLength),
    /** The second of the four words that dladdr(3) returns. */
    baseOf: (symbol) => {
      const found = Buffer.alloc(4 * addressBytes);
      return dladdr(symbol, found) === 0 ? undefined : found.readBigUInt64LE(addressBytes);
    },
    pageBytes,
  };
  const pollFile = Buffer.alloc(8);
  pollFile.writeInt16LE(1, 4);
  return {
    ...openEspeakCalls(library),
    memory,
    srand: (seed: number): void => srand(seed),
    /** Whether the file has data to read or its other end is closed. */
    isReadable: (file: number): boolean => {
      pollFile.writeInt32LE(file, 0);
      return poll(pollFile, 1, 0) > 0;
    },
    /** Asks the system to kill this process when its parent ends. Linux only. */
    endWithParent(): void {
      if (process.platform === 'linux') own.func('int prctl(int option, unsigned long signal)')(1, 9);
    },
  };
}

function openEspeakCalls(name: string) {
  const library = koffi.load(name);
  const initialize = library.func('int espeak_Initialize(int output, int buffer_ms, const char *path, int options)');
  const info = library.func('const char *espeak_Info(void *path)');
  const listVoices = library.func('void *espeak_ListVoices(void *like)');
  const setCallback = library.func('void espeak_SetSynthCallback(void *callback)');
  const setVoice = library.func('int espeak_SetVoiceByName(const char *name)');
  const setParameter = library.func('int espeak_SetParameter(int parameter, int value, int relative)');
  const synth = library.func(
    'int espeak_Synth(const void *text, size_t size, unsigned int at, int by, unsigned int end, unsigned int flags, void *id, void *data)',
  );
  const toPhonemes = library.func(
    'const char *espeak_TextToPhonemes(_Inout_ const char **text, int text_mode, int phoneme_mode)',
  );
  const soundType = koffi.proto('int SonantOnSound(void *samples, int count, void *events)');
  return {
    symbol: library.symbol('espeak_Info') as Address,
    /** Synchronous mode, with audio passed to the callback. Returns the sample rate. */
    initialize: (bufferMs: number): number => initialize(2, bufferMs, null, 0),
    version: (): string => info(null),
    onSound: (callback: OnSound): void => setCallback(koffi.register(callback, koffi.pointer(soundType))),
    setVoice: (file: string): number => setVoice(file),
    setParameter: (parameter: number, value: number): number => setParameter(parameter, value, 0),
    /** The text must end with a NUL byte. */
    synth: (text: Buffer, flags: number): number => synth(text, text.length, 0, 1, 0, flags, null, null),
    voiceTable: (): string => voiceTableOf(listVoices(null)),
    /** The library reads one clause at a time, and moves the start of the text behind it. */
    toIpa(text: string): string {
      const clauses: string[] = [];
      for (const rest: [string | null] = [text]; rest[0]; )
        clauses.push(toPhonemes(rest, utf8Text, ipaPhonemes).trim());
      return clauses.join(' ');
    },
  };
}

const genders = '-MF-';

/** The voice table as `espeak-ng --voices` prints it; see espeak-voices.ts. */
function voiceTableOf(list: Address): string {
  const rows: string[] = [];
  for (let n = 0; ; n++) {
    const voice: Address = koffi.decode(list, n * addressBytes, 'void *');
    if (!voice) return rows.join('\n');
    // Layout of espeak_VOICE: three addresses, then bytes, of which the first is the gender.
    const name: string = koffi.decode(voice, 0, 'char *');
    const file: string = koffi.decode(voice, 2 * addressBytes, 'char *');
    const gender = genders[koffi.decode(voice, 3 * addressBytes, 'uint8')] ?? '-';
    const [own, ...others] = languagesOf(koffi.decode(voice, addressBytes, 'void *'));
    if (!own) continue;
    const rest = others.map(({ code, priority }) => `(${code} ${priority})`).join('');
    rows.push(`${own.priority} ${own.code} --/${gender} ${name.replaceAll(' ', '_')} ${file} ${rest}`);
  }
}

/** Reads pairs of a priority byte and a NUL-terminated name, until a priority is 0. */
function languagesOf(list: Address): { priority: number; code: string }[] {
  const languages: { priority: number; code: string }[] = [];
  for (let at = 0; ; ) {
    const priority: number = koffi.decode(list, at, 'uint8');
    if (priority === 0) return languages;
    const code: string = koffi.decode.string(list + BigInt(at + 1));
    languages.push({ priority, code });
    at += code.length + 2;
  }
}

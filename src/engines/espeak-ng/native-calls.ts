// The calls of eSpeak NG's library and of the C library that are needed, by koffi. Only the child process imports this:
// the library is under the GPL, and what it does wrong ends its process.
import koffi from 'koffi';

/** A place in memory. */
export type Address = bigint;

/** How memory is seen, and where a library begins in it. */
export interface NativeMemory {
  view(address: Address, byteLength: number): ArrayBuffer;
  baseOf(symbol: Address): Address | undefined;
  /** The path of the library. */
  fileOf(symbol: Address): string | undefined;
  pageBytes: number;
}

/** Called with sound and the events in it, and at the end without; another result than 0 ends the synthesis. */
export type OnSound = (samples: Address | null, count: number, events: Address) => number;

const addressBytes = 8;

export function openNativeCalls(library: string) {
  const own = koffi.load(null);
  const dladdr = own.func('int dladdr(void *address, void *found)');
  const poll = own.func('int poll(void *files, unsigned long count, int ms)');
  const srand = own.func('void srand(unsigned int seed)');
  const pageBytes: number = own.func('int getpagesize()')();
  /** dladdr(3): the first of four words is the path of the library, the second where it begins. */
  const find = (symbol: Address): Buffer | undefined => {
    const found = Buffer.alloc(4 * addressBytes);
    return dladdr(symbol, found) === 0 ? undefined : found;
  };
  const memory: NativeMemory = {
    view: (address, byteLength) => koffi.view(address, byteLength),
    baseOf: (symbol) => find(symbol)?.readBigUInt64LE(addressBytes),
    fileOf: (symbol) => {
      const found = find(symbol);
      return found && koffi.decode.string(found.readBigUInt64LE());
    },
    pageBytes,
  };
  const pollFile = Buffer.alloc(8);
  pollFile.writeInt16LE(1, 4);
  return {
    ...openEspeakCalls(library),
    memory,
    srand: (seed: number): void => srand(seed),
    /** Whether there is something to read from the file, or its other end is closed, at once or after waiting for it. */
    isReadable: (file: number, isAwaited = false): boolean => {
      pollFile.writeInt32LE(file, 0);
      return poll(pollFile, 1, isAwaited ? -1 : 0) > 0;
    },
    /** Has the system kill this process when its parent ends. Linux only. */
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
  const soundType = koffi.proto('int SonantOnSound(void *samples, int count, void *events)');
  return {
    symbol: library.symbol('espeak_Info') as Address,
    /** Synchronous, with sound given to the callback. Returns the sample rate. */
    initialize: (bufferMs: number): number => initialize(2, bufferMs, null, 0),
    version: (): string => info(null),
    dataFolder(): string {
      const address = Buffer.alloc(addressBytes);
      info(address);
      return koffi.decode.string(address.readBigUInt64LE());
    },
    onSound: (callback: OnSound): void => setCallback(koffi.register(callback, koffi.pointer(soundType))),
    setVoice: (file: string): number => setVoice(file),
    setParameter: (parameter: number, value: number): number => setParameter(parameter, value, 0),
    /** The text ends with a zero. */
    synth: (text: Buffer, flags: number): number => synth(text, text.length, 0, 1, 0, flags, null, null),
    voiceTable: (): string => voiceTableOf(listVoices(null)),
  };
}

const genders = '-MF-';

/** The voices as `espeak-ng --voices` prints them; see espeak-voices.ts. */
function voiceTableOf(list: Address): string {
  const rows: string[] = [];
  for (let n = 0; ; n++) {
    const voice: Address = koffi.decode(list, n * addressBytes, 'void *');
    if (!voice) return rows.join('\n');
    // espeak_VOICE: three addresses, then bytes, of which the first is the gender.
    const name: string = koffi.decode(voice, 0, 'char *');
    const file: string = koffi.decode(voice, 2 * addressBytes, 'char *');
    const gender = genders[koffi.decode(voice, 3 * addressBytes, 'uint8')] ?? '-';
    const [own, ...others] = languagesOf(koffi.decode(voice, addressBytes, 'void *'));
    if (!own) continue;
    const rest = others.map(({ code, priority }) => `(${code} ${priority})`).join('');
    rows.push(`${own.priority} ${own.code} --/${gender} ${name.replaceAll(' ', '_')} ${file} ${rest}`);
  }
}

/** A byte for the priority and then a name that ends with a zero, and so on until a priority is 0. */
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

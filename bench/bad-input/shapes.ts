// Defines bad input in JSON and protobuf, of 1 MiB or the maximum message size, and the APIs that receive it. An API
// has an address, its kinds of bad input, and a function that wraps each body, for example in a frame.
import { gzipSync } from 'node:zlib';
import { toFrame } from '../transports/raw-servers.ts';

const mib = 1 << 20;
/** Maximum size of a message of live speech over WebSocket. */
const messageBytes = 256 * 1024;

const fill = (unit: string, bytes: number) => unit.repeat(Math.max(0, Math.floor(bytes / Buffer.byteLength(unit))));
const list = (count: number, item: (n: number) => string) => Array.from({ length: count }, (_, n) => item(n)).join();

/** Returns JSON of about `bytes` bytes. `name` is a member that holds a string, `names` a member that holds a list. */
type JsonShape = (bytes: number, name: string, names: string) => string;

const inText =
  (unit: string): JsonShape =>
  (bytes, name) =>
    `{"${name}":"${fill(unit, bytes - 40)}"}`;

export const jsonShapes: Readonly<Record<string, JsonShape>> = {
  'a long text': inText('word '),
  'a text of 4-byte characters': inText('😀'),
  'escaped quotes': inText('\\"'),
  'escaped characters': inText('\\u00e9'),
  'lone surrogates': inText('\\ud83d'),
  blanks: (bytes) => `{${fill(' ', bytes)}}`,
  'no JSON': (bytes) => fill('x', bytes),
  brackets: (bytes) => fill('[', bytes),
  braces: (bytes) => fill('{}', bytes),
  colons: (bytes) => `{${fill(':', bytes)}`,
  commas: (bytes, _, names) => `{"${names}":[${fill('1,', bytes)}1]}`,
  'empty lists': (bytes, _, names) => `{"${names}":[${fill('[],', bytes)}[]]}`,
  'a long number': (bytes, name) => `{"${name}":${fill('1', bytes)}}`,
  '900 long numbers': (bytes, _, names) => `{"${names}":[${list(900, () => `${fill('7', bytes / 900 - 8)}e-300`)}]}`,
  '900 unknown members': (bytes) => `{${list(900, (n) => `"member_${n}":"${fill('x', bytes / 900 - 20)}"`)}}`,
  '900 misspelt members': () => `{${list(900, (n) => `"text_chunk_voice_id_language_${n}":1`)}}`,
  '900 texts': (bytes, _, names) => `{"${names}":[${list(900, () => `"${fill('é', bytes / 900 - 4)}"`)}]}`,
  '10 000 members': (bytes) => `{${list(10_000, (n) => `"m${n}":"${fill('x', bytes / 10_000 - 14)}"`)}}`,
  '10 000 objects': (bytes, _, names) =>
    `{"${names}":[${list(10_000, (n) => `{"a${n}":${fill('1', bytes / 10_000 - 10)}}`)}]}`,
};

const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]);
const field = (no: number, bytes: Uint8Array) =>
  Buffer.concat([Buffer.from([...varint(no * 8 + 2), ...varint(bytes.length)]), bytes]);
const repeat = (unit: readonly number[], bytes: number) =>
  Buffer.alloc(bytes - (bytes % unit.length), Buffer.from(unit));

/** Field numbers of a message, one for each kind of field in the message. */
export interface FieldNumbers {
  texts: number;
  enums?: number;
  message?: number;
  messages?: number;
  map?: number;
}

export const messageShapes = (bytes: number, { texts, enums, message, messages, map }: FieldNumbers) => {
  const unknown = repeat([0x98, 0x3e, 0x01], bytes);
  const short = repeat([...varint(texts * 8 + 2), 0], bytes);
  const all: Record<string, Buffer | undefined> = {
    'a long text': field(texts, Buffer.alloc(bytes, 'word ')),
    'no UTF-8': field(texts, Buffer.alloc(bytes, 0xff)),
    'unknown fields': unknown,
    'unknown groups': repeat([0x9b, 0x3e, 0x9c, 0x3e], bytes),
    'groups in groups': repeat([0x9b, 0x3e], bytes),
    'empty texts': short,
    'values of an enum': enums === undefined ? undefined : field(enums, repeat([1], bytes)),
    'unknown fields in a message': message === undefined ? undefined : field(message, unknown),
    'empty messages': messages === undefined ? undefined : repeat([...varint(messages * 8 + 2), 0], bytes),
    'unknown fields in an item': messages === undefined ? undefined : field(messages, unknown),
    'entries of a map': map === undefined ? undefined : repeat([...varint(map * 8 + 2), 0], bytes),
  };
  return Object.entries(all).flatMap(([name, made]) => (made ? [[name, made] as const] : []));
};

/** A request message with about `bytes` bytes of lexicon entries. */
const entriesMessage = (bytes: number) => {
  const entry = field(3, Buffer.concat([field(1, Buffer.from('word')), field(2, Buffer.from('ward'))]));
  return field(lexiconSpecField, Buffer.alloc(bytes - (bytes % entry.length), entry));
};
const lexiconSpecField = 1;

export interface Sent {
  kind: string;
  path: string;
  type: string;
  body: Buffer;
  encoding?: string;
}

const json = 'application/json';

const jsonInputs = (path: string, name: string, names: string, type = json, wrap = (body: Buffer) => body): Sent[] =>
  Object.entries(jsonShapes).map(([kind, shape]) => ({
    kind,
    path,
    type,
    body: wrap(Buffer.from(shape(mib, name, names))),
  }));

const entriesJson = (count: number) =>
  Buffer.from(`{"name":"a","entries":[${list(count, (n) => `{"grapheme":"word${n}","alias":"ward"}`)}]}`);
const plsOf = (inside: string) =>
  Buffer.from(
    `<?xml version="1.0"?><lexicon version="1.0" xmlns="http://www.w3.org/2005/01/pronunciation-lexicon" alphabet="ipa" xml:lang="en">${inside}</lexicon>`,
  );

const pls = (): Sent[] => {
  const lexeme = '<lexeme><grapheme>word</grapheme><alias>ward</alias></lexeme>';
  const insides = {
    lexemes: fill(lexeme, mib),
    'open tags': fill('<a>', mib),
    'closed tags': fill('<a/>', mib),
    references: fill('&amp;', mib),
    attributes: `<a ${fill('b="" ', mib)}/>`,
    text: fill('x', mib),
  };
  return Object.entries(insides).map(([kind, inside]) => ({
    kind: `PLS: ${kind}`,
    path: '/api/lexicons',
    type: 'application/pls+xml',
    body: plsOf(inside),
  }));
};

export const httpInputs = (): Readonly<Record<string, Sent[]>> => {
  const connect = '/sonant.v1.SpeechService/SynthesizeSpeech';
  const synthesis = messageShapes(mib, { texts: 13, enums: 9 });
  const unary = synthesis.map(([kind, body]) => ({ kind, path: connect, type: 'application/proto', body }));
  return {
    'REST speech': jsonInputs('/api/audio/speech', 'text', 'text_chunks'),
    'REST estimate': jsonInputs('/api/audio/estimate', 'text', 'text_chunks'),
    'REST job': jsonInputs('/api/audio/jobs', 'text', 'chapters'),
    'REST key': jsonInputs('/api/auth/api-keys', 'name', 'scopes'),
    'REST voice': jsonInputs('/api/voices', 'name', 'bindings'),
    'REST lexicon': [
      ...jsonInputs('/api/lexicons', 'name', 'entries'),
      { kind: '20 001 entries', path: '/api/lexicons', type: json, body: entriesJson(20_001) },
      ...pls(),
    ],
    'OpenAI speech': jsonInputs('/v1/audio/speech', 'input', 'voice'),
    'ElevenLabs speech': jsonInputs('/v1/text-to-speech/arthur', 'text', 'pronunciation_dictionary_locators'),
    'Cartesia speech': jsonInputs('/tts/bytes', 'transcript', 'voice'),
    'Connect JSON': jsonInputs(connect, 'text', 'lexiconIds'),
    'Connect JSON, lexicon': [
      ...jsonInputs('/sonant.v1.LexiconService/CreateLexicon', 'spec', 'spec'),
      {
        kind: '20 001 entries',
        path: '/sonant.v1.LexiconService/CreateLexicon',
        type: json,
        body: Buffer.concat([Buffer.from('{"spec":'), entriesJson(20_001), Buffer.from('}')]),
      },
    ],
    'gRPC-Web': unary.map((sent) => ({ ...sent, type: 'application/grpc-web+proto', body: toFrame(sent.body) })),
    'Connect protobuf': unary,
    'Connect protobuf, compressed': unary.map((sent) => ({ ...sent, encoding: 'gzip', body: gzipSync(sent.body) })),
  };
};

/** Bad gRPC frames by method. */
export const grpcInputs = (): Readonly<Record<string, Sent[]>> => {
  const target = (path: string, shapes: readonly (readonly [string, Buffer])[]): Sent[] =>
    shapes.map(([kind, body]) => ({ kind, path, type: 'application/grpc', body: toFrame(body) }));
  return {
    'gRPC speech': target('/sonant.v1.SpeechService/SynthesizeSpeech', messageShapes(mib, { texts: 13, enums: 9 })),
    'gRPC stream': target('/sonant.v1.SpeechService/StreamSpeech', messageShapes(mib, { texts: 2 })),
    'gRPC job': target(
      '/sonant.v1.JobService/CreateJob',
      messageShapes(mib, { texts: 17, enums: 9, messages: 3, map: 15 }),
    ),
    'gRPC lexicon': target('/sonant.v1.LexiconService/CreateLexicon', [
      ...messageShapes(mib, { texts: 1, message: lexiconSpecField }),
      ['entries', entriesMessage(mib)],
    ]),
    'gRPC live speech': target('/sonant.v1.SpeechService/LiveSpeech', messageShapes(mib, { texts: 1, message: 1 })),
  };
};

/** Messages of live speech over WebSocket. */
export const socketInputs = (): { kind: string; message: string }[] =>
  Object.entries(jsonShapes).map(([kind, shape]) => ({ kind, message: shape(messageBytes, 'text', 'type') }));

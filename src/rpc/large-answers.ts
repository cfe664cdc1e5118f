// Answers with sound, in the binary format of protocol buffers (https://protobuf.dev/programming-guides/encoding). The
// library copies the bytes of a message three times while its buffer grows; here sound is not copied: what stands before
// it is written, and the sound follows. The bytes are those that the library writes.
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  SpeechAudioSchema,
  StreamSpeechResponseSchema,
  SynthesizeSpeechResponseSchema,
} from '../../gen/sonant/v1/speech_pb.ts';

/** A message in one piece, or in two of which the second is its sound. */
export type Serialized = readonly [Uint8Array] | readonly [Uint8Array, Uint8Array];

export function serialize<D extends DescMessage>(schema: D, answer: MessageInitShape<D>): Serialized {
  if (schema.typeName === StreamSpeechResponseSchema.typeName) {
    const { event } = answer as MessageInitShape<typeof StreamSpeechResponseSchema>;
    if (event?.case === 'audio' && !('$typeName' in answer)) return toSound(event.value);
  }
  if (schema.typeName === SynthesizeSpeechResponseSchema.typeName) {
    const whole = answer as MessageInitShape<typeof SynthesizeSpeechResponseSchema>;
    if (isLastInline(whole)) return toInline(whole);
  }
  return [toBinary(schema, create(schema, answer))];
}

type Sound = MessageInitShape<typeof SpeechAudioSchema>;
type Whole = MessageInitShape<typeof SynthesizeSpeechResponseSchema>;

const lengthDelimited = 2;
const tagOf = (fieldNumber: number): number => (fieldNumber << 3) | lengthDelimited;
const soundTag = tagOf(SpeechAudioSchema.field.audio.number);
const eventTag = tagOf(StreamSpeechResponseSchema.field.audio.number);
const inlineTag = tagOf(SynthesizeSpeechResponseSchema.field.audioBytes.number);

function toSound({ chunkIndex = 0, audio = nothing }: Sound): Serialized {
  const own = chunkIndex === 0 ? [] : [SpeechAudioSchema.field.chunkIndex.number << 3, ...varint(chunkIndex)];
  const inner = audio.length > 0 ? [...own, soundTag, ...varint(audio.length)] : own;
  const head = [eventTag, ...varint(inner.length + audio.length), ...inner];
  return [Uint8Array.from(head), audio];
}

/** Whether its sound is the last field that it has. */
const isLastInline = ({ audio, expiresAt, captions = [], $typeName }: Whole & { $typeName?: string }): boolean =>
  audio?.case === 'audioBytes' && expiresAt === undefined && captions.length === 0 && $typeName === undefined;

function toInline(whole: Whole): Serialized {
  const sound = whole.audio?.case === 'audioBytes' ? (whole.audio.value ?? nothing) : nothing;
  const rest = { ...whole, audio: { case: undefined } } as Whole;
  const before = toBinary(SynthesizeSpeechResponseSchema, create(SynthesizeSpeechResponseSchema, rest));
  return [Buffer.concat([before, Uint8Array.of(inlineTag, ...varint(sound.length))]), sound];
}

const nothing = new Uint8Array();

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return bytes;
}

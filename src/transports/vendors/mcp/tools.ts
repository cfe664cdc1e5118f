// The tools of the MCP server. Each tool runs one operation. The arguments, their schemas and their descriptions come
// from the protos, as in the REST API.
import type { DescMethod } from '@bufbuild/protobuf';
import { JobService } from '../../../../gen/sonant/v1/job_service_pb.ts';
import { SpeechService, SynthesizeSpeechRequestSchema } from '../../../../gen/sonant/v1/speech_pb.ts';
import { UsageService } from '../../../../gen/sonant/v1/usage_pb.ts';
import { VoiceService } from '../../../../gen/sonant/v1/voice_pb.ts';
import type { Api, Call } from '../../../api.ts';
import { audioFormats } from '../../../audio.ts';
import { type Fields, memberSchema, messageSchema } from '../../../contract.ts';
import type { FieldViolation } from '../../../platform/errors.ts';
import { readRequest, speechFields } from '../../../speech.ts';
import type { RouteTools } from '../../http/route-tools.ts';
import { callForJson } from '../contract-calls.ts';

export interface Tool {
  name: string;
  description: string;
  inputSchema: object;
  annotations: { readOnlyHint: boolean; destructiveHint: false; openWorldHint: false };
  method: DescMethod;
  /** Returns the content of the result. */
  run(call: Call, given: Fields): Promise<object[]>;
}

export const createTools = ({ callRpc, ...api }: RouteTools): readonly Tool[] => [
  createSpeak(api),
  createTool('list_voices', VoiceService.method.listVoices, callRpc, {
    description: 'Lists the voices that this key may use. Returns a page; for the next one, send its next_cursor.',
    defaults: { limit: 20 },
  }),
  createTool('make_job', JobService.method.createJob, callRpc, {
    description:
      'Speaks a long text in the background, such as an article or a book with chapters. Returns at once; call get_job until its status is succeeded, then its audio_url is the audio.',
    defaults: { output_format: 'mp3' },
  }),
  createTool('get_job', JobService.method.getJob, callRpc, {
    description: 'Returns a job of make_job: its status and progress and, once it has succeeded, its audio_url.',
  }),
  createTool('get_usage', UsageService.method.getUsage, callRpc, {
    description: 'Returns the requests, characters and seconds of audio that this key has used, by day, voice or key.',
  }),
];

const about = (readOnlyHint: boolean) => ({ readOnlyHint, destructiveHint: false, openWorldHint: false }) as const;
const toText = (value: unknown) => ({ type: 'text', text: JSON.stringify(value, withoutNoise) });

/** Members of voices that do not help an agent to choose a voice. */
const noise = ['capabilities', 'bindings', 'blend', 'consent', 'lexicon_ids', 'created_at', 'updated_at', 'revision'];

/** Leaves out members that are empty, because an agent pays for every character. */
function withoutNoise(name: string, value: unknown): unknown {
  const isEmpty = value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
  return isEmpty || noise.includes(name) ? undefined : value;
}

/**
 * A tool that calls the handler of an RPC. `defaults` are the defaults that differ from the REST API. Unknown arguments
 * are violations, because an agent can correct them.
 */
function createTool(
  name: string,
  method: DescMethod,
  callRpc: Api['callRpc'],
  { description, defaults = {} }: { description: string; defaults?: Fields },
): Tool {
  return {
    name,
    description,
    inputSchema: toInputSchema(messageSchema(method.input, 'request'), defaults),
    annotations: about(name !== 'make_job'),
    method,
    async run(call, given) {
      return [toText(await callForJson(callRpc, method, { ...defaults, ...given }, call, true))];
    },
  };
}

function toInputSchema({ required, ...schema }: Fields, defaults: Fields): object {
  const properties = { ...(schema.properties as Record<string, object>) };
  for (const [key, value] of Object.entries(defaults)) properties[key] = { ...properties[key], default: value };
  return { type: 'object', properties, ...(required !== undefined && { required }), additionalProperties: false };
}

/** Base64 of this many bytes is within the 50,000 characters that agents accept as a tool result. */
const inlineBytesMax = 36_000;
const speakArguments =
  'text ssml voice_id language_code output_format speaking_rate instructions captions lexicon_ids'.split(' ');
const speakWithout = SynthesizeSpeechRequestSchema.fields
  .map(({ name }) => name)
  .filter((name) => !speakArguments.includes(name));
const speakDefaults = { language_code: speechFields.ownLanguage, output_format: 'mp3' };

function createSpeak({ speech, voices }: Pick<Api, 'speech' | 'voices'>): Tool {
  const inline = {
    type: 'boolean',
    default: false,
    description: `Whether the result also contains the audio, if it has at most ${inlineBytesMax} bytes.`,
  };
  const schemas = speakArguments.map((name) => [name, memberSchema(SynthesizeSpeechRequestSchema, name, 'request')]);
  const { language_code, ...properties } = Object.fromEntries(schemas);
  return {
    name: 'speak',
    description:
      'Speaks a text of up to 5000 characters and returns a link to the audio, which expires. For longer texts, call make_job. Without voice_id, the default voice speaks; without language_code, in its own language.',
    inputSchema: toInputSchema(
      { properties: { ...properties, language_code: { ...language_code, default: undefined }, inline } },
      { output_format: speakDefaults.output_format },
    ),
    annotations: about(false),
    method: SpeechService.method.synthesizeSpeech,
    async run(call, sent) {
      const { inline, ...given } = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null));
      const violations: FieldViolation[] = [];
      if (typeof (inline ?? false) !== 'boolean')
        violations.push({ field: 'inline', reason: 'type', message: 'must be true or false' });
      if (given.voice_id === undefined) given.voice_id = (await voices.findOrDefault(call)).voiceId;
      const options = { violations, isStrict: true, without: speakWithout };
      const fields = { ...speakDefaults, ...given };
      const { request } = readRequest(SynthesizeSpeechRequestSchema, fields, options);
      const delivered = await speech.synthesizeSpeech(call, request, { fresh: false });
      const {
        audioUrl: uri,
        byteCount: size,
        seconds,
        voice,
        chars,
        charsCharged,
        captionUrls: captions,
        warnings,
      } = delivered;
      const { contentType: mimeType, extension } = audioFormats[delivered.format];
      const expires_at = delivered.expiresAt.toISOString();
      const description = `${seconds.toFixed(1)} s of speech by ${voice.name}; expires at ${expires_at}`;
      const facts = {
        audio_url: uri,
        expires_at,
        duration: seconds,
        chars,
        chars_charged: charsCharged,
        voice_id: voice.voiceId,
      };
      const isShort = inline === true && size <= inlineBytesMax;
      const notes =
        inline === true && !isShort ? { inline: `The audio has ${size} bytes, more than ${inlineBytesMax}.` } : {};
      const audio = isShort
        ? [{ type: 'audio', data: Buffer.concat(await Array.fromAsync(delivered.open())).toString('base64'), mimeType }]
        : [];
      return [
        { type: 'resource_link', uri, name: `${delivered.audioId}.${extension}`, description, mimeType, size },
        toText({ ...facts, captions, warnings, ...notes }),
        ...audio,
      ];
    },
  };
}

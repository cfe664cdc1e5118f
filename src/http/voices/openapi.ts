// The OpenAPI documentation of the hand-written routes in /api/voices.
import { CloneVoiceRequestSchema } from '../../../gen/sonant/v1/voice_pb.ts';
import { voiceOperations } from '../../api/operation.ts';
import { requestSchema, type Schema } from '../../contract/openapi.ts';
import { documentOperation, pathId, type RouteBody, type RouteDocs, requestHeader, text } from '../route-docs.ts';

export const previewDocs: RouteDocs = {
  tag: 'Voices',
  ...documentOperation(voiceOperations.previewVoice),
  summary: 'Play a sample of a voice',
  description: 'A sentence in the native language of the voice.',
  parameters: [
    pathId('Id or alias of the voice.', 'clara'),
    requestHeader('If-None-Match', 'The ETag of the copy that you have.'),
  ],
  answers: {
    200: {
      description: 'The audio.',
      headers: ['ETag', 'Cache-Control'],
      content: { 'audio/mpeg': { schema: { type: 'string', format: 'binary' } } },
    },
    304: { description: 'Your copy is current.', headers: ['ETag', 'Cache-Control'] },
  },
  failures: ['voice_not_found', 'voice_not_ready', 'engine_error', 'engine_unavailable', 'engine_timeout'],
};

/** The endpoint that creates voices from engine voices and clones. */
export const cloneDocs = {
  summary: 'Create or clone a voice',
  description:
    'JSON creates a voice from engine voices, in order of preference or blended. A form clones a person who consents; a recording of the consent is required.',
};

export const cloneForm: NonNullable<RouteBody['form']> = {
  type: 'multipart/form-data',
  get schema() {
    const schema = requestSchema(CloneVoiceRequestSchema, 'CloneForm');
    const properties = schema.properties as Readonly<Record<string, Schema>>;
    const file = ({ description }: Schema): Schema => ({ type: 'string', format: 'binary', description });
    return {
      ...schema,
      properties: {
        ...properties,
        reference_audio: file(properties.reference_audio!),
        consent_audio: file(properties.consent_audio!),
        labels: text('A JSON object of strings.'),
        engines: text('Engines to clone with, separated by commas. Default: the first that can.'),
      },
    };
  },
  example: {
    name: 'Ada',
    language_code: 'en-US',
    speaker_name: 'Ada L.',
    reference_audio: '@reference.wav',
    consent_audio: '@consent.wav',
  },
};

// Writes a grpcurl command for a gRPC method, with example values for its required fields. grpcurl learns the schema by
// server reflection.
import type { ProtoReference } from '../../../gen/sonant/v1/reference.ts';

const examples: Readonly<Record<string, unknown>> = {
  voice_id: 'clara',
  text: 'Hello, world.',
  text_chunks: ['Hello, ', 'world.'],
  audio_id: 'aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H',
  key_id: 'key_01JD3Q8S6V5W2K9YB4XJ7M0C3F',
  name: 'Ada',
  language_code: 'en-US',
  speaker_name: 'Ada L.',
  reference_audio: '<base64>',
  consent_audio: '<base64>',
};

export function grpcurlOf(
  { messages }: ProtoReference,
  service: string,
  method: { name: string; input: string },
): string {
  const fields = messages.find(({ name }) => name === method.input)?.fields ?? [];
  const required = fields.filter(
    ({ name, comment }) => /\brequired\b|^Texts? to speak/.test(comment) && name in examples,
  );
  const body = Object.fromEntries(required.map(({ name }) => [name, examples[name]]));
  return [
    'grpcurl -plaintext -H "x-api-key: $SONANT_API_KEY"',
    ...(required.length > 0 ? [`-d '${JSON.stringify(body)}'`] : []),
    `127.0.0.1:50051 sonant.v1.${service}/${method.name}`,
  ].join(' \\\n  ');
}

// Tests that clients without protos can discover and call the services by reflection, with `buf curl` and raw calls.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { describe, expect, test } from 'vitest';
import {
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as ServerReflectionAlpha } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { hasTool, toolProgram } from '../../tool-packages.ts';
import { openTestGateway } from '../http/open-gateway.ts';
import { openTestServices } from './open-services.ts';
import { envelope } from './raw-grpc.ts';
import { sonantServices } from './sonant-services.ts';

const bufProgram = toolProgram('buf');
const buf = async (...args: string[]) =>
  (await promisify(execFile)(process.execPath, [bufProgram, 'curl', ...args])).stdout;
const services = [
  ...sonantServices.map(({ typeName }) => typeName),
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
];

test.skipIf(!hasTool('@bufbuild/buf'))('buf curl lists, describes and calls what is served', async () => {
  const { target } = await openTestServices();
  const base = ['--http2-prior-knowledge', '--protocol', 'grpc'];
  expect((await buf(...base, '--list-services', `http://${target}`)).trim().split('\n').sort()).toEqual(
    [...services].sort(),
  );
  const called = await buf(
    ...base,
    '--reflect-protocol',
    'grpc-v1alpha',
    '-H',
    'x-api-key: good',
    '-d',
    '{"voiceId":"ada","text":"hello"}',
    `http://${target}/sonant.v1.SpeechService/SynthesizeSpeech`,
  );
  expect(JSON.parse(called)).toMatchObject({
    voiceName: 'Ada',
    chars: 5,
    format: 'OUTPUT_FORMAT_WAV',
    duration: '2.500s',
  });
});

describe.each([
  ['v1', ServerReflection],
  ['v1alpha', ServerReflectionAlpha as unknown as typeof ServerReflection],
])('%s', (_, service) => {
  async function post(...questions: ServerReflectionRequest['messageRequest'][]) {
    const { target } = await openTestServices();
    const client = createClient(service, createGrpcTransport({ baseUrl: `http://${target}` }));
    async function* requests() {
      for (const messageRequest of questions) yield { host: 'h', messageRequest };
    }
    const answers = await Array.fromAsync(client.serverReflectionInfo(requests()));
    expect(answers.map(({ originalRequest }) => originalRequest?.messageRequest.case)).toEqual(
      questions.map(({ case: c }) => c),
    );
    return answers.map(({ messageResponse: { case: told, value } }) => {
      if (told === 'fileDescriptorResponse') {
        return value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);
      }
      if (told === 'listServicesResponse') return value.service.map(({ name }) => name);
      if (told === 'allExtensionNumbersResponse') return value.extensionNumber;
      return told === 'errorResponse' ? value.errorCode : undefined;
    });
  }

  test('answers every question, the file asked for first', async () => {
    const speech = [
      'sonant/v1/speech.proto',
      'sonant/v1/scope.proto',
      'sonant/v1/rest.proto',
      'google/protobuf/timestamp.proto',
      'google/protobuf/duration.proto',
      'google/api/annotations.proto',
      'google/api/http.proto',
      'buf/validate/validate.proto',
      'google/protobuf/descriptor.proto',
    ];
    const extended = 'google.protobuf.MethodOptions';
    const answers = await post(
      { case: 'listServices', value: '' },
      { case: 'fileByFilename', value: 'sonant/v1/speech.proto' },
      { case: 'fileContainingSymbol', value: 'sonant.v1.SpeechService.StreamSpeech' },
      { case: 'fileContainingSymbol', value: '.sonant.v1.OutputFormat' },
      { case: 'fileContainingSymbol', value: 'sonant.v1.SpeechInfo.voice_name' },
      {
        case: 'fileContainingExtension',
        value: { $typeName: 'grpc.reflection.v1.ExtensionRequest', containingType: extended, extensionNumber: 50401 },
      },
      { case: 'allExtensionNumbersOfType', value: extended },
    );
    const scope = ['sonant/v1/scope.proto', 'google/protobuf/descriptor.proto'];
    expect(answers).toEqual([services, speech, speech, speech, speech, scope, [72295728, 50402, 50401]]);
  });

  test('says so where there is nothing, and goes on', async () => {
    const answers = await post(
      { case: 'fileByFilename', value: '../../etc/passwd' },
      { case: 'fileContainingSymbol', value: '' },
      { case: 'fileContainingSymbol', value: 'sonant.v2.Nothing' },
      {
        case: 'fileContainingExtension',
        value: { $typeName: 'grpc.reflection.v1.ExtensionRequest', containingType: 'no.Type', extensionNumber: 1 },
      },
      { case: 'allExtensionNumbersOfType', value: 'no.Type' },
      { case: undefined },
    );
    expect(answers).toEqual([5, 5, 5, 5, 5, 3]);
  });
});

test.each(['/grpc.reflection.v1', '/grpc.reflection.v1alpha'])(
  '%s answers gRPC-Web over HTTP/1.1, all questions at once',
  async (path) => {
    const { url } = await openTestGateway();
    const question = (messageRequest: ServerReflectionRequest['messageRequest']) =>
      envelope(toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, { messageRequest })));
    const body = Buffer.concat([
      question({ case: 'listServices', value: '' }),
      question({ case: 'fileByFilename', value: 'sonant/v1/speech.proto' }),
    ]);
    const headers = { 'content-type': 'application/grpc-web+proto' };
    const answer = await fetch(`${url}${path}.ServerReflection/ServerReflectionInfo`, {
      method: 'POST',
      headers,
      body,
    });
    expect(answer.status, await answer.clone().text()).toBe(200);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const cases: unknown[] = [];
    let trailer = '';
    for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt32BE(at + 1)) {
      const data = bytes.subarray(at + 5, at + 5 + bytes.readUInt32BE(at + 1));
      if (bytes[at] === 0x80) trailer = data.toString();
      else cases.push(fromBinary(ServerReflectionResponseSchema, data).messageResponse.case);
    }
    expect(cases).toEqual(['listServicesResponse', 'fileDescriptorResponse']);
    expect(trailer).toContain('grpc-status: 0');
  },
);

test('an operator may switch it off', async () => {
  const { target } = await openTestServices({ reflection: false });
  const client = createClient(ServerReflection, createGrpcTransport({ baseUrl: `http://${target}` }));
  async function* requests() {
    yield { messageRequest: { case: 'listServices' as const, value: '' } };
  }
  await expect(Array.fromAsync(client.serverReflectionInfo(requests()))).rejects.toMatchObject({ code: 12 });
});

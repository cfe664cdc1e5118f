// grpc.reflection.v1 and v1alpha (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md): describes the
// served protos to clients such as `grpcurl`, from the descriptors in gen/. The two versions differ only in name.
import {
  createRegistry,
  type DescFile,
  type DescService,
  type MessageInitShape,
  type Registry,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code, type ServiceImpl } from '@connectrpc/connect';
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponseSchema,
} from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as ServerReflectionAlpha } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { type ServedService, serve } from './calls.ts';

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;
type Question = ServerReflectionRequest['messageRequest'];

const reflectionServices: readonly DescService[] = [ServerReflection, ServerReflectionAlpha];

/** Describes `services` and reflection itself. */
export function createReflection(services: readonly DescService[]): ServedService[] {
  const answer = createAnswer([...services, ...reflectionServices]);
  async function* serverReflectionInfo(requests: AsyncIterable<ServerReflectionRequest>) {
    for await (const originalRequest of requests) {
      const { host: validHost, messageRequest } = originalRequest;
      yield { validHost, originalRequest, messageResponse: answer(messageRequest) };
    }
  }
  const alphaImplementation = { serverReflectionInfo } as unknown as ServiceImpl<typeof ServerReflectionAlpha>;
  return [serve(ServerReflection, { serverReflectionInfo }), serve(ServerReflectionAlpha, alphaImplementation)];
}

function createAnswer(services: readonly DescService[]): (question: Question) => Answer {
  const files = new Map<string, DescFile>();
  for (const { file } of services) for (const needed of closureOf(file)) files.set(needed.proto.name, needed);
  const registry = createRegistry(...files.values());
  // Static answers are encoded once, because callers need no key and could request them often.
  const known = new Map<DescFile, Answer>();
  const toFiles = (file: DescFile | undefined): Answer => {
    if (!file) return notFound;
    const answer = known.get(file) ?? encodeFiles(file);
    known.set(file, answer);
    return answer;
  };

  return ({ case: kind, value }) => {
    switch (kind) {
      case 'listServices':
        return {
          case: 'listServicesResponse',
          value: { service: services.map(({ typeName }) => ({ name: typeName })) },
        };
      case 'fileByFilename':
        return toFiles(files.get(value));
      case 'fileContainingSymbol':
        return toFiles(fileOfSymbol(registry, value));
      case 'fileContainingExtension': {
        const { containingType, extensionNumber } = value;
        return toFiles(extensionsOf(registry, containingType).find(({ number }) => number === extensionNumber)?.file);
      }
      case 'allExtensionNumbersOfType': {
        if (!registry.getMessage(value)) return notFound;
        const extensionNumber = extensionsOf(registry, value).map(({ number }) => number);
        return { case: 'allExtensionNumbersResponse', value: { baseTypeName: value, extensionNumber } };
      }
      default:
        return toError(Code.InvalidArgument, 'the request is empty');
    }
  };
}

/** The file and all its imports, dependencies first. */
function closureOf(file: DescFile, seen = new Set<DescFile>()): Set<DescFile> {
  if (seen.has(file)) return seen;
  for (const imported of file.dependencies) closureOf(imported, seen);
  return seen.add(file);
}

/** A method, field or enum value is in the file of its parent. */
function fileOfSymbol(registry: Registry, symbol: string): DescFile | undefined {
  const name = symbol.replace(/^\./, '');
  return (registry.get(name) ?? registry.get(name.slice(0, Math.max(0, name.lastIndexOf('.')))))?.file;
}

const extensionsOf = (registry: Registry, typeName: string) =>
  [...registry].filter((type) => type.kind === 'extension').filter(({ extendee }) => extendee.typeName === typeName);

const toError = (errorCode: Code, errorMessage: string): Answer => ({
  case: 'errorResponse',
  value: { errorCode, errorMessage },
});

const notFound = toError(Code.NotFound, 'not found');

function encodeFiles(file: DescFile): Answer {
  // Some clients expect the requested file first.
  const wanted = [...closureOf(file)].reverse();
  const fileDescriptorProto = wanted.map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}

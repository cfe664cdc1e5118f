// The operations of Sonant by name, with their required scopes from the method option `required_scopes` in the protos.
// Every API calls operations through the runner.
import { type DescMethod, type DescService, getOption } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../gen/sonant/v1/api_key_pb.ts';
import { required_scopes } from '../../gen/sonant/v1/scope_pb.ts';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';

export interface Operation {
  /** Name for logs and metrics, such as "sonant.v1.SpeechService/StreamSpeech". */
  name: string;
  /** A key needs all of these scopes. If the list is empty, any valid key is accepted. */
  scopes: readonly string[];
  /** Whether the operation can revoke the key that calls it. The revocation must not end the call. */
  managesKeys: boolean;
  /** The kind of an operation that needs no key. A stream may last longer than a unary call. */
  isOpen?: 'unary' | 'stream';
}

const known = new Map<DescMethod, Operation>();

/** The operation of an RPC. */
export function operationOf(method: DescMethod): Operation {
  const operation = known.get(method) ?? {
    name: `${method.parent.typeName}/${method.name}`,
    scopes: Object.freeze(getOption(method, required_scopes)),
    managesKeys: method.parent === ApiKeyService,
  };
  known.set(method, operation);
  return operation;
}

const operationsOf = <Service extends DescService>({ method }: Service) =>
  Object.fromEntries(
    Object.entries(method as Readonly<Record<string, DescMethod>>).map(([name, each]) => [name, operationOf(each)]),
  ) as { readonly [Name in keyof Service['method']]: Operation };

/** Operations by RPC name. */
export const speechOperations = operationsOf(SpeechService);
export const voiceOperations = operationsOf(VoiceService);

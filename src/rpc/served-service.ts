// A service of the protos with its implementation.
import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { callStream, callUnary, type Handlers } from '../api/service.ts';
import { callOf } from './call-context.ts';

export interface ServedService {
  service: DescService;
  implementation: Partial<ServiceImpl<DescService>>;
}

export const serve = <S extends DescService>(service: S, implementation: ServiceImpl<S>): ServedService => ({
  service,
  implementation: implementation as ServedService['implementation'],
});

/** The service with the handlers that the REST API calls too. */
export function serveHandlers<S extends DescService>(service: S, handlers: Handlers<S>): ServedService {
  const implementation = Object.fromEntries(
    service.methods.map((method: DescMethod) => {
      const handle = method.methodKind === 'server_streaming' ? callStream : callUnary;
      const serveCall = (message: Message, context: HandlerContext) =>
        handle(method, handlers, message, callOf(context), receivedOf(message));
      return [method.localName, serveCall];
    }),
  );
  return { service, implementation: implementation as unknown as ServedService['implementation'] };
}

const receivedOf = (message: Message) => ({
  mask: (message as Message & { updateMask?: { paths: string[] } }).updateMask?.paths,
});

// The gate before every call: the API key in `x-api-key` is admitted for the scopes that the method asks for in the
// proto, before a byte of the body is read. A method that asks for none still needs a valid key; only the services
// named as open need none. A call that a door in this process has admitted already is not asked again.
import { type DescMethod, type DescService, getOption } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { required_scopes } from '../../gen/sonant/v1/scope_pb.ts';
import { Failure } from '../errors.ts';
import { limitStatusReporter } from '../limits/rate-limit-headers.ts';
import type { Admit } from '../operations/admit.ts';
import { addressKey, admittedKey } from './call.ts';

export type Gate = (context: HandlerContext) => Promise<void>;

export const apiKeyHeader = 'x-api-key';

const scopesOfMethods = new Map<DescMethod, readonly string[]>();

/** The scopes that a key needs to call the method, all of them. */
export function requiredScopesOf(method: DescMethod): readonly string[] {
  const known = scopesOfMethods.get(method);
  if (known) return known;
  const scopes = Object.freeze(getOption(method, required_scopes));
  scopesOfMethods.set(method, scopes);
  return scopes;
}

export function createGate(admit: Admit, openServices: readonly DescService[]): Gate {
  return async ({ method, values, requestHeader, responseHeader }) => {
    if (openServices.includes(method.parent)) return;
    const scopes = requiredScopesOf(method);
    const admitted = values.get(admittedKey);
    if (!admitted) {
      const key = requestHeader.get(apiKeyHeader) ?? undefined;
      const authorization = requestHeader.get('authorization') ?? undefined;
      const tell = limitStatusReporter({ values, responseHeader });
      const caller = await admit({ key, authorization, address: values.get(addressKey), tell }, scopes);
      values.set(admittedKey, { caller, scopes });
    } else if (!scopes.every((scope) => admitted.scopes.includes(scope))) {
      throw new Failure('insufficient_scope', { requiredScopes: scopes });
    }
  };
}

// The handlers of services: one function per RPC, which takes the message and the call and returns the response. All
// transports call it through `CallRpc`, which first checks the rules in the protos, and then runs the handler's own
// check. The handler itself runs only if there are no violations.
import {
  create,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { FieldMaskSchema } from '@bufbuild/protobuf/wkt';
import { checkRules, type Fields, Reading, readMembers, type Scope, Violations } from '../contract.ts';
import type { Call } from './call.ts';

/** Properties of a request's JSON that are lost in its message. */
interface GivenInJson {
  /** Paths whose value is null, for a method that has `null_resets`. */
  cleared: readonly string[];
  /** Paths of empty lists. */
  emptyLists: readonly string[];
}

/** A handler with a check. `run` receives the result of the check, such as the engines that a voice names. */
interface Checked<Request, Result, Plan = any> {
  /** Adds violations. The check also runs for a message that breaks the rules, so field values may be invalid. */
  check(message: Request, call: Call, violations: Violations, given: GivenInJson): Plan | Promise<Plan>;
  run(message: Request, call: Call, plan: Plan): Result;
}

type Handler<Request, Result> = ((message: Request, call: Call) => Result) | Checked<Request, Result>;

export type Handlers<S extends DescService> = {
  readonly [Name in keyof S['method']]: S['method'][Name] extends DescMethodUnary<infer I, infer O>
    ? Handler<MessageShape<I>, Promise<MessageInitShape<O>>>
    : S['method'][Name] extends DescMethodServerStreaming<infer I, infer O>
      ? Handler<MessageShape<I>, AsyncIterable<MessageInitShape<O>>>
      : never;
};

export const checked = <Request, Result, Plan>(
  check: Checked<Request, Result, Plan>['check'],
  run: Checked<Request, Result, Plan>['run'],
): Checked<Request, Result, Plan> => ({ check, run });

export interface Received extends Scope, Partial<GivenInJson> {
  /** Violations found while the message was decoded. */
  violations?: Violations;
}

/** Returns the response or responses of an RPC. Throws a Failure with all violations of the message. */
export type CallRpc = (method: DescMethod, message: Message, call: Call, received?: Received) => Promise<any>;

/** Calls an RPC with the fields of its request as JSON, of which an update changes those that are given. */
export function callWithFields(
  callRpc: CallRpc,
  method: DescMethod,
  fields: Fields,
  call: Call,
  isStrict: boolean,
): Promise<any> {
  const { input } = method;
  const message = create(input);
  const reading = new Reading(isStrict);
  readMembers(message, input, fields, reading);
  const { violations, emptyLists } = reading;
  const given = reading.given.filter((path) => !emptyLists.includes(path));
  const names = input.fields.map(({ name }) => name);
  // An update names its empty lists too, because they replace lists.
  const mask = input.field.updateMask && reading.given.filter((path) => !names.includes(path));
  if (mask) Object.assign(message, { updateMask: create(FieldMaskSchema, { paths: mask }) });
  return callRpc(method, message, call, { violations, given, emptyLists, mask });
}

/** Calls the RPCs of these services. */
export function createCallRpc(services: readonly (readonly [DescService, handlers: object])[]): CallRpc {
  const handlersOf = new Map(services);
  return async ({ input, parent, localName }, message, call, received = {}) => {
    const { violations = new Violations(), cleared = [], emptyLists = [], ...scope } = received;
    const handlers = handlersOf.get(parent) as Readonly<Record<string, Handler<Message, any>>>;
    const handler = handlers[localName]!;
    checkRules(input, message, violations, scope);
    const isChecked = typeof handler !== 'function';
    const plan = isChecked ? await handler.check(message, call, violations, { cleared, emptyLists }) : undefined;
    violations.throwIfAny();
    return isChecked ? handler.run(message, call, plan) : handler(message, call);
  };
}

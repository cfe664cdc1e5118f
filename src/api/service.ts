// The handlers of a service: a function for each RPC, from its message and the call to what its response is created from. All
// transports call them in the same way: the rules of the protos are checked first, then what needs more than the message,
// and the handler runs only if nothing was reported.
import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { checkRules, type Scope } from '../contract/rules.ts';
import { Violations } from '../contract/violations.ts';
import type { Call } from './call.ts';

/** A handler with a check, whose result it gets: what the check has found, such as the engines that a voice names. */
export interface Checked<Request, Result, Plan = any> {
  /**
   * Only reports, also for a message with violations: a value that breaks a rule may be anything. `cleared` are the paths
   * that are null, or a list without an item, in JSON, where that is not the same as absent.
   */
  check(message: Request, call: Call, violations: Violations, cleared: readonly string[]): Plan | Promise<Plan>;
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

export interface Received extends Scope {
  /** Found while the message was read. */
  violations?: Violations;
  /** The paths that are null in JSON, in an update that resets them; else those of lists without an item. */
  cleared?: readonly string[];
}

/** Calls the handler of a unary RPC, or throws a Failure with all violations of its message. */
export async function callUnary(
  { input, localName }: DescMethod,
  handlers: object,
  message: Message,
  call: Call,
  { violations = new Violations(), cleared = [], ...scope }: Received = {},
): Promise<any> {
  const handler = handlerOf(handlers, localName);
  checkRules(input, message, violations, scope);
  if (typeof handler === 'function') {
    violations.throwIfAny();
    return handler(message, call);
  }
  const plan = await handler.check(message, call, violations, cleared);
  violations.throwIfAny();
  return handler.run(message, call, plan);
}

/** The same for an RPC with a stream of responses. */
export async function* callStream(
  { input, localName }: DescMethod,
  handlers: object,
  message: Message,
  call: Call,
  { violations = new Violations(), cleared = [], ...scope }: Received = {},
): AsyncGenerator<any> {
  const handler = handlerOf(handlers, localName);
  checkRules(input, message, violations, scope);
  const plan = typeof handler === 'function' ? undefined : await handler.check(message, call, violations, cleared);
  violations.throwIfAny();
  yield* typeof handler === 'function' ? handler(message, call) : handler.run(message, call, plan);
}

const handlerOf = (handlers: object, localName: string) =>
  (handlers as Readonly<Record<string, Handler<Message, any>>>)[localName]!;

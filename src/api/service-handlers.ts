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

/** What the JSON of a request had that its message cannot show. */
interface GivenInJson {
  /** Paths that are null, of a method that has `null_resets`. */
  cleared: readonly string[];
  /** Paths of lists without an item. */
  emptyLists: readonly string[];
}

/** A handler with a check, whose result it gets: what the check has found, such as the engines that a voice names. */
interface Checked<Request, Result, Plan = any> {
  /** Only reports, also for a message with violations: a value that breaks a rule may be anything. */
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
  /** Found while the message was read. */
  violations?: Violations;
}

/** Calls the handler of a unary RPC, or throws a Failure with all violations of its message. */
export async function callUnary(
  { input, localName }: DescMethod,
  handlers: object,
  message: Message,
  call: Call,
  { violations = new Violations(), cleared = [], emptyLists = [], ...scope }: Received = {},
): Promise<any> {
  const handler = (handlers as Readonly<Record<string, Handler<Message, any>>>)[localName]!;
  checkRules(input, message, violations, scope);
  const isChecked = typeof handler !== 'function';
  const plan = isChecked ? await handler.check(message, call, violations, { cleared, emptyLists }) : undefined;
  violations.throwIfAny();
  return isChecked ? handler.run(message, call, plan) : handler(message, call);
}

/** The same for an RPC with a stream of responses. */
export async function* callStream(...asked: Parameters<typeof callUnary>): AsyncGenerator<any> {
  yield* await callUnary(...asked);
}

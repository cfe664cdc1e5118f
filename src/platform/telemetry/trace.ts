// Spans of distributed traces, with W3C Trace Context (https://www.w3.org/TR/trace-context/). The span of a call is
// active in all code that the call starts, across awaits. Without an active span, nothing is measured.
//     traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
//                  version, trace id, span id of the parent, flags (01: sampled)
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

export type SpanKind = 'internal' | 'server' | 'client';
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface EndedSpan {
  traceId: string;
  spanId: string;
  /** Span id of the parent; undefined for the first span of a trace. */
  parentSpanId: string | undefined;
  name: string;
  kind: SpanKind;
  /** Milliseconds since the epoch, with fractions. */
  startMs: number;
  endMs: number;
  attributes: Attributes;
  /** Reason for the failure of the work; undefined if it succeeded. */
  fault: string | undefined;
}

interface TraceContext {
  traceId: string;
  isSampled: boolean;
  /** State of other tracing systems, forwarded unchanged. */
  tracestate: string | undefined;
}

const traceStateCharsMax = 512;

export class Span {
  readonly #context: TraceContext;
  readonly #parentSpanId: string | undefined;
  name: string;
  readonly #kind: SpanKind;
  readonly #onEnd: (span: EndedSpan) => void;
  readonly #spanId = randomBytes(8).toString('hex');
  readonly #startMs = nowMs();
  #attributes: Attributes;
  #hasEnded = false;

  constructor(
    context: TraceContext,
    parentSpanId: string | undefined,
    { name, kind, attributes = {} }: SpanOptions,
    onEnd: (span: EndedSpan) => void,
  ) {
    this.#context = context;
    this.#parentSpanId = parentSpanId;
    this.name = name;
    this.#kind = kind;
    this.#attributes = attributes;
    this.#onEnd = onEnd;
  }

  get traceId(): string {
    return this.#context.traceId;
  }

  /** The headers that continue the trace in another process. */
  get headers(): Readonly<Record<string, string>> {
    const { traceId, isSampled, tracestate } = this.#context;
    const traceparent = `00-${traceId}-${this.#spanId}-${isSampled ? '01' : '00'}`;
    return { traceparent, ...(tracestate && { tracestate }) };
  }

  child(options: SpanOptions): Span {
    return new Span(this.#context, this.#spanId, options, this.#onEnd);
  }

  set(attributes: Attributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  /** Ends the span, with the reason if the work failed. Later calls do nothing. */
  end(fault?: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { traceId, isSampled } = this.#context;
    if (!isSampled) return;
    this.#onEnd({
      traceId,
      spanId: this.#spanId,
      parentSpanId: this.#parentSpanId,
      name: this.name,
      kind: this.#kind,
      startMs: this.#startMs,
      endMs: nowMs(),
      attributes: this.#attributes,
      fault,
    });
  }
}

interface SpanOptions {
  name: string;
  kind: SpanKind;
  attributes?: Attributes;
}

/** The request headers that may continue a trace. */
export interface TraceHeaders {
  traceparent?: string | undefined;
  tracestate?: string | undefined;
}

export interface Tracing {
  /** Begins the span of a call, in the caller's trace if the headers name a trace, else in a new trace. */
  begin(headers: TraceHeaders, options: SpanOptions): Span;
}

interface Sampling {
  /** Share of traces to record. The trace id decides, so services with the same share record the same traces. */
  share: number;
  /** Whether a caller's trace is recorded if and only if the caller records it. */
  isParentBased: boolean;
}

export function createTracing({ share, isParentBased }: Sampling, onEnd: (span: EndedSpan) => void): Tracing {
  const isInShare = (traceId: string) => Number.parseInt(traceId.slice(-13), 16) / 2 ** 52 >= 1 - share;
  return {
    begin(headers, options) {
      const theirs = parseTraceparent(headers.traceparent);
      const traceId = theirs?.traceId ?? randomBytes(16).toString('hex');
      const isSampled = theirs && isParentBased ? theirs.isSampled : isInShare(traceId);
      const tracestate = theirs && headers.tracestate?.slice(0, traceStateCharsMax);
      return new Span({ traceId, isSampled, tracestate }, theirs?.spanId, options, onEnd);
    },
  };
}

/** Versions after 00 may append fields. An all-zero id is invalid. */
const traceparentForm = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const sampledFlag = 1;

function parseTraceparent(header: string | undefined) {
  const [, version, traceId, spanId, flags, more] = traceparentForm.exec(header ?? '') ?? [];
  if (!traceId || !spanId || (version === '00' && more !== undefined)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags!, 16) & sampledFlag) === sampledFlag };
}

const active = new AsyncLocalStorage<Span>();

/** Runs the work with the span active; without a span, only runs the work. */
export const within = <T>(span: Span | undefined, work: () => T): T => (span ? active.run(span, work) : work());

export const activeSpan = (): Span | undefined => active.getStore();

/** The headers that continue the active trace in another process; empty without an active trace. */
export const traceHeaders = (): Readonly<Record<string, string>> => active.getStore()?.headers ?? {};

/** Runs the work and measures it as a span in the active trace; without a trace, only runs the work. */
export async function measured<T>(options: SpanOptions, work: (span: Span | undefined) => Promise<T>): Promise<T> {
  const span = active.getStore()?.child(options);
  if (!span) return work(undefined);
  try {
    const result = await active.run(span, () => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(faultOf(error));
    throw error;
  }
}

/** Name of the failure for a span. It never contains a text from a caller. */
export const faultOf = (error: unknown): string => {
  const { reason, name } = (error ?? {}) as { reason?: unknown; name?: unknown };
  return typeof reason === 'string' ? reason : typeof name === 'string' ? name : 'Error';
};

const nowMs = (): number => performance.timeOrigin + performance.now();

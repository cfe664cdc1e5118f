// The documentation of streams of Server-Sent Events.
import type { Answer, Content, Schema } from './route-docs.ts';

export interface ExampleEvent {
  id?: string | number;
  /** Its name. */
  event?: string;
  data: unknown;
}

/** A stream whose events have such data, with its first events. */
export const describeEvents = (
  description: string,
  schema: Schema,
  examples: readonly ExampleEvent[],
): Readonly<Record<string, Content>> => ({
  'text/event-stream': {
    schema: { type: 'string', description, contentMediaType: 'text/event-stream', contentSchema: schema },
    example: examples.map(toText).join(''),
  },
});

/** The answer that is such a stream. */
export const eventAnswer = (...events: Parameters<typeof describeEvents>): Answer => ({
  description: 'The events.',
  headers: ['Cache-Control', 'X-Accel-Buffering'],
  content: describeEvents(...events),
});

const toText = ({ id, event, data }: ExampleEvent): string =>
  [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    `data: ${JSON.stringify(data)}\n\n`,
  ].join('\n');

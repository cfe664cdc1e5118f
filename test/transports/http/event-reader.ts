// Parses Server-Sent Events as a client does: from text to events, and from events to their audio.
export interface ReadEvent {
  id: string;
  event: string;
  data: Record<string, unknown> & { type: string };
}

/** The complete events in the text, without comments. */
export function eventsIn(text: string): ReadEvent[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .filter((block) => !block.startsWith(':'))
    .map((block) => {
      const fields = Object.fromEntries(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
      );
      return { id: fields.id ?? '', event: fields.event ?? '', data: JSON.parse(fields.data ?? '') };
    });
}

export const soundIn = (events: readonly ReadEvent[]): Buffer =>
  Buffer.concat(
    events
      .filter(({ event }) => event === 'speech.audio.delta')
      .map(({ data }) => Buffer.from(data.audio as string, 'base64')),
  );

/** Reads the body of a reply to its end, or until `isEnough` returns true; then the connection is cut. */
export async function readEvents(
  answer: Response,
  isEnough: (text: string) => boolean = () => false,
): Promise<ReadEvent[]> {
  const reader = answer.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    text += decoder.decode(next.value, { stream: true });
    if (isEnough(text)) {
      await reader.cancel();
      break;
    }
  }
  return eventsIn(text);
}

// Reads Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html) as Sonant writes them.

export interface ServiceEvent {
  id: string;
  data: string;
}

/** What begins and has no end is left out. */
export async function* readEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ServiceEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of bytes) {
    const blocks = (rest + decoder.decode(piece, { stream: true })).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => toField(line)));
      const data = fields.get('data');
      if (data !== undefined) yield { id: fields.get('id') ?? '', data };
    }
  }
}

function toField(line: string): [name: string, value: string] {
  const at = line.indexOf(':');
  return [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')];
}

// Parses Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html) from a `fetch` response,
// because EventSource cannot send an API key or a body. Reads only the `id` and the JSON `data` of each event.

/** @typedef {{ id: string, data: any }} ServerEvent */

/**
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} body
 * @returns {AsyncGenerator<ServerEvent>}
 */
export async function* readEvents(body) {
  let rest = '';
  for await (const text of piecesOf(body.pipeThrough(new TextDecoderStream()))) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = toEvent(block);
      if (event) yield event;
    }
  }
}

/**
 * Yields the pieces of a stream. Not every browser supports async iteration of a ReadableStream.
 * @param {ReadableStream<string>} stream
 */
async function* piecesOf(stream) {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/**
 * @param {string} block
 * @returns {ServerEvent | undefined} Undefined if the block has no data, as in a comment.
 */
function toEvent(block) {
  let [id, data] = ['', ''];
  for (const line of block.split('\n')) {
    if (line.startsWith('data: ')) data += line.slice(6);
    else if (line.startsWith('id: ')) id = line.slice(4);
  }
  return data === '' ? undefined : { id, data: JSON.parse(data) };
}

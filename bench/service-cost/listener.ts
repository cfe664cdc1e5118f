// Runs a client in its own process. It sends the requests that its parent orders, and reports the times of the first
// and the last audio and the number of bytes.
export interface LoadRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
}

export interface Heard {
  firstMs: number;
  wholeMs: number;
  byteCount: number;
}

async function listenTo({ url, headers, body }: LoadRequest): Promise<Heard> {
  const start = performance.now();
  const answer = await fetch(url, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  let firstMs: number | undefined;
  let byteCount = 0;
  for await (const piece of answer.body!) {
    firstMs ??= performance.now() - start;
    byteCount += piece.length;
  }
  return { firstMs: firstMs!, wholeMs: performance.now() - start, byteCount };
}

process.on('disconnect', () => process.exit());
process.on('message', async (request: LoadRequest) => process.send!(await listenTo(request)));

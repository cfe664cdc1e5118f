// Reads a whole response: its status, headers and bytes, and its body, which is {} if it is not JSON.
export async function readReply(response: Response) {
  const { status, headers } = response;
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = headers.get('content-type')?.startsWith('application/json') && bytes.length > 0;
  return { status, headers, bytes, body: isJson ? JSON.parse(bytes.toString()) : {} };
}

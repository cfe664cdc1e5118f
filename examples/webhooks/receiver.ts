// Receives webhooks, and verifies them with the public library of Standard Webhooks:
//     npm install standardwebhooks
//     WEBHOOK_SECRET=whsec_... node receiver.ts 3000
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET!);
/** A message may arrive twice, with the same id. Store the ids with the results of your service. */
const seen = new Set<string>();

const server = createServer(async (request, response) => {
  const body = await text(request);
  let event: { type: string; data: { id: string } };
  try {
    event = webhook.verify(body, request.headers as Record<string, string>) as typeof event;
  } catch (error) {
    console.log(`refused: ${(error as Error).message}`);
    response.writeHead(400).end();
    return;
  }
  // Answer within 15 seconds, and do the work afterwards.
  response.writeHead(204).end();
  const id = String(request.headers['webhook-id']);
  if (seen.has(id)) return;
  seen.add(id);
  console.log(`${event.type} ${event.data.id}`);
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('receiving'));

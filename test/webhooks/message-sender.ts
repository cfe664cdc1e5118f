// Runs as a process that sends the due messages of a database until it is killed: node message-sender.ts FILE SECRET
import { createSeal } from '../../src/access/sealed-tokens.ts';
import { createOutboundTargets } from '../../src/net/outbound-targets.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { createWebhookRows } from '../../src/store/webhook-rows.ts';
import { createWebhookSecrets } from '../../src/webhooks/webhook-secrets.ts';
import { openWebhookSender } from '../../src/webhooks/webhook-sender.ts';

const rows = createWebhookRows(await openSqlite(process.argv[2]!));
openWebhookSender({
  rows,
  secrets: createWebhookSecrets({ rows, seal: createSeal(process.argv[3]!) }),
  targets: createOutboundTargets({ allow: ['127.0.0.1'], allowedIn: 'listed' }),
  onFault: console.error,
});

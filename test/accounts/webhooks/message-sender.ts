// Runs as a process that sends the due messages of a database until it is killed: node message-sender.ts FILE SECRET
import { createSeal } from '../../../src/accounts/sign-in/sealed-tokens.ts';
import { createWebhookRows } from '../../../src/accounts/webhooks/webhook-rows.ts';
import { createWebhookSecrets } from '../../../src/accounts/webhooks/webhook-secrets.ts';
import { openWebhooks } from '../../../src/accounts/webhooks/webhook-sender.ts';
import { createOutboundTargets } from '../../../src/platform/net/outbound-targets.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';

const rows = createWebhookRows(await openSqlite(process.argv[2]!));
openWebhooks({
  rows,
  secrets: createWebhookSecrets({ rows, seal: createSeal(process.argv[3]!) }),
  targets: createOutboundTargets({ allow: ['127.0.0.1'], allowedIn: 'listed' }),
  onFault: console.error,
});
// The timer of the webhooks does not keep the process alive.
setInterval(() => {}, 60_000);

// Opens webhooks: where they may go, and the sender of messages.
import type { Seal } from '../access/seal.ts';
import type { RowStore } from '../store/row-store.ts';
import { createWebhookRows } from '../store/webhook-rows.ts';
import { openWebhooks } from '../webhooks/open-webhooks.ts';
import type { Webhooks } from '../webhooks/webhook.ts';
import { createWebhookSecrets } from '../webhooks/webhook-secrets.ts';
import { createWebhookTargets } from '../webhooks/webhook-target.ts';
import type { Opening } from './opening.ts';

export function openServiceWebhooks(opening: Opening, store: RowStore, seal: Seal): Webhooks {
  const { config, log, opened, metrics, onFault } = opening;
  const rows = createWebhookRows(store);
  const secrets = createWebhookSecrets({ rows, seal });
  const targets = createWebhookTargets({ allow: config.webhookAllow });
  const webhooks = openWebhooks({
    rows,
    secrets,
    targets,
    onFault,
    // The URL may hold a secret of the receiver's.
    onEnd(ended) {
      metrics.onWebhookEnd(ended.outcome);
      log[ended.outcome === 'delivered' ? 'debug' : 'warn']('a webhook has ended', { ...ended });
    },
  });
  opened.defer(webhooks.close);
  return webhooks;
}

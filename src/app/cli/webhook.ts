// `sonant webhook secret`: shows, creates and replaces the secret that signs the webhooks of a key.
import { RotateOwnWebhookSecretRequestSchema, WebhookSecretSchema } from '../../../gen/sonant/v1/api_key_pb.ts';
import { operator, secretGraceSecondsUsual, toAuditRow, type WebhookSecret } from '../../accounts.ts';
import { toSecret } from '../../api.ts';
import { writeMessage } from '../../contract.ts';
import {
  type Command,
  findAction,
  flag,
  jsonFlag,
  onlyArgument,
  option,
  parseCommandArgs,
  withFlagNames,
  withOpened,
} from './command.ts';
import { readRequest, toNumber } from './read-request.ts';

const options = {
  rotate: flag('create the secret, or replace it'),
  'grace-seconds': option('N', `seconds that the former secret also signs; default: ${secretGraceSecondsUsual}, a day`),
  json: jsonFlag,
};

const usage = 'sonant webhook secret KEY_ID [--rotate]';

export const webhookCommand: Command = {
  name: 'webhook',
  summary: 'create the secret that signs the webhooks of a key',
  examples: ['sonant webhook secret KEY_ID --rotate --grace-seconds 3600'],
  options,
  actions: ['secret'],
  usage: () => `Usage: sonant webhook secret KEY_ID [--json]
       sonant webhook secret KEY_ID --rotate [--grace-seconds N] [--json]

Prints the first characters of the secret that signs the webhooks of a key, by Standard Webhooks. With --rotate it makes a new
one, which is shown once; the former one signs too for a while, so that receivers can change over.`,
  async run({ args, openKeys, print }) {
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const { rotate, json, 'grace-seconds': grace } = values;
    const [, rest] = findAction({ secret: true }, positionals, usage);
    const given = onlyArgument(rest, usage);
    const members = { grace_seconds: toNumber(grace) };
    const { message, violations } = readRequest(RotateOwnWebhookSecretRequestSchema, members);
    const { graceSeconds = secretGraceSecondsUsual } = message;
    const found = await withOpened(await openKeys(), ({ management, webhookSecrets }) =>
      withFlagNames(
        (field) => `--${field.replaceAll('_', '-')}`,
        async () => {
          const { keyId } = await management.get(given, operator);
          if (!rotate) return webhookSecrets.get(keyId);
          violations.throwIfAny();
          return webhookSecrets.rotate(keyId, graceSeconds, (change) => toAuditRow(change, operator));
        },
      ),
    );
    const { hint, formerUntilMs, ...more } = found as WebhookSecret & { secret?: string };
    const facts = writeMessage(WebhookSecretSchema, toSecret(found));
    if (json) print(JSON.stringify(more.secret ? { ...facts, secret: more.secret } : facts, null, 2));
    else if (more.secret) print(`${more.secret}\n\nStore the secret now; it is not shown again.`);
    else
      print(
        `${hint}..., created ${facts.created_at}${formerUntilMs ? `; the former secret also signs until ${facts.former_expires_at}` : ''}`,
      );
    return 0;
  },
};

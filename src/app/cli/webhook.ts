// `sonant webhook secret`: shows, creates and replaces the secret that signs the webhooks of a key.
import { ApiKeyService } from '../../../gen/sonant/v1/api_key_pb.ts';
import { keyDefaults, operator } from '../../accounts.ts';
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
import { callAsOperator, toNumber } from './operator-call.ts';

const options = {
  rotate: flag('create the secret, or replace it'),
  'grace-seconds': option(
    'N',
    `seconds that the former secret also signs; default: ${keyDefaults.graceSeconds}, a day`,
  ),
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
    const { rotateOwnWebhookSecret, getOwnWebhookSecret } = ApiKeyService.method;
    const { json: made } = await withOpened(await openKeys(), ({ management, callFor }) =>
      withFlagNames(
        (field) => `--${field.replaceAll('_', '-')}`,
        async () => {
          const { keyId } = await management.get(given, operator);
          return rotate
            ? callAsOperator(rotateOwnWebhookSecret, callFor(), { grace_seconds: toNumber(grace) }, keyId)
            : callAsOperator(getOwnWebhookSecret, callFor(), {}, keyId);
        },
      ),
    );
    const { secret, webhook_secret: shown = made } = made;
    const { hint, created_at: createdAt, former_expires_at: until } = shown;
    if (json) print(JSON.stringify(shown, null, 2));
    else if (secret) print(`${secret}\n\nStore the secret now; it is not shown again.`);
    else print(`${hint}..., created ${createdAt}${until ? `; the former secret also signs until ${until}` : ''}`);
    return 0;
  },
};

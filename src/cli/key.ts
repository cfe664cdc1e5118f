// `sonant key create|list|rotate|revoke`: API keys, made, replaced and ended on the machine itself.

import { operator } from '../keys/actor.ts';
import type { ApiKey } from '../keys/api-key-record.ts';
import type { KeyFields } from '../keys/key-fields.ts';
import { graceSecondsUsual, type KeyManagement, type MadeKey } from '../keys/key-management.ts';
import { defaultScopes, scopes } from '../keys/scopes.ts';
import { usualLimits } from '../limits/key-limits.ts';
import { type Command, formatTable, parseCommandArgs, UsageError } from './command.ts';

const options = {
  name: { type: 'string' },
  scopes: { type: 'string' },
  voices: { type: 'string' },
  'allowed-ips': { type: 'string' },
  'expires-in-days': { type: 'string' },
  'requests-per-minute': { type: 'string' },
  concurrency: { type: 'string' },
  'characters-per-month': { type: 'string' },
  'grace-seconds': { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const keyCommand: Command = {
  name: 'key',
  summary: 'create, list, replace and revoke API keys',
  options,
  get actions() {
    return Object.keys(actions);
  },
  help: () => `Usage: sonant key create [--name NAME] [--scopes A,B] [limits] [--json]
       sonant key list [--json]
       sonant key rotate ID [--grace-seconds N] [--json]
       sonant key revoke ID [--json]

A key is shown once, when it is made; only a hash of it is kept. Revoking it ends its use within a second, its streams
included. Rotating makes a key like it, which takes its place.

  --name NAME                what it is for
  --scopes A,B               what it may do: ${scopes.slice(0, 6).join(', ')},
                             ${scopes.slice(6).join(', ')};
                             default: ${defaultScopes.join(', ')}
  --voices A,B               voices that it may speak with; default: all
  --allowed-ips A,B          addresses and CIDR blocks that it may be used from; default: any
  --expires-in-days N        when it ends by itself; default: never
  --requests-per-minute N    default: ${usualLimits.requestsPerMinute}
  --concurrency N            syntheses at once; default: ${usualLimits.concurrency}
  --characters-per-month N   default: no limit
  --grace-seconds N          how long the replaced key stays good; default: ${graceSecondsUsual}, a day
  --json                     print JSON, for programs
`,
  async run({ args, openKeys, print }) {
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const [action, ...rest] = positionals;
    const act = action !== undefined && Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (!act) throw new UsageError(`the command is sonant key create, list, rotate ID or revoke ID`);
    const { desk, close } = await openKeys();
    try {
      print(await act(desk, values, rest));
      return 0;
    } finally {
      await close();
    }
  },
};

type Flags = { [Name in Exclude<keyof typeof options, 'json'>]?: string | undefined } & { json?: boolean | undefined };
type Action = (desk: KeyManagement, flags: Flags, rest: readonly string[]) => Promise<string>;

const actions: Readonly<Record<string, Action>> = {
  async create(desk, flags, rest) {
    if (rest.length > 0) throw new UsageError('sonant key create takes flags only');
    return tellMade(await desk.create(toAsked(flags), operator), flags);
  },
  async list(desk, { json }) {
    const keys: ApiKey[] = [];
    for (let page = await desk.list(operator, { size: pageSize }); ; ) {
      keys.push(...page);
      if (page.length < pageSize) break;
      page = await desk.list(operator, { size: pageSize, beforeKeyId: page.at(-1)!.keyId });
    }
    if (json) return JSON.stringify(keys.map(toJson), null, 2);
    const heading = ['ID', 'KEY', 'NAME', 'STATUS', 'SCOPES'];
    const rows = keys.map(({ keyId, hint, name, status, scopes }) => [keyId, hint, name, status, scopes.join(',')]);
    return formatTable([heading, ...rows], { stateColumn: 3 });
  },
  async rotate(desk, flags, rest) {
    const grace = flags['grace-seconds'];
    const graceSeconds = grace === undefined ? graceSecondsUsual : Number(grace);
    return tellMade(await desk.rotate(onlyId(rest, 'rotate'), graceSeconds, operator), flags);
  },
  async revoke(desk, { json }, rest) {
    const apiKey = await desk.revoke(onlyId(rest, 'revoke'), operator);
    return json ? JSON.stringify(toJson(apiKey), null, 2) : `${apiKey.keyId} (${apiKey.name}) is revoked.`;
  },
};

const pageSize = 1_000;

function onlyId([keyId, ...rest]: readonly string[], action: string): string {
  if (keyId === undefined || rest.length > 0) throw new UsageError(`name the key: sonant key ${action} ID`);
  return keyId;
}

function toAsked(flags: Flags): KeyFields {
  const list = (text: string | undefined) => text?.split(',').map((item) => item.trim());
  const count = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return {
    name: flags.name,
    scopes: list(flags.scopes),
    voiceIds: list(flags.voices),
    allowedIps: list(flags['allowed-ips']),
    expiresInDays: count(flags['expires-in-days']),
    limits: {
      requestsPerMinute: count(flags['requests-per-minute']),
      concurrency: count(flags.concurrency),
      charactersPerMonth: count(flags['characters-per-month']),
    },
  };
}

const tellMade = ({ key, apiKey }: MadeKey, { json }: Flags): string =>
  json
    ? JSON.stringify({ ...toJson(apiKey), key }, null, 2)
    : `${key}\n\nThis is the only time that it is shown. Its id is ${apiKey.keyId}.`;

const toTime = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());

const toJson = ({ keyId, hint, name, scopes, status, limits, ...key }: ApiKey) => ({
  id: keyId,
  hint,
  name,
  scopes,
  status,
  created_at: toTime(key.createdAtMs),
  expires_at: toTime(key.expiresAtMs),
  revoked_at: toTime(key.revokedAtMs),
  last_used_at: toTime(key.lastUsedAtMs),
  voice_ids: key.voiceIds ?? null,
  allowed_ips: key.allowedIps ?? null,
  limits: {
    requests_per_minute: limits.requestsPerMinute,
    concurrency: limits.concurrency,
    characters_per_month: limits.charactersPerMonth ?? null,
  },
  replaced_by: key.replacedBy ?? null,
  made_by: key.madeBy ?? null,
});

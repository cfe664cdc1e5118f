// `sonant key create|list|revoke`: API keys, made and ended on the machine itself.

import type { ApiKey } from '../access/key-record.ts';
import type { Keyring } from '../access/keyring.ts';
import { scopes } from '../access/scope.ts';
import { type Command, formatTable, parseCommandArgs, UsageError } from './command.ts';

const options = {
  name: { type: 'string' },
  scopes: { type: 'string' },
  'expires-in-days': { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const keyCommand: Command = {
  name: 'key',
  summary: 'create, list and revoke API keys',
  help: () => `Usage: sonant key create [--name NAME] [--scopes A,B] [--expires-in-days N] [--json]
       sonant key list [--json]
       sonant key revoke ID [--json]

A key is shown once, when it is made; only a hash of it is kept. Revoking it ends its use within a second.

  --name NAME            what it is for
  --scopes A,B           what it may do: ${scopes.join(', ')};
                         default: speech:synthesize, speech:stream, voices:read
  --expires-in-days N    when it ends by itself; default: never
  --json                 print JSON, for programs
`,
  async run({ args, openKeys, print }) {
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const [action, ...rest] = positionals;
    const act = action !== undefined && Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (!act) throw new UsageError('the command is one of: sonant key create, sonant key list, sonant key revoke ID');
    const { keyring, close } = await openKeys();
    try {
      print(await act(keyring, values, rest));
      return 0;
    } finally {
      await close();
    }
  },
};

interface Flags {
  name?: string | undefined;
  scopes?: string | undefined;
  'expires-in-days'?: string | undefined;
  json?: boolean | undefined;
}

type Action = (keyring: Keyring, flags: Flags, rest: readonly string[]) => Promise<string>;

const actions: Readonly<Record<string, Action>> = {
  async create(keyring, { name, scopes: listed, 'expires-in-days': days, json }, rest) {
    if (rest.length > 0) throw new UsageError('sonant key create takes flags only');
    const { key, apiKey } = await keyring.create({
      ...(name !== undefined && { name }),
      ...(listed !== undefined && { scopes: listed.split(',').map((scope) => scope.trim()) }),
      ...(days !== undefined && { expiresInDays: Number(days) }),
    });
    if (json) return JSON.stringify({ ...toJson(apiKey), key }, null, 2);
    return `${key}\n\nThis is the only time that it is shown. Its id is ${apiKey.keyId}.`;
  },
  async list(keyring, { json }) {
    const keys = await keyring.list();
    if (json) return JSON.stringify(keys.map(toJson), null, 2);
    const heading = ['ID', 'KEY', 'NAME', 'STATUS', 'SCOPES'];
    const rows = keys.map(({ keyId, hint, name, status, scopes }) => [keyId, hint, name, status, scopes.join(',')]);
    return formatTable([heading, ...rows]);
  },
  async revoke(keyring, { json }, [keyId, ...rest]) {
    if (keyId === undefined || rest.length > 0) throw new UsageError('name the key: sonant key revoke ID');
    const apiKey = await keyring.revoke(keyId);
    return json ? JSON.stringify(toJson(apiKey), null, 2) : `${apiKey.keyId} (${apiKey.name}) is revoked.`;
  },
};

const toTime = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());

const toJson = ({ keyId, hint, name, scopes, status, ...times }: ApiKey) => ({
  id: keyId,
  hint,
  name,
  scopes,
  status,
  created_at: toTime(times.createdAtMs),
  expires_at: toTime(times.expiresAtMs),
  revoked_at: toTime(times.revokedAtMs),
  last_used_at: toTime(times.lastUsedAtMs),
});

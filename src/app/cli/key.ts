// `sonant key create|list|rotate|revoke`: manages API keys in the database, without the service.
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../../gen/sonant/v1/api_key_pb.ts';
import { keyDefaults, operator } from '../../accounts.ts';
import type { Fields } from '../../contract.ts';
import {
  type Command,
  type FlagsOf,
  findAction,
  formatTable,
  jsonFlag,
  onlyArgument,
  option,
  parseCommandArgs,
  UsageError,
  withFlagNames,
  withOpened,
} from './command.ts';
import { callAsOperator, toNumber } from './operator-call.ts';

const { scopes } = operator.grant;
const options = {
  name: option('NAME', 'what the key is for'),
  scopes: option(
    'A,B',
    `scopes of the key: ${scopes.slice(0, 6).join(', ')},\n${scopes.slice(6).join(', ')};\ndefault: ${keyDefaults.scopes.join(', ')}`,
  ),
  voices: option('A,B', 'voices that the key may use, by id or alias; default: all'),
  'allowed-ips': option('A,B', 'addresses and CIDR blocks that may use the key; default: any'),
  'expires-in-days': option('N', 'days until the key expires; default: never'),
  'requests-per-minute': option('N', `default: ${keyDefaults.limits.requestsPerMinute}`),
  concurrency: option('N', `syntheses at once; default: ${keyDefaults.limits.concurrency}`),
  'characters-per-month': option('N', 'default: no limit'),
  'grace-seconds': option('N', `seconds that the old key stays valid; default: ${keyDefaults.graceSeconds}, a day`),
  json: jsonFlag,
};

export const keyCommand: Command = {
  name: 'key',
  summary: 'create, list, rotate and revoke API keys',
  examples: [
    'sonant key create --name "my app" --scopes speech:synthesize,voices:read --expires-in-days 90',
    'sonant key list',
  ],
  options,
  get actions() {
    return Object.keys(actions);
  },
  usage: () => `Usage: sonant key create [--name NAME] [--scopes A,B] [limits] [--json]
       sonant key list [--json]
       sonant key rotate ID [--grace-seconds N] [--json]
       sonant key revoke ID [--json]

A key is shown once, when it is created; only its hash is stored. A revoked key stops working within a second, and with it
its streams, all keys that it made and the keys that it has replaced. rotate creates a new key with the same scopes and
limits, which replaces the old key. A key that was replaced with rotate can be revoked without ending its successor. The
commands need the database of a service; to create keys before the first start, run sonant db migrate first.`,
  async run(line) {
    const { args, openApp, openKeys, print } = line;
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const [act, rest] = findAction(actions, positionals, 'sonant key create, list, rotate ID or revoke ID');
    const members = act.toMembers(values, rest);
    // Opens the engines to replace voice aliases with ids, because most voices belong to engines.
    const app = 'voice_ids' in members && members.voice_ids ? await openApp() : { voices: undefined, async close() {} };
    const { json, response } = await withOpened(app, async ({ voices }) =>
      withOpened(await openKeys(), ({ callFor }) =>
        withFlagNames(flagOf, () => callAsOperator(act.method, callFor(voices), members)),
      ),
    );
    print(act.format(json, values, response));
    return 0;
  },
};

type Flags = FlagsOf<typeof options>;
interface Action {
  method: DescMethodUnary;
  toMembers(flags: Flags, rest: readonly string[]): Fields;
  format(json: any, flags: Flags, response: any): string;
}

const { createApiKey, listApiKeys, rotateApiKey, revokeApiKey } = ApiKeyService.method;
const toText = (json: unknown) => JSON.stringify(json, null, 2);
const formatMade: Action['format'] = (made, { json }) =>
  json ? toText(made) : `${made.key}\n\nStore the key now; it is not shown again. Its id is ${made.id}.`;

const actions: Readonly<Record<string, Action>> = {
  create: {
    method: createApiKey,
    toMembers(flags, rest) {
      if (rest.length > 0) throw new UsageError('sonant key create takes only flags, such as --name NAME');
      const list = (text: string | undefined) => text?.split(',').map((item) => item.trim());
      return {
        name: flags.name,
        scopes: list(flags.scopes),
        voice_ids: list(flags.voices),
        allowed_ips: list(flags['allowed-ips']),
        expires_in_days: toNumber(flags['expires-in-days']),
        limits: {
          requests_per_minute: toNumber(flags['requests-per-minute']),
          concurrency: toNumber(flags.concurrency),
          characters_per_month: toNumber(flags['characters-per-month']),
        },
      };
    },
    format: formatMade,
  },
  list: {
    method: listApiKeys,
    toMembers(_flags, rest) {
      if (rest.length > 0) throw new UsageError('usage: sonant key list [--json]');
      return { limit: 1_000 };
    },
    format({ api_keys: keys }, { json }) {
      if (json) return toText(keys);
      const rows = keys.map((key: any) => [key.id, key.hint, key.name, key.status, key.scopes.join(',')]);
      return formatTable([['ID', 'KEY', 'NAME', 'STATUS', 'SCOPES'], ...rows], { stateColumn: 3 });
    },
  },
  rotate: {
    method: rotateApiKey,
    toMembers: (flags, rest) => ({
      key_id: onlyArgument(rest, 'sonant key rotate ID'),
      grace_seconds: toNumber(flags['grace-seconds']),
    }),
    format: formatMade,
  },
  revoke: {
    method: revokeApiKey,
    toMembers: (_flags, rest) => ({ key_id: onlyArgument(rest, 'sonant key revoke ID') }),
    format({ api_key: key }, { json }, { descendantsRevoked: count }) {
      if (json) return toText({ ...key, descendants_revoked: count });
      const others = count === 0 ? '' : `, and with it ${count} other ${count === 1 ? 'key' : 'keys'}`;
      return `${key.id} (${key.name}) is revoked${others}.`;
    },
  },
};

/**
 * Returns the flag of a field: `--requests-per-minute` for `limits.requests_per_minute`, `--scopes` for `scopes[0]`.
 */
function flagOf(field: string): string {
  const name = field.replace(/^limits\.|\[\d+\]$/g, '');
  return name === 'voice_ids' ? '--voices' : `--${name.replaceAll('_', '-')}`;
}

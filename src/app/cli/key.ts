// `sonant key create|list|rotate|revoke`: manages API keys in the database, without the service.
import {
  ApiKeySchema,
  CreateApiKeyRequestSchema,
  CreateApiKeyResponseSchema,
  RotateApiKeyRequestSchema,
} from '../../../gen/sonant/v1/api_key_pb.ts';
import {
  type ApiKey,
  defaultScopes,
  graceSecondsUsual,
  type KeyManagement,
  type MadeKey,
  operator,
  scopes,
  usualLimits,
} from '../../accounts.ts';
import { toKey, toMade, toNewFields, withVoiceIds } from '../../api.ts';
import { writeMessage } from '../../contract.ts';
import {
  type Command,
  type CommandLine,
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
import { readRequest, toNumber } from './read-request.ts';

const options = {
  name: option('NAME', 'what the key is for'),
  scopes: option(
    'A,B',
    `scopes of the key: ${scopes.slice(0, 6).join(', ')},\n${scopes.slice(6).join(', ')};\ndefault: ${defaultScopes.join(', ')}`,
  ),
  voices: option('A,B', 'voices that the key may use, by id or alias; default: all'),
  'allowed-ips': option('A,B', 'addresses and CIDR blocks that may use the key; default: any'),
  'expires-in-days': option('N', 'days until the key expires; default: never'),
  'requests-per-minute': option('N', `default: ${usualLimits.requestsPerMinute}`),
  concurrency: option('N', `syntheses at once; default: ${usualLimits.concurrency}`),
  'characters-per-month': option('N', 'default: no limit'),
  'grace-seconds': option('N', `seconds that the old key stays valid; default: ${graceSecondsUsual}, a day`),
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
    const { args, openKeys, print } = line;
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const [act, rest] = findAction(actions, positionals, 'sonant key create, list, rotate ID or revoke ID');
    print(
      await withOpened(await openKeys(), ({ management }) =>
        withFlagNames(flagOf, () => act(management, values, rest, line)),
      ),
    );
    return 0;
  },
};

type Flags = FlagsOf<typeof options>;
type Action = (management: KeyManagement, flags: Flags, rest: readonly string[], line: CommandLine) => Promise<string>;

const actions: Readonly<Record<string, Action>> = {
  async create(management, flags, rest, line) {
    if (rest.length > 0) throw new UsageError('sonant key create takes only flags, such as --name NAME');
    const { message, violations } = readRequest(CreateApiKeyRequestSchema, toMembers(flags));
    const given = toNewFields(message.spec, []);
    const user = { usesAllVoices: given.scopes?.includes('admin') };
    // Opens the engines to replace voice aliases with ids, because most voices belong to engines.
    const fields =
      flags.voices === undefined
        ? given
        : await withOpened(await line.openApp(), async ({ voices }) => withVoiceIds(given, voices, user, violations));
    management.checkNew(fields, operator, violations);
    violations.throwIfAny();
    return formatMade(await management.create(fields, operator), flags);
  },
  async list(management, { json }, rest) {
    if (rest.length > 0) throw new UsageError('usage: sonant key list [--json]');
    const keys: ApiKey[] = [];
    for (let page = await management.list(operator, { size: pageSize }); ; ) {
      keys.push(...page);
      if (page.length < pageSize) break;
      page = await management.list(operator, { size: pageSize, beforeKeyId: page.at(-1)!.keyId });
    }
    if (json) return JSON.stringify(keys.map(toJson), null, 2);
    const heading = ['ID', 'KEY', 'NAME', 'STATUS', 'SCOPES'];
    const rows = keys.map(({ keyId, hint, name, status, scopes }) => [keyId, hint, name, status, scopes.join(',')]);
    return formatTable([heading, ...rows], { stateColumn: 3 });
  },
  async rotate(management, flags, rest) {
    const key_id = onlyArgument(rest, 'sonant key rotate ID');
    const members = { key_id, grace_seconds: toNumber(flags['grace-seconds']) };
    const { message, violations } = readRequest(RotateApiKeyRequestSchema, members);
    violations.throwIfAny();
    const { keyId, graceSeconds = graceSecondsUsual } = message;
    return formatMade(await management.rotate(keyId, graceSeconds, operator), flags);
  },
  async revoke(management, { json }, rest) {
    const revoked = await management.revoke(onlyArgument(rest, 'sonant key revoke ID'), operator);
    const { apiKey, othersRevoked: count } = revoked;
    if (json) return JSON.stringify({ ...toJson(apiKey), descendants_revoked: count }, null, 2);
    const others = count === 0 ? '' : `, and with it ${count} other ${count === 1 ? 'key' : 'keys'}`;
    return `${apiKey.keyId} (${apiKey.name}) is revoked${others}.`;
  },
};

const pageSize = 1_000;

/**
 * Returns the flag of a field: `--requests-per-minute` for `limits.requests_per_minute`, `--scopes` for `scopes[0]`.
 */
function flagOf(field: string): string {
  const name = field.replace(/^limits\.|\[\d+\]$/g, '');
  return name === 'voice_ids' ? '--voices' : `--${name.replaceAll('_', '-')}`;
}

function toMembers(flags: Flags) {
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
}

const toJson = (key: ApiKey) => writeMessage(ApiKeySchema, toKey(key));

const formatMade = (made: MadeKey, { json }: Flags): string =>
  json
    ? JSON.stringify(writeMessage(CreateApiKeyResponseSchema, toMade(made)), null, 2)
    : `${made.key}\n\nStore the key now; it is not shown again. Its id is ${made.apiKey.keyId}.`;

// The schema as a list of migrations ("steps"). Steps are only appended and never change after a release. Older
// versions should work after a step, so that a rolling update can mix old and new replicas. A step that breaks older
// versions sets `stepsKnownMin`. The table `migrations` records the applied steps. Only a backup can undo a step.
import { readFileSync } from 'node:fs';
import { flattenKeys } from './flatten-keys.ts';
import type { Rows } from './row-store.ts';

const jobStatements: readonly string[] = [
  `create table jobs (
    job_key text primary key,
    owner_id text not null,
    job_id text not null,
    account_id text not null,
    key_id text not null,
    address text not null,
    fingerprint text not null,
    status text not null,
    settings text not null,
    chars bigint not null,
    chapter_count bigint not null,
    chars_done bigint not null,
    chapters_done bigint not null,
    seconds double precision not null,
    busy_ms bigint not null,
    revision bigint not null,
    created_at_ms bigint not null,
    started_at_ms bigint,
    ended_at_ms bigint,
    ended_revision bigint,
    expires_at_ms bigint,
    error text,
    audio_id text
  )`,
  'create unique index jobs_by_id on jobs (owner_id, job_id)',
  'create index jobs_of_owner on jobs (owner_id, job_key)',
  "create index jobs_active on jobs (account_id) where status in ('queued', 'running')",
  'create index jobs_over on jobs (expires_at_ms) where expires_at_ms is not null',
  `create table job_chapters (
    job_key text not null,
    chapter bigint not null,
    title text not null,
    speech text not null,
    voice_id text not null,
    chars bigint not null,
    chars_done bigint not null,
    part_count bigint not null,
    status text not null,
    seconds double precision not null,
    sample_count bigint not null,
    audio_id text,
    done_revision bigint,
    lease_holder text,
    lease_until_ms bigint not null default 0,
    not_before_ms bigint not null default 0,
    attempts bigint not null default 0,
    charged_segments bigint not null default 0,
    primary key (job_key, chapter)
  )`,
  "create index job_chapters_open on job_chapters (job_key, chapter) where status = 'queued'",
  `create table job_parts (
    job_key text not null,
    chapter bigint not null,
    part bigint not null,
    text_offset bigint not null,
    written text not null,
    primary key (job_key, chapter, part)
  )`,
  `create table job_segments (
    job_key text not null,
    chapter bigint not null,
    segment bigint not null,
    fingerprint text not null,
    voice_id text not null,
    clip_key text,
    sample_rate_hz bigint not null,
    words text not null,
    primary key (job_key, chapter, segment)
  )`,
  'create index job_segments_of_voice on job_segments (voice_id)',
  'create index job_segments_by_clip on job_segments (clip_key) where clip_key is not null',
];

const webhookStatements: readonly string[] = [
  `create table webhook_messages (
    message_id text primary key,
    key_id text not null,
    account_id text not null,
    host text not null,
    url text not null,
    body text not null,
    created_at_ms bigint not null,
    due_at_ms bigint not null,
    attempts bigint not null,
    held_until_ms bigint,
    ended_at_ms bigint,
    outcome text,
    last_result text
  )`,
  'create index webhook_messages_due on webhook_messages (due_at_ms) where ended_at_ms is null',
  'create index webhook_messages_ended on webhook_messages (ended_at_ms) where ended_at_ms is not null',
  `create table webhook_secrets (
    owner_id text primary key,
    sealed text not null,
    hint text not null,
    created_at_ms bigint not null,
    former_sealed text,
    former_until_ms bigint
  )`,
];

export const accountAliasStatements: readonly string[] = [
  `create table account_aliases (
    alias text not null,
    owner_id text not null,
    voice_id text not null,
    revision bigint not null,
    primary key (alias, owner_id)
  )`,
  'create index account_aliases_changed on account_aliases (revision)',
  'create index account_aliases_of_voice on account_aliases (voice_id)',
  `insert into account_aliases (alias, owner_id, voice_id, revision)
    select alias, owner_id, voice_aliases.voice_id, voice_aliases.revision
      from voice_aliases join voices on voices.voice_id = voice_aliases.voice_id
      where access <> 'everyone' and owner_id is not null and alias <> ''`,
  `delete from voice_aliases where exists (
    select 1 from account_aliases
      where account_aliases.alias = voice_aliases.alias and account_aliases.voice_id = voice_aliases.voice_id
  )`,
];

/** SQL for the keys that created voices, from each voice's latest audit entry with one of these actions. */
const makersAmong = (actions: string) => `
  select born.voice_id, maker.path, maker.owner_id
    from voice_record as born
    join (
      select max(entry) as entry from voice_record
        where action in (${actions}) group by voice_id
    ) as latest on latest.entry = born.entry
    join api_keys as maker on maker.key_id = substr(born.actor, 5)
    where born.action in ('create', 'clone')`;

/** Account of the key that created a voice. The id of a key has 30 characters; the id of a person or client has 36. */
const accountId = `case
    when made.path = '' then made.owner_id
    when made.path like 'key%' then substr(made.path, 1, 30)
    else substr(made.path, 1, 36)
  end`;

/** Includes deletions, because the id of a deleted voice may belong to another voice now. */
const makers = makersAmong("'create', 'clone', 'import', 'delete'");

/**
 * Reads the creators of keys from the audit. The path of a key that a person or client made begins with the id of that
 * account, which has 36 characters.
 */
export const keyCreatorStatement = `update api_keys
  set made_by = case when actor like 'key:%' then substr(actor, 5) when actor = 'operator' then actor
    else substr(path, 1, 36) end
  from (
    select key_id as made_id, actor from audit where action = 'create'
    union all
    select replaced_by, actor from audit join api_keys as former on former.key_id = audit.key_id
      where action = 'rotate' and replaced_by is not null
  ) as made where made.made_id = api_keys.key_id`;

export const voiceOwnerStatements: readonly string[] = [
  'alter table voices add column owner_id text',
  "alter table voices add column access text not null default 'everyone'",
  `update voices set owner_id = ${accountId} from (${makers}) as made
    where made.voice_id = voices.voice_id and voices.status <> 'deleted'`,
];

/** Gives deleted voices their owner again, because the owner's account keeps their ids. */
export const deletedOwnerStatement = `update voices set owner_id = ${accountId}
  from (${makersAmong("'create', 'clone', 'import'")}) as made
  where made.voice_id = voices.voice_id and voices.status = 'deleted' and voices.owner_id is null`;

export interface Migration {
  name: string;
  statements: readonly string[];
  /** Runs after the statements. */
  run?(rows: Rows): Promise<void>;
  /** Whether the step has no effect in SQLite. */
  isForPostgres?: boolean;
  /** Minimum number of steps that a version must know to use the database after this step. */
  stepsKnownMin?: number;
}

const migrations: readonly Migration[] = [
  {
    name: 'api keys and clips',
    statements: [
      `create table api_keys (
        key_id text primary key,
        id_part text not null unique,
        hash bytea not null,
        hash_kind text not null,
        owner_id text not null,
        name text not null,
        scopes text not null,
        created_at_ms bigint not null,
        expires_at_ms bigint,
        revoked_at_ms bigint,
        last_used_at_ms bigint
      )`,
      `create table clips (
        clip_id text primary key,
        owner_id text not null,
        cache_key text,
        format text not null,
        byte_count bigint not null,
        seconds double precision not null,
        chars bigint not null,
        sample_rate_hz bigint not null,
        voice_id text not null,
        voice_name text not null,
        warnings text not null,
        created_at_ms bigint not null,
        expires_at_ms bigint not null,
        deleted_at_ms bigint,
        purged_at_ms bigint
      )`,
      'create index clips_cached on clips (owner_id, cache_key, created_at_ms) where cache_key is not null',
      'create index clips_kept on clips (expires_at_ms) where purged_at_ms is null',
      'create index clips_purged on clips (purged_at_ms) where purged_at_ms is not null',
    ],
  },
  {
    name: 'key management',
    statements: [
      "alter table api_keys add column path text not null default ''",
      'alter table api_keys add column voice_ids text',
      'alter table api_keys add column allowed_ips text',
      'alter table api_keys add column requests_per_minute bigint',
      'alter table api_keys add column concurrency bigint',
      'alter table api_keys add column characters_per_month bigint',
      'alter table api_keys add column replaced_by text',
      'create index api_keys_in_path on api_keys (path, key_id)',
      'create index api_keys_of_owner on api_keys (owner_id)',
      `create table audit (
        audit_id text primary key,
        at_ms bigint not null,
        actor text not null,
        action text not null,
        key_id text not null,
        address text not null,
        request_id text not null,
        detail text not null
      )`,
      'create index audit_of_key on audit (key_id, at_ms)',
    ],
  },
  {
    name: 'usage',
    statements: [
      `create table usage (
        key_id text not null,
        voice_id text not null,
        day text not null,
        requests bigint not null,
        characters bigint not null,
        audio_ms bigint not null,
        primary key (key_id, day, voice_id)
      )`,
    ],
  },
  {
    name: 'voices',
    statements: [
      `create table voices (
        voice_id text primary key,
        revision bigint not null,
        name text not null,
        description text not null,
        kind text not null,
        status text not null,
        language_codes text not null,
        labels text not null,
        version bigint not null,
        bindings text not null,
        consent text,
        created_at_ms bigint not null,
        updated_at_ms bigint not null
      )`,
      'create unique index voices_changed on voices (revision)',
      `create table clones (
        clone_id text primary key,
        voice_id text not null,
        sealed bytea not null
      )`,
      'create index clones_of_voice on clones (voice_id)',
      `create table voice_record (
        entry bigint primary key,
        at_ms bigint not null,
        actor text not null,
        address text not null,
        request_id text not null,
        action text not null,
        voice_id text not null,
        detail text not null,
        previous_hash text not null,
        hash text not null
      )`,
      'create index clips_of_voice on clips (voice_id) where purged_at_ms is null',
    ],
  },
  {
    name: 'answers and tickets',
    statements: [
      `create table answers (
        owner_id text not null,
        name text not null,
        fingerprint text not null,
        answer text,
        subject text not null,
        until_ms bigint not null,
        primary key (owner_id, name)
      )`,
      'create index answers_over on answers (until_ms)',
      'create index answers_about on answers (owner_id, subject)',
      `create table tickets (
        ticket_id text primary key,
        key_id text not null,
        chars bigint not null,
        sealed text not null,
        expires_at_ms bigint not null
      )`,
      'create index tickets_over on tickets (expires_at_ms)',
    ],
  },
  {
    name: 'fingerprints',
    statements: ['create table fingerprints (name text primary key, fingerprint text not null)'],
  },
  {
    name: 'versions beside each other',
    statements: ['alter table migrations add column steps_known_min bigint'],
  },
  {
    name: 'living keys by descent',
    statements: ['create index api_keys_living on api_keys (path) where revoked_at_ms is null and replaced_by is null'],
  },
  {
    name: 'stored bytes of an account',
    statements: [
      'alter table clips add column account_id text',
      'alter table clips add column used_at_ms bigint',
      `create index clips_linked on clips (coalesce(account_id, owner_id), created_at_ms)
        where purged_at_ms is null and used_at_ms is not null`,
      `create index clips_unlinked on clips (coalesce(account_id, owner_id), created_at_ms)
        where purged_at_ms is null and used_at_ms is null`,
    ],
  },
  {
    name: 'runners of requests in progress',
    statements: ['alter table answers add column runner text'],
  },
  {
    name: 'owners of voices',
    statements: voiceOwnerStatements,
  },
  {
    name: 'aliases of voices',
    statements: [
      `create table voice_aliases (
        alias text primary key,
        voice_id text not null,
        revision bigint not null
      )`,
      'create index voice_aliases_changed on voice_aliases (revision)',
      'create index voice_aliases_of_voice on voice_aliases (voice_id)',
    ],
  },
  {
    name: 'further voices of stored audio',
    statements: [
      'alter table clips add column other_voice_ids text',
      `create index clips_of_other_voices on clips (created_at_ms)
        where purged_at_ms is null and other_voice_ids is not null`,
    ],
  },
  {
    name: 'lexicons',
    statements: [
      `create table lexicons (
        lexicon_id text primary key,
        revision bigint not null,
        owner_id text,
        access text not null,
        name text not null,
        entries text,
        entry_count bigint not null,
        byte_count bigint not null,
        version text not null,
        created_at_ms bigint not null,
        updated_at_ms bigint not null
      )`,
      'create unique index lexicons_changed on lexicons (revision)',
      'alter table voices add column lexicon_ids text',
    ],
  },
  {
    name: 'webhooks',
    statements: webhookStatements,
  },
  {
    name: 'jobs',
    statements: jobStatements,
  },
  {
    name: 'voices of accounts',
    statements: [
      ...accountAliasStatements,
      deletedOwnerStatement,
      "create index voices_of_owner on voices (owner_id) where status <> 'deleted'",
      'create index voice_record_of_voice on voice_record (voice_id)',
    ],
  },
  {
    name: 'origin of stored audio',
    statements: [
      'alter table clips add column fingerprint text',
      'alter table clips add column origin text',
      'create index clips_by_fingerprint on clips (fingerprint) where fingerprint is not null',
    ],
  },
  {
    name: 'creators of keys',
    statements: [
      'alter table api_keys add column made_by text',
      'create index api_keys_made_by on api_keys (made_by)',
      keyCreatorStatement,
    ],
  },
  {
    name: 'signing certificates',
    statements: ['create table signing_certificates (sha256 text primary key, pem text not null)'],
  },
  {
    name: 'accounts of tickets',
    // Empty in rows of the previous version, which live for a minute.
    statements: [`alter table tickets add column account_id text not null default ''`],
  },
  {
    name: 'two levels of keys',
    statements: [
      `alter table api_keys add column limited_by text not null default ''`,
      'create index api_keys_above on api_keys ((path || limited_by))',
      `update api_keys set made_by =
        (select max(former.key_id) from api_keys as former where former.replaced_by = api_keys.key_id)
        where made_by is null`,
    ],
    run: flattenKeys,
  },
  {
    name: 'shared limits',
    statements: [readFileSync(new URL('./shared-limits.sql', import.meta.url), 'utf8')],
    isForPostgres: true,
  },
];

export const schemaSteps = migrations.length;

/** Number of applied steps of a database with the table `migrations`. */
export async function readSteps(rows: Rows): Promise<number> {
  const [seen] = await rows.query<{ steps: number }>('select coalesce(max(step), 0) as steps from migrations');
  return seen!.steps;
}

/** Throws if a newer, incompatible version has migrated the database. */
export async function checkNewer(rows: Rows, stepsKnown = schemaSteps): Promise<void> {
  const sql = 'select coalesce(max(steps_known_min), 0) as min from migrations';
  const [{ min }] = (await rows.query<{ min: number }>(sql)) as [{ min: number }];
  if (min > stepsKnown)
    throw new Error(
      `its schema is newer than this version of Sonant (${stepsKnown} of ${min} steps); run a newer version`,
    );
}

/** Applies the missing steps, in a transaction that excludes all other processes. */
export async function migrate(
  rows: Rows & { isPostgres?: boolean },
  steps: readonly Migration[] = migrations,
): Promise<void> {
  await rows.query(
    'create table if not exists migrations (step bigint primary key, name text not null, taken_at_ms bigint not null)',
  );
  const taken = await readSteps(rows);
  if (taken > steps.length) return checkNewer(rows, steps.length);
  for (const [i, { name, statements, run, stepsKnownMin, isForPostgres = false }] of steps.entries()) {
    if (i < taken) continue;
    if (!isForPostgres || rows.isPostgres) for (const statement of statements) await rows.query(statement);
    await run?.(rows);
    await rows.query('insert into migrations (step, name, taken_at_ms) values ($1, $2, $3)', i + 1, name, Date.now());
    if (stepsKnownMin !== undefined)
      await rows.query('update migrations set steps_known_min = $1 where step = $2', stepsKnownMin, i + 1);
  }
}

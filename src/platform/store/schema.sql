-- The schema of the database as a list of steps. A line "-- Step: NAME" begins a step; a statement ends with a semicolon
-- at the end of a line. Steps never change after a release. Later steps follow in `migrations` in migrations.ts: append
-- new steps there, not here, because a step is known by its number. Older versions should work after a step, so that a
-- rolling update can mix old and new replicas: set `stepsKnownMin` in migrations.ts otherwise.

-- Step: api keys and clips
create table api_keys (
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
);
create table clips (
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
);
create index clips_cached on clips (owner_id, cache_key, created_at_ms) where cache_key is not null;
create index clips_kept on clips (expires_at_ms) where purged_at_ms is null;
create index clips_purged on clips (purged_at_ms) where purged_at_ms is not null;

-- Step: key management
alter table api_keys add column path text not null default '';
alter table api_keys add column voice_ids text;
alter table api_keys add column allowed_ips text;
alter table api_keys add column requests_per_minute bigint;
alter table api_keys add column concurrency bigint;
alter table api_keys add column characters_per_month bigint;
alter table api_keys add column replaced_by text;
create index api_keys_in_path on api_keys (path, key_id);
create index api_keys_of_owner on api_keys (owner_id);
create table audit (
  audit_id text primary key,
  at_ms bigint not null,
  actor text not null,
  action text not null,
  key_id text not null,
  address text not null,
  request_id text not null,
  detail text not null
);
create index audit_of_key on audit (key_id, at_ms);

-- Step: usage
create table usage (
  key_id text not null,
  voice_id text not null,
  day text not null,
  requests bigint not null,
  characters bigint not null,
  audio_ms bigint not null,
  primary key (key_id, day, voice_id)
);

-- Step: voices
create table voices (
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
);
create unique index voices_changed on voices (revision);
create table clones (
  clone_id text primary key,
  voice_id text not null,
  sealed bytea not null
);
create index clones_of_voice on clones (voice_id);
create table voice_record (
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
);
create index clips_of_voice on clips (voice_id) where purged_at_ms is null;

-- Step: answers and tickets
create table answers (
  owner_id text not null,
  name text not null,
  fingerprint text not null,
  answer text,
  subject text not null,
  until_ms bigint not null,
  primary key (owner_id, name)
);
create index answers_over on answers (until_ms);
create index answers_about on answers (owner_id, subject);
create table tickets (
  ticket_id text primary key,
  key_id text not null,
  chars bigint not null,
  sealed text not null,
  expires_at_ms bigint not null
);
create index tickets_over on tickets (expires_at_ms);

-- Step: fingerprints
create table fingerprints (name text primary key, fingerprint text not null);

-- Step: versions beside each other
alter table migrations add column steps_known_min bigint;

-- Step: living keys by descent
create index api_keys_living on api_keys (path) where revoked_at_ms is null and replaced_by is null;

-- Step: stored bytes of an account
alter table clips add column account_id text;
alter table clips add column used_at_ms bigint;
create index clips_linked on clips (coalesce(account_id, owner_id), created_at_ms)
  where purged_at_ms is null and used_at_ms is not null;
create index clips_unlinked on clips (coalesce(account_id, owner_id), created_at_ms)
  where purged_at_ms is null and used_at_ms is null;

-- Step: runners of requests in progress
alter table answers add column runner text;

-- Step: owners of voices
-- The owner is the account of the key that created the voice, from the latest of the voice's audit entries. The entries
-- include deletions, because the id of a deleted voice may belong to another voice now. The id of a key has 30
-- characters; the id of a person or client has 36.
alter table voices add column owner_id text;
alter table voices add column access text not null default 'everyone';
update voices set owner_id =
  case
    when made.path = '' then made.owner_id
    when made.path like 'key%' then substr(made.path, 1, 30)
    else substr(made.path, 1, 36)
  end
  from (
    select born.voice_id, maker.path, maker.owner_id
      from voice_record as born
      join (
        select max(entry) as entry from voice_record where action in ('create', 'clone', 'import', 'delete') group by voice_id
      ) as latest on latest.entry = born.entry
      join api_keys as maker on maker.key_id = substr(born.actor, 5)
      where born.action in ('create', 'clone')
  ) as made
  where made.voice_id = voices.voice_id and voices.status <> 'deleted';

-- Step: aliases of voices
create table voice_aliases (
  alias text primary key,
  voice_id text not null,
  revision bigint not null
);
create index voice_aliases_changed on voice_aliases (revision);
create index voice_aliases_of_voice on voice_aliases (voice_id);

-- Step: further voices of stored audio
alter table clips add column other_voice_ids text;
create index clips_of_other_voices on clips (created_at_ms)
  where purged_at_ms is null and other_voice_ids is not null;

-- Step: lexicons
create table lexicons (
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
);
create unique index lexicons_changed on lexicons (revision);
alter table voices add column lexicon_ids text;

-- Step: webhooks
create table webhook_messages (
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
);
create index webhook_messages_due on webhook_messages (due_at_ms) where ended_at_ms is null;
create index webhook_messages_ended on webhook_messages (ended_at_ms) where ended_at_ms is not null;
create table webhook_secrets (
  owner_id text primary key,
  sealed text not null,
  hint text not null,
  created_at_ms bigint not null,
  former_sealed text,
  former_until_ms bigint
);

-- Step: jobs
create table jobs (
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
);
create unique index jobs_by_id on jobs (owner_id, job_id);
create index jobs_of_owner on jobs (owner_id, job_key);
create index jobs_active on jobs (account_id) where status in ('queued', 'running');
create index jobs_over on jobs (expires_at_ms) where expires_at_ms is not null;
create table job_chapters (
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
);
create index job_chapters_open on job_chapters (job_key, chapter) where status = 'queued';
create table job_parts (
  job_key text not null,
  chapter bigint not null,
  part bigint not null,
  text_offset bigint not null,
  written text not null,
  primary key (job_key, chapter, part)
);
create table job_segments (
  job_key text not null,
  chapter bigint not null,
  segment bigint not null,
  fingerprint text not null,
  voice_id text not null,
  clip_key text,
  sample_rate_hz bigint not null,
  words text not null,
  primary key (job_key, chapter, segment)
);
create index job_segments_of_voice on job_segments (voice_id);
create index job_segments_by_clip on job_segments (clip_key) where clip_key is not null;

-- Step: voices of accounts
create table account_aliases (
  alias text not null,
  owner_id text not null,
  voice_id text not null,
  revision bigint not null,
  primary key (alias, owner_id)
);
create index account_aliases_changed on account_aliases (revision);
create index account_aliases_of_voice on account_aliases (voice_id);
insert into account_aliases (alias, owner_id, voice_id, revision)
  select alias, owner_id, voice_aliases.voice_id, voice_aliases.revision
    from voice_aliases join voices on voices.voice_id = voice_aliases.voice_id
    where access <> 'everyone' and owner_id is not null and alias <> '';
delete from voice_aliases where exists (
  select 1 from account_aliases
    where account_aliases.alias = voice_aliases.alias and account_aliases.voice_id = voice_aliases.voice_id
);
-- Gives deleted voices their owner again, because the owner's account keeps their ids.
update voices set owner_id =
  case
    when made.path = '' then made.owner_id
    when made.path like 'key%' then substr(made.path, 1, 30)
    else substr(made.path, 1, 36)
  end
  from (
    select born.voice_id, maker.path, maker.owner_id
      from voice_record as born
      join (
        select max(entry) as entry from voice_record where action in ('create', 'clone', 'import') group by voice_id
      ) as latest on latest.entry = born.entry
      join api_keys as maker on maker.key_id = substr(born.actor, 5)
      where born.action in ('create', 'clone')
  ) as made
  where made.voice_id = voices.voice_id and voices.status = 'deleted' and voices.owner_id is null;
create index voices_of_owner on voices (owner_id) where status <> 'deleted';
create index voice_record_of_voice on voice_record (voice_id);

-- Step: origin of stored audio
alter table clips add column fingerprint text;
alter table clips add column origin text;
create index clips_by_fingerprint on clips (fingerprint) where fingerprint is not null;

-- Step: creators of keys
alter table api_keys add column made_by text;
create index api_keys_made_by on api_keys (made_by);
-- Reads the creators of keys from the audit. The path of a key that a person or client made begins with the id of that
-- account, which has 36 characters.
update api_keys
  set made_by = case when actor like 'key:%' then substr(actor, 5) when actor = 'operator' then actor
    else substr(path, 1, 36) end
  from (
    select key_id as made_id, actor from audit where action = 'create'
    union all
    select replaced_by, actor from audit join api_keys as former on former.key_id = audit.key_id
      where action = 'rotate' and replaced_by is not null
  ) as made where made.made_id = api_keys.key_id;

-- Step: signing certificates
create table signing_certificates (sha256 text primary key, pem text not null);

-- Step: accounts of tickets
-- Empty in rows of the previous version, which live for a minute.
alter table tickets add column account_id text not null default '';

-- Step: two levels of keys
alter table api_keys add column limited_by text not null default '';
create index api_keys_above on api_keys ((path || limited_by));
update api_keys set made_by =
  (select max(former.key_id) from api_keys as former where former.replaced_by = api_keys.key_id)
  where made_by is null;

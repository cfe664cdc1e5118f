// The migration that gives stored voices an owner. A voice belongs to the account of the key that made it, according to the
// record of voices: to the first id in the path of that key, or without a path, to the key. Others are the operator's.
// All of them stay everyone's, as they were.

/** The keys that made voices: whose latest entry among these actions is a beginning. */
const makersAmong = (actions: string) => `
  select born.voice_id, maker.path, maker.owner_id
    from voice_record as born
    join (
      select max(entry) as entry from voice_record
        where action in (${actions}) group by voice_id
    ) as latest on latest.entry = born.entry
    join api_keys as maker on maker.key_id = substr(born.actor, 5)
    where born.action in ('create', 'clone')`;

/** The id of a key has 30 characters, that of a person or client 36. */
const accountId = `case
    when made.path = '' then made.owner_id
    when made.path like 'key%' then substr(made.path, 1, 30)
    else substr(made.path, 1, 36)
  end`;

/** An id that was deleted may belong to another voice now, so its end counts too. */
const makers = makersAmong("'create', 'clone', 'import', 'delete'");

export const voiceOwnerStatements: readonly string[] = [
  'alter table voices add column owner_id text',
  "alter table voices add column access text not null default 'everyone'",
  `update voices set owner_id = ${accountId} from (${makers}) as made
    where made.voice_id = voices.voice_id and voices.status <> 'deleted'`,
];

/** Deleted voices had lost their owner. It keeps their ids. */
export const deletedOwnerStatement = `update voices set owner_id = ${accountId}
  from (${makersAmong("'create', 'clone', 'import'")}) as made
  where made.voice_id = voices.voice_id and voices.status = 'deleted' and voices.owner_id is null`;

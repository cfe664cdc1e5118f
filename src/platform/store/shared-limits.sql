-- The tables and functions with which replicas share limits. Each decision is one call, atomic for a key and its
-- ancestors: the `owners`, the key itself first and the account last, are locked in this order, so calls never deadlock.
-- The tables are unlogged. A crash empties them; then replicas restore what they know. Times are microseconds of the
-- database's clock.

create unlogged table limits (
  owner_id text primary key,
  born_us bigint not null,
  full_at_us bigint not null, -- the time at which all requests are available again, as in rate-limit.ts
  month text not null default '',
  spent bigint, -- characters of the month: those in the ledger when it was read, and later ones; null if unknown
  recorded_at_us bigint not null default 0, -- the last time at which a replica reported that the ledger grew
  next_replica text not null default '', -- the replica that gets the next free slot
  next_until_us bigint not null default 0
) with (fillfactor = 50); -- changed rows stay in their page

-- What the running syntheses of a replica hold. A replica always states all it holds, so a lost answer changes nothing.
create unlogged table holdings (
  owner_id text not null,
  replica text not null,
  revision bigint not null, -- orders the statements of a replica
  until_us bigint not null, -- the lease; later, slots and unrecorded characters of the replica are free
  month text not null,
  held bigint not null, -- slots
  used bigint not null, -- all characters of the month that the replica has counted
  unrecorded bigint not null, -- characters of running syntheses that are not in the ledger
  primary key (owner_id, replica)
) with (fillfactor = 50);

-- Locks of single flights.
create unlogged table flights (
  name text primary key,
  holder text not null,
  until_us bigint not null,
  is_waited boolean not null
) with (fillfactor = 50);

create function sonant_now_us() returns bigint language sql volatile as $$
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint
$$;

-- Locks the row of an owner. A row that is younger than the one that the caller saw gets the state that the caller saw.
create function sonant_lock_limit(owner text, seen_born_us bigint, seen_full_at_us bigint, clock bigint)
returns limits language plpgsql as $$
declare
  l limits;
  now_us bigint := coalesce(clock, sonant_now_us());
  month_now text;
begin
  loop
    select * into l from limits where owner_id = owner for update;
    exit when found;
    insert into limits (owner_id, born_us, full_at_us) values (owner, now_us, now_us) on conflict do nothing;
  end loop;
  now_us := coalesce(clock, sonant_now_us()); -- the lock may have taken a while
  month_now := to_char(to_timestamp(now_us / 1000000) at time zone 'UTC', 'YYYY-MM');
  if l.born_us <> seen_born_us then l.full_at_us := greatest(l.full_at_us, seen_full_at_us); end if;
  l.full_at_us := greatest(l.full_at_us, now_us);
  if l.month <> month_now then
    l.month := month_now;
    l.spent := null;
  end if;
  return l;
end $$;

-- Outcomes: "taken"; "rejected" by the owner with the longest wait (`decider`, from 0); "ended" if the key was revoked
-- or replaced.
create function sonant_take_request(owners jsonb, key text, clock bigint)
returns table (outcome text, now_us bigint, decider bigint, born bigint, full_at bigint, spent bigint)
language plpgsql as $$
declare
  o record;
  l limits;
  rows limits[] := '{}';
  longest bigint := 0;
  n int := 0;
begin
  now_us := coalesce(clock, sonant_now_us());
  outcome := 'taken';
  decider := 0;
  if exists (select from api_keys k where k.key_id = key and
      (k.revoked_at_ms is not null or k.replaced_by is not null and k.expires_at_ms <= now_us / 1000)) then
    outcome := 'ended';
    return next;
    return;
  end if;
  for o in select * from jsonb_to_recordset(owners) as x("ownerId" text, "bornUs" bigint, "fullAtUs" bigint) loop
    l := sonant_lock_limit(o."ownerId", o."bornUs", o."fullAtUs", clock);
    rows := rows || l;
  end loop;
  now_us := coalesce(clock, sonant_now_us());
  for o in select * from jsonb_to_recordset(owners) as x("intervalUs" bigint, "capacityUs" bigint) loop
    n := n + 1;
    l := rows[n];
    l.full_at_us := greatest(l.full_at_us, now_us);
    rows[n] := l;
    if l.full_at_us + o."intervalUs" - now_us - o."capacityUs" > longest then
      outcome := 'rejected';
      decider := n - 1;
      longest := l.full_at_us + o."intervalUs" - now_us - o."capacityUs";
    end if;
  end loop;
  for i in 1..cardinality(rows) loop
    l := rows[i];
    born := l.born_us;
    full_at := l.full_at_us;
    spent := l.spent;
    if outcome = 'taken' then full_at := full_at + (owners -> i - 1 ->> 'intervalUs')::bigint; end if;
    update limits u set full_at_us = full_at where u.owner_id = l.owner_id and u.full_at_us <> full_at;
    return next;
  end loop;
end $$;

-- States what a replica holds, and takes slots and characters for syntheses (`takes`), in their order, until one is
-- refused. `granted` is the number of those that got all. Outcomes: "taken"; "late" if the month has ended; "stale" after
-- a later statement; "unread" if the ledger must be read first; "characters" if an owner has too few left; "full" if an
-- owner has no free slot, or only one that another replica waits for. `refundUs` refunds requests.
create function sonant_hold(
  owners jsonb, takes jsonb, replica_id text, revision_now bigint, lease_us bigint, month_now text, clock bigint)
returns table (outcome text, now_us bigint, decider bigint, granted bigint, born bigint, full_at bigint, spent bigint)
language plpgsql as $$
declare
  o record;
  t record;
  l limits;
  h holdings;
  rows limits[] := '{}';
  spents bigint[] := '{}'; -- of each owner
  quotas bigint[] := '{}';
  frees bigint[] := '{}';
  amount bigint;
  n int := 0;
  all_chars bigint := 0;
  all_slots bigint := 0;
begin
  now_us := coalesce(clock, sonant_now_us());
  granted := 0;
  for o in select * from jsonb_to_recordset(owners) as x("ownerId" text, "bornUs" bigint, "fullAtUs" bigint) loop
    l := sonant_lock_limit(o."ownerId", o."bornUs", o."fullAtUs", clock);
    rows := rows || l;
    if l.month <> month_now then outcome := 'late';
    elsif exists (select from holdings g
        where g.owner_id = l.owner_id and g.replica = replica_id and g.revision >= revision_now) then
      outcome := 'stale';
    end if;
  end loop;
  if outcome is not null then
    return next;
    return;
  end if;

  for o in select * from jsonb_to_recordset(owners)
      as x(held bigint, used bigint, unrecorded bigint, quota bigint, concurrency bigint, "refundUs" bigint) loop
    n := n + 1;
    l := rows[n];
    l.full_at_us := greatest(l.full_at_us - coalesce(o."refundUs", 0), now_us);
    with gone as (delete from holdings g
        where g.owner_id = l.owner_id and g.until_us <= now_us and g.replica <> replica_id returning g.*)
      select coalesce(sum(gone.unrecorded) filter (where gone.month = month_now), 0) into amount from gone;
    select * into h from holdings g where g.owner_id = l.owner_id and g.replica = replica_id;
    if h.month = month_now then
      amount := amount + h.used - o.used;
      if o.unrecorded < h.unrecorded then l.recorded_at_us := now_us; end if;
    elsif o.used > 0 then
      amount := null;
    end if;
    spents := spents || (l.spent - amount);
    quotas := quotas || o.quota;
    select o.concurrency - o.held - coalesce(sum(g.held), 0) into amount from holdings g
      where g.owner_id = l.owner_id and g.replica <> replica_id;
    if l.next_until_us > now_us and l.next_replica <> replica_id then amount := amount - 1; end if;
    frees := frees || amount;
    rows[n] := l;
  end loop;

  for t in select * from jsonb_to_recordset(takes) as x(chars bigint, slots bigint, waits boolean) loop
    for i in 1..n loop
      if quotas[i] is not null and spents[i] is null then outcome := 'unread';
      elsif spents[i] + t.chars > quotas[i] then outcome := 'characters';
      elsif t.waits and frees[i] - all_slots < 1 then outcome := 'full';
      end if;
      decider := i - 1;
      exit when outcome is not null;
    end loop;
    exit when outcome is not null;
    granted := granted + 1;
    all_chars := all_chars + t.chars;
    all_slots := all_slots + t.slots;
    for i in 1..n loop spents[i] := spents[i] + t.chars; end loop;
  end loop;
  outcome := coalesce(outcome, 'taken');

  n := 0;
  for o in select * from jsonb_to_recordset(owners) as x(held bigint, used bigint, unrecorded bigint) loop
    n := n + 1;
    l := rows[n];
    if granted > 0 and l.next_replica = replica_id then l.next_until_us := 0; end if;
    if outcome = 'full' and granted = 0 and n - 1 = decider
        and (l.next_until_us <= now_us or l.next_replica = replica_id) then
      l.next_replica := replica_id;
      l.next_until_us := now_us + 100000; -- several polls of a waiting replica
    end if;
    born := l.born_us;
    full_at := l.full_at_us;
    spent := spents[n];
    update limits u set full_at_us = l.full_at_us, month = month_now, spent = spents[n],
        recorded_at_us = l.recorded_at_us, next_replica = l.next_replica, next_until_us = l.next_until_us
      where u.owner_id = l.owner_id;
    insert into holdings values (l.owner_id, replica_id, revision_now, now_us + lease_us, month_now,
        o.held + all_slots, o.used + all_chars, o.unrecorded + all_chars)
      on conflict (owner_id, replica) do update set revision = excluded.revision, until_us = excluded.until_us,
        month = excluded.month, held = excluded.held, used = excluded.used, unrecorded = excluded.unrecorded;
    return next;
  end loop;
end $$;

-- Sets the characters of a month from what the ledger had at `read_us`. Changes nothing, and returns null, if the month
-- has ended, or if the ledger has grown since.
create function sonant_set_spent(owner text, month_read text, ledger bigint, read_us bigint, clock bigint)
returns table (spent bigint, now_us bigint) language plpgsql as $$
declare
  l limits;
begin
  now_us := coalesce(clock, sonant_now_us());
  l := sonant_lock_limit(owner, 0, 0, clock);
  spent := l.spent;
  if l.month = month_read and spent is null and l.recorded_at_us <= read_us then
    spent := ledger + (select coalesce(sum(h.unrecorded), 0) from holdings h
      where h.owner_id = owner and h.month = month_read and h.until_us > now_us);
    update limits u set month = month_read, spent = sonant_set_spent.spent where u.owner_id = owner;
  end if;
  return next;
end $$;

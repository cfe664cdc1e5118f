-- Applies the limits of a key and its ancestors. The key and each ancestor have an owner; the last owner is the
-- account. Every operation is atomic for all owners, and a rejected call is not charged. The Redis keys of an account
-- share a hash tag, so that one slot of a cluster stores them. Times are whole microseconds of the server's clock.
--
--     KEYS  for each owner, the owner of the key itself first; the keys of the account have no `owner:`:
--           1  {account}:owner:requests       time at which all requests are available again, as in rate-limit.ts
--           2  {account}:owner:places         sorted set of concurrency slots: "id:month:characters" -> end of lease
--           3  {account}:owner:waiting        sorted set, the queue for slots: replica -> start of the wait
--           4  {account}:owner:recorded       hash: slot -> number of its characters that the ledger has recorded
--           5  {account}:owner:month:2026-11  characters in the ledger when it was read, plus later syntheses
--           then, only for take_request:
--              {account}:ended:key_...        exists if the key was revoked
--
--     ARGV  1 operation  2 current time, in tests  3 month  4 its start  5 its end  6 number of owners
--           7... arguments of the operation
--
--     reply: outcome, current time, index of the owner that decided the outcome (1 is the key itself), and for each
--     owner the time at which all requests are available again and the characters of the month (nil if unknown)
--
-- When the lease of a crashed replica ends, its slot is free and the unrecorded characters of the slot are refunded.
-- The count of a month expires soon after the last synthesis, and the next caller sets the count from the ledger. The
-- count is also deleted if a slot is missing, because the count may or may not include its recorded characters.
-- Renewals report the recorded characters. Only characters spoken between two renewals may be counted twice, or
-- refunded after a crash.
local operation = ARGV[1]
local owner_count = tonumber(ARGV[6])
local expire_ms = 120000 -- twice the time in which the slowest burst is available again
local busy_ms, idle_ms = 60000, 5000 -- how long the count of a month is stored
local queue_us = 300000 -- somewhat longer than any caller waits
local ledger_read_us = 2000000 -- how long a read of the ledger may take

local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local is_month = now >= tonumber(ARGV[4]) and now < tonumber(ARGV[5])

local owners = {}
for i = 1, owner_count do
  local requests, slots, queue, recorded, month = unpack(KEYS, 5 * i - 4, 5 * i)
  owners[i] = { requests = requests, slots = slots, queue = queue, recorded = recorded, month = month }
end

local function whole(number) return string.format('%.0f', number) end
local function spent_chars(owner) return tonumber(redis.call('GET', owner.month)) end

local function full_at(owner)
  owner.full = owner.full or math.max(tonumber(redis.call('GET', owner.requests)) or now, now)
  return owner.full
end
local function set_full_at(owner, time)
  owner.full = math.max(time, now)
  redis.call('SET', owner.requests, whole(owner.full), 'PX', expire_ms)
end

local function reply(outcome, decider)
  local told = { outcome, now, decider or 1 }
  for _, owner in ipairs(owners) do
    table.insert(told, full_at(owner))
    table.insert(told, is_month and redis.call('GET', owner.month))
  end
  return told
end

local function expire_count(owner, ms) redis.call('PEXPIRE', owner.month, ms) end

local function spend(owner, characters)
  if spent_chars(owner) then redis.call('INCRBY', owner.month, whole(characters)) end
end

local function characters_of(slot)
  local of_month, characters = string.match(slot, ':([%d-]+):(%d+)$')
  return of_month == ARGV[3] and tonumber(characters) or 0
end

local function set_recorded(owner, slot, characters)
  if characters == 0 then return end
  redis.call('HSET', owner.recorded, slot, whole(characters))
  redis.call('PEXPIRE', owner.recorded, expire_ms)
end
local function unrecorded_of(owner, slot)
  return math.max(0, characters_of(slot) - tonumber(redis.call('HGET', owner.recorded, slot) or 0))
end

-- Returns whether the slot existed.
local function remove_slot(owner, slot)
  redis.call('HDEL', owner.recorded, slot)
  return redis.call('ZREM', owner.slots, slot) == 1
end

local function end_lapsed(owner)
  for _, slot in ipairs(redis.call('ZRANGEBYSCORE', owner.slots, '-inf', whole(now))) do
    spend(owner, -unrecorded_of(owner, slot))
    remove_slot(owner, slot)
  end
end

-- Deletes the count, so that the next caller reads the ledger.
local function forget_count(owner) redis.call('DEL', owner.month) end

-- `first` is the index in ARGV of the first owner's interval; `each` is the number of arguments per owner.
local function refund_requests(first, each)
  for i, owner in ipairs(owners) do set_full_at(owner, full_at(owner) - ARGV[first + each * (i - 1)]) end
end

local operations = {}

-- Arguments for each owner: interval, capacity. Outcomes: "taken"; "rejected" by the owner with the longest wait;
-- "ended" if the key was revoked.
function operations.take_request()
  for i = 5 * owner_count + 1, #KEYS do
    if redis.call('EXISTS', KEYS[i]) == 1 then return { 'ended', now, 1 } end
  end
  local longest, decider = 0, nil
  for i, owner in ipairs(owners) do
    local over = full_at(owner) + ARGV[5 + 2 * i] - now - ARGV[6 + 2 * i]
    if over > longest then longest, decider = over, i end
  end
  if decider then return reply('rejected', decider) end
  for i, owner in ipairs(owners) do set_full_at(owner, full_at(owner) + ARGV[5 + 2 * i]) end
  return reply('taken')
end

function operations.read() return reply('read') end

-- Arguments, for one owner: 7 characters in the ledger, 8 start of the read. Outcomes: "read"; "late" if the read is
-- too old.
function operations.set_spent()
  if not is_month or now - tonumber(ARGV[8]) > ledger_read_us then return { 'late', now, 1 } end
  local owner = owners[1]
  if not spent_chars(owner) then
    local spent = tonumber(ARGV[7])
    for _, slot in ipairs(redis.call('ZRANGE', owner.slots, 0, -1)) do spent = spent + unrecorded_of(owner, slot) end
    redis.call('SET', owner.month, whole(spent), 'PX', idle_ms)
  end
  return reply('read')
end

-- Arguments: 7 slot, 8 duration of the lease, 9 replica; for each owner: interval of the request that a refusal
-- refunds, or 0; characters per month or ''; concurrency, or '' if no slot must be free; then the slot to replace or
-- '', and its recorded characters. The new slot includes the characters of the replaced slot. Outcomes: "taken";
-- "characters" if an owner has too few characters left; "full" if an owner has no free slot, or if other replicas wait
-- for its free slots; "unread" if the ledger must be read first; "late" if the month has ended.
function operations.take_slot()
  if not is_month then return { 'late', now, 1 } end
  local slot, lease, replica = ARGV[7], ARGV[8], ARGV[9]
  local replaced, recorded = ARGV[10 + 3 * owner_count], tonumber(ARGV[11 + 3 * owner_count])
  -- If the slot was lost, the count may include only its recorded characters.
  local function counted(owner)
    return redis.call('ZSCORE', owner.slots, replaced) and characters_of(replaced) or recorded
  end
  for i, owner in ipairs(owners) do
    end_lapsed(owner)
    if tonumber(ARGV[8 + 3 * i]) and not spent_chars(owner) then return reply('unread', i) end
  end
  for i, owner in ipairs(owners) do
    local quota = tonumber(ARGV[8 + 3 * i])
    if quota and spent_chars(owner) + characters_of(slot) - counted(owner) > quota then
      refund_requests(10, 3)
      return reply('characters', i)
    end
  end
  for i, owner in ipairs(owners) do
    redis.call('ZREMRANGEBYSCORE', owner.queue, '-inf', whole(now - queue_us))
    local slots_max = tonumber(ARGV[9 + 3 * i])
    local free = (slots_max or math.huge) - redis.call('ZCARD', owner.slots)
    local before = redis.call('ZRANK', owner.queue, replica) or redis.call('ZCARD', owner.queue)
    if before >= free and not redis.call('ZSCORE', owner.slots, replaced) then
      redis.call('ZADD', owner.queue, 'NX', whole(now), replica)
      redis.call('PEXPIRE', owner.queue, expire_ms)
      return { 'full', now, i }
    end
  end
  for i, owner in ipairs(owners) do
    if tonumber(ARGV[9 + 3 * i]) then redis.call('ZREM', owner.queue, replica) end
    spend(owner, characters_of(slot) - counted(owner))
    if not remove_slot(owner, replaced) and replaced ~= '' then forget_count(owner) end
    redis.call('ZADD', owner.slots, whole(now + lease), slot)
    redis.call('PEXPIRE', owner.slots, expire_ms)
    set_recorded(owner, slot, recorded)
    expire_count(owner, busy_ms)
  end
  return reply('taken')
end

-- Arguments: 7 replica or '', then for each owner: interval of requests. Refunds the request of a caller without a
-- slot.
function operations.leave_queue()
  refund_requests(8, 1)
  for _, owner in ipairs(owners) do redis.call('ZREM', owner.queue, ARGV[7]) end
  return reply('read')
end

-- Arguments: 7 slot, 8 number of spoken characters.
function operations.end_slot()
  for _, owner in ipairs(owners) do
    if remove_slot(owner, ARGV[7]) then
      spend(owner, ARGV[8] - characters_of(ARGV[7]))
    elseif tonumber(ARGV[8]) > 0 then
      forget_count(owner)
    end
    expire_count(owner, redis.call('ZCARD', owner.slots) > 0 and busy_ms or idle_ms)
  end
  return reply('read')
end

-- Arguments: 7 duration of the leases, then for each running slot: name, recorded characters. Extends the leases, and
-- adds missing slots again.
function operations.renew_slots()
  for _, owner in ipairs(owners) do
    end_lapsed(owner)
    for i = 8, #ARGV, 2 do
      if redis.call('ZADD', owner.slots, whole(now + ARGV[7]), ARGV[i]) == 1 then forget_count(owner) end
      set_recorded(owner, ARGV[i], tonumber(ARGV[i + 1]))
    end
    redis.call('PEXPIRE', owner.slots, expire_ms)
    expire_count(owner, busy_ms)
  end
  return reply('read')
end

-- Arguments: 7... slots that ended while Redis was unreachable. Deletes the count, so that the ledger is read again.
function operations.drop_slots()
  for _, owner in ipairs(owners) do
    for i = 7, #ARGV do remove_slot(owner, ARGV[i]) end
    forget_count(owner)
  end
  return reply('read')
end

-- For one owner. The third value of the reply is the number of slots.
function operations.running()
  end_lapsed(owners[1])
  return { 'read', now, redis.call('ZCARD', owners[1].slots) }
end

return operations[operation]()

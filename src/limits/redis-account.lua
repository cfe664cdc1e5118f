-- The limits of one owner's keys: every operation is atomic, and a rejected call is charged nothing. All keys have one
-- hash tag, so they lie in one slot of a cluster. Times are those of the server, in whole microseconds.
--
--     KEYS  1  {owner}:requests       when all requests are available again, as in gcra.ts
--           2  {owner}:places         sorted set of concurrency slots: "id:month:characters" -> when the lease ends
--           3  {owner}:waiting        sorted set, the queue for slots: replica -> since when it waits
--           4  {owner}:month:2026-11  characters: the ledger's when it was read, plus running and ended syntheses since
--           5  {owner}:ended:key_...  exists if the key was revoked; only with take_request
--
--     ARGV  1 operation  2 current time, in tests  3 month  4 its begin  5 its end  6... arguments of the operation
--
--     reply: outcome, current time, when all requests are available again, characters of the month (nil if unknown)
--
-- The slots of a crashed replica are free when their leases end, and their characters are refunded. The count of a month
-- without syntheses expires soon; the next caller reads the ledger and sets it again. So a count that has gone wrong is
-- corrected soon.
local requests, slots, queue, month, ended = unpack(KEYS)
local operation = ARGV[1]
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

local function whole(number) return string.format('%.0f', number) end
local function spent_chars() return tonumber(redis.call('GET', month)) end

local full -- read once
local function full_at()
  full = full or math.max(tonumber(redis.call('GET', requests)) or now, now)
  return full
end
local function set_full_at(time)
  full = math.max(time, now)
  redis.call('SET', requests, whole(time), 'PX', expire_ms)
end

local function reply(outcome) return { outcome, now, full_at(), is_month and redis.call('GET', month) } end

local function expire_count(ms) redis.call('PEXPIRE', month, ms) end

local function spend(characters)
  if spent_chars() then redis.call('INCRBY', month, whole(characters)) end
end

local function characters_of(slot)
  local of_month, characters = string.match(slot, ':([%d-]+):(%d+)$')
  return of_month == ARGV[3] and tonumber(characters) or 0
end

local function end_lapsed()
  for _, slot in ipairs(redis.call('ZRANGEBYSCORE', slots, '-inf', whole(now))) do
    redis.call('ZREM', slots, slot)
    spend(-characters_of(slot))
  end
end

local function refund_request(interval) set_full_at(full_at() - interval) end

local operations = {}

-- 6 interval, 7 capacity: "taken"; "rejected"; "ended" if the key was revoked.
function operations.take_request()
  if ended and redis.call('EXISTS', ended) == 1 then return { 'ended', now } end
  local filled = full_at() + ARGV[6]
  if filled - now > tonumber(ARGV[7]) then return reply('rejected') end
  set_full_at(filled)
  return reply('taken')
end

function operations.read() return reply('read') end

-- 6 characters in the ledger, 7 when its read began: "read"; "late" if that is too long ago or in another month.
function operations.set_spent()
  if not is_month or now - tonumber(ARGV[7]) > ledger_read_us then return { 'late', now } end
  if not spent_chars() then
    local spent = tonumber(ARGV[6])
    for _, slot in ipairs(redis.call('ZRANGE', slots, 0, -1)) do spent = spent + characters_of(slot) end
    redis.call('SET', month, whole(spent), 'PX', idle_ms)
  end
  return reply('read')
end

-- 6 interval of requests, 7 characters per month or nothing, 8 slot, 9 concurrency, 10 duration of the lease, 11 replica:
-- "taken"; "characters" if too few are left in the month; "full" if no slot is free, or other replicas wait for those that
-- are; "unread" if the ledger must be read first; "late" if it is another month.
function operations.take_slot()
  if not is_month then return { 'late', now } end
  end_lapsed()
  local quota, slot, replica, spent = tonumber(ARGV[7]), ARGV[8], ARGV[11], spent_chars()
  if quota and not spent then return { 'unread', now } end
  if quota and spent + characters_of(slot) > quota then
    refund_request(ARGV[6])
    return reply('characters')
  end
  redis.call('ZREMRANGEBYSCORE', queue, '-inf', whole(now - queue_us))
  local free = ARGV[9] - redis.call('ZCARD', slots)
  local before = redis.call('ZRANK', queue, replica) or redis.call('ZCARD', queue)
  if before >= free then
    redis.call('ZADD', queue, 'NX', whole(now), replica)
    redis.call('PEXPIRE', queue, expire_ms)
    return { 'full', now }
  end
  redis.call('ZREM', queue, replica)
  redis.call('ZADD', slots, whole(now + ARGV[10]), slot)
  redis.call('PEXPIRE', slots, expire_ms)
  spend(characters_of(slot))
  expire_count(busy_ms)
  return reply('taken')
end

-- 6 interval, 7 replica or nothing: refunds the request of a caller that got no slot.
function operations.leave_queue()
  refund_request(ARGV[6])
  redis.call('ZREM', queue, ARGV[7])
  return reply('read')
end

-- 6 slot, 7 characters that were spoken.
function operations.end_slot()
  local was_there = redis.call('ZREM', slots, ARGV[6]) == 1
  spend(ARGV[7] - (was_there and characters_of(ARGV[6]) or 0))
  expire_count(redis.call('ZCARD', slots) > 0 and busy_ms or idle_ms)
  return reply('read')
end

-- 6 duration of the leases, 7... running slots: extends their leases, or adds them again.
function operations.renew_slots()
  end_lapsed()
  for i = 7, #ARGV do
    if redis.call('ZADD', slots, whole(now + ARGV[6]), ARGV[i]) == 1 then spend(characters_of(ARGV[i])) end
  end
  redis.call('PEXPIRE', slots, expire_ms)
  expire_count(busy_ms)
  return reply('read')
end

-- 6... slots that have ended while Redis was away: the ledger must be read again.
function operations.drop_slots()
  for i = 6, #ARGV do redis.call('ZREM', slots, ARGV[i]) end
  redis.call('DEL', month)
  return reply('read')
end

function operations.running()
  end_lapsed()
  return { 'read', now, redis.call('ZCARD', slots) }
end

return operations[operation]()

-- Every decision about the limits of one owner's keys: each in one go, and what is refused is charged nowhere. All that
-- is kept lies under one hash tag, so in one slot of a cluster. Times are the server's, in whole microseconds.
--
--     KEYS  1  {owner}:requests       when all requests will be there again, as in gcra.ts
--           2  {owner}:places         sorted set: "id:month:characters" of what runs -> when its lease ends
--           3  {owner}:waiting        sorted set: a replica in which somebody waits for a place -> since when
--           4  {owner}:month:2026-11  characters: what the ledger had when it was read, what runs, what has ended since
--           5  {owner}:ended:key_...  there where the key was revoked; only given with a request
--
--     ARGV  1 operation  2 now, in tests  3 month  4 its beginning  5 its end  6... the operation's own
--
--     answer: outcome, now, when all requests will be there again, characters of the month (nil where not known)
--
-- Places of a replica that has died are free when their leases end, and what they had taken of the month comes back. The
-- count of a month that nobody speaks in is forgotten soon: the next to ask reads the ledger again and brings what it
-- says. So nothing that goes wrong between the two goes wrong for long.
local requests, places, waiting, month, ended = unpack(KEYS)
local operation = ARGV[1]
local keep_ms = 120000 -- twice what the slowest burst takes to come back
local busy_ms, idle_ms = 60000, 5000 -- how long the count of a month is kept
local line_us = 300000 -- somewhat longer than anybody waits
local reading_us = 2000000 -- within which what was read of the ledger must be brought

local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local is_month = now >= tonumber(ARGV[4]) and now < tonumber(ARGV[5])

local function whole(number) return string.format('%.0f', number) end
local function known() return tonumber(redis.call('GET', month)) end

local full -- read once
local function full_at()
  full = full or math.max(tonumber(redis.call('GET', requests)) or now, now)
  return full
end
local function set_full_at(time)
  full = math.max(time, now)
  redis.call('SET', requests, whole(time), 'PX', keep_ms)
end

local function answer(outcome) return { outcome, now, full_at(), is_month and redis.call('GET', month) } end

local function keep_count(ms) redis.call('PEXPIRE', month, ms) end

local function spend(characters)
  if known() then redis.call('INCRBY', month, whole(characters)) end
end

local function characters_of(place)
  local of_month, characters = string.match(place, ':([%d-]+):(%d+)$')
  return of_month == ARGV[3] and tonumber(characters) or 0
end

local function end_lapsed()
  for _, place in ipairs(redis.call('ZRANGEBYSCORE', places, '-inf', whole(now))) do
    redis.call('ZREM', places, place)
    spend(-characters_of(place))
  end
end

local function give_request_back(interval) set_full_at(full_at() - interval) end

local operations = {}

-- 6 interval, 7 capacity: "taken", or "refused", or "ended" where the key was revoked.
function operations.request()
  if ended and redis.call('EXISTS', ended) == 1 then return { 'ended', now } end
  local filled = full_at() + ARGV[6]
  if filled - now > tonumber(ARGV[7]) then return answer('refused') end
  set_full_at(filled)
  return answer('taken')
end

function operations.look() return answer('seen') end

-- 6 characters that the ledger has, 7 when it was asked: "seen"; "late" where that is long ago, or another month's.
function operations.bring()
  if not is_month or now - tonumber(ARGV[7]) > reading_us then return { 'late', now } end
  if not known() then
    local spent = tonumber(ARGV[6])
    for _, place in ipairs(redis.call('ZRANGE', places, 0, -1)) do spent = spent + characters_of(place) end
    redis.call('SET', month, whole(spent), 'PX', idle_ms)
  end
  return answer('seen')
end

-- 6 interval of requests, 7 characters in a month or nothing, 8 place, 9 places at once, 10 until its lease ends,
-- 11 replica: "taken"; "characters" where the month has too few; "full" where there is no place, or others wait for it;
-- "unread" where the ledger must be asked; "late" where it is another month.
function operations.speak()
  if not is_month then return { 'late', now } end
  end_lapsed()
  local most, place, replica, spent = tonumber(ARGV[7]), ARGV[8], ARGV[11], known()
  if most and not spent then return { 'unread', now } end
  if most and spent + characters_of(place) > most then
    give_request_back(ARGV[6])
    return answer('characters')
  end
  redis.call('ZREMRANGEBYSCORE', waiting, '-inf', whole(now - line_us))
  local free = ARGV[9] - redis.call('ZCARD', places)
  local ahead = redis.call('ZRANK', waiting, replica) or redis.call('ZCARD', waiting)
  if ahead >= free then
    redis.call('ZADD', waiting, 'NX', whole(now), replica)
    redis.call('PEXPIRE', waiting, keep_ms)
    return { 'full', now }
  end
  redis.call('ZREM', waiting, replica)
  redis.call('ZADD', places, whole(now + ARGV[10]), place)
  redis.call('PEXPIRE', places, keep_ms)
  spend(characters_of(place))
  keep_count(busy_ms)
  return answer('taken')
end

-- 6 interval, 7 replica or nothing: who waited for a place goes without, and gets the request back.
function operations.leave()
  give_request_back(ARGV[6])
  redis.call('ZREM', waiting, ARGV[7])
  return answer('seen')
end

-- 6 place, 7 characters that were spoken.
operations['end'] = function()
  local was_there = redis.call('ZREM', places, ARGV[6]) == 1
  spend(ARGV[7] - (was_there and characters_of(ARGV[6]) or 0))
  keep_count(redis.call('ZCARD', places) > 0 and busy_ms or idle_ms)
  return answer('seen')
end

-- 6 until the leases end, 7... places of what runs: as they were, or again.
function operations.renew()
  end_lapsed()
  for i = 7, #ARGV do
    if redis.call('ZADD', places, whole(now + ARGV[6]), ARGV[i]) == 1 then spend(characters_of(ARGV[i])) end
  end
  redis.call('PEXPIRE', places, keep_ms)
  keep_count(busy_ms)
  return answer('seen')
end

-- 6... places of what has ended, nobody knows how: the count of the month is to be read again.
function operations.forget()
  for i = 6, #ARGV do redis.call('ZREM', places, ARGV[i]) end
  redis.call('DEL', month)
  return answer('seen')
end

function operations.running()
  end_lapsed()
  return { 'seen', now, redis.call('ZCARD', places) }
end

return operations[operation]()

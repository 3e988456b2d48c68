-- Translation of sliding-log.ts. The state is a Redis list of entries (time, cost, sum), oldest first. `sum` is the total of
-- units spent up to and including the entry, modulo 2^53, so the cost of a range of entries is the difference of two sums, and
-- searches are binary. The cost of a range is below 2^53, so the difference is exact.
-- Entries are read when they are needed. Changes stay in memory until `save` writes them. A `peek` never saves.
-- Holds are an element before the oldest entry.

local function defineSlidingLog()
  local slidingLog = {}
  local EXPIRES_AT = 1
  local ENTRY = '<ddd'
  -- Number of entries that one command reads or writes at most, where many are needed.
  local MOST_AT_ONCE = 500

  -- Return (a + b) and (a - b) modulo 2^53, in steps that doubles hold without loss.
  local function plus(a, b)
    if a > MAX - b then return a - (MAX - b) - 1 end
    return a + b
  end

  local function minus(a, b)
    if a < b then return a - b + MAX + 1 end
    return a - b
  end

  local function countOf(log)
    return log.last - log.first + 1 + #log.added
  end

  local function noteRead(log, place, value)
    if #value ~= 24 then refuseValue() end
    local time, cost, sum = struct.unpack(ENTRY, value)
    if not (isWhole(time) and isWhole(cost) and isWhole(sum)) or cost == 0 then refuseValue() end
    log.read[place] = { time = time, cost = cost, sum = sum }
  end

  -- `held` is the element with the holds.
  function slidingLog.load(rule, key)
    local length = redis.call('LLEN', key)
    local log = { 0, key = key, length = length, first = 0, last = length - 1, read = {}, changed = {}, added = {}, holds = false }
    if length > 0 then
      local oldest = redis.call('LINDEX', key, 0)
      if mayHaveHolds(oldest) then
        local holds, state = splitHolds(oldest)
        if state then refuseValue() end
        log.holds, log.held, log.first = holds, oldest, 1
      else
        noteRead(log, 0, oldest)
      end
    end
    return log
  end

  local function copyEntries(entries)
    local copy = {}
    for i, entry in pairs(entries) do copy[i] = { time = entry.time, cost = entry.cost, sum = entry.sum } end
    return copy
  end

  function slidingLog.copy(log)
    local copy = { log[EXPIRES_AT], key = log.key, length = log.length, first = log.first, last = log.last, changed = {} }
    copy.read, copy.added = copyEntries(log.read), copyEntries(log.added)
    return copy
  end

  -- Returns entry `i`. The oldest is entry 0.
  local function entryOf(log, i)
    local place = log.first + i
    if place > log.last then return log.added[place - log.last] end
    if not log.read[place] then noteRead(log, place, redis.call('LINDEX', log.key, place)) end
    return log.read[place]
  end

  -- Reads entry `i` and all newer entries with few commands. Entries that were read before may have been changed, and stay.
  local function readFrom(log, i)
    for place = log.first + i, log.last, MOST_AT_ONCE do
      local values = redis.call('LRANGE', log.key, place, math.min(place + MOST_AT_ONCE - 1, log.last))
      for j, value in ipairs(values) do
        if not log.read[place + j - 1] then noteRead(log, place + j - 1, value) end
      end
    end
  end

  local function newest(log)
    return entryOf(log, countOf(log) - 1)
  end

  -- Returns the cost of entry `i` and all older entries.
  local function costUpTo(log, i)
    local oldest = entryOf(log, 0)
    local entry = entryOf(log, i)
    local cost = minus(entry.sum, oldest.sum) + oldest.cost
    -- Possible only if another program has written the entry.
    if cost > MAX or cost < entry.cost then refuseValue() end
    return cost
  end

  local function totalOf(log)
    local count = countOf(log)
    return count == 0 and 0 or costUpTo(log, count - 1)
  end

  -- Returns the first entry for which `holds` returns true; the number of entries if there is none.
  -- Invariant: `holds` is true for all entries after that one. The search begins at the oldest entry and doubles its steps,
  -- because the result is mostly near that entry. Then the search is binary.
  local function firstThat(log, holds)
    local count = countOf(log)
    local low, step = 0, 1
    while low + step <= count and not holds(low + step - 1) do
      low = low + step
      step = 2 * step
    end
    local high = math.min(low + step - 1, count)
    while low < high do
      local middle = floorDiv(low + high, 2)
      if holds(middle) then high = middle else low = middle + 1 end
    end
    return low
  end

  local function firstAfter(log, time)
    return firstThat(log, function(i) return entryOf(log, i).time > time end)
  end

  local function firstCostUpTo(log, cost)
    return firstThat(log, function(i) return costUpTo(log, i) >= cost end)
  end

  local function dropOldest(log, count)
    local listed = math.min(count, log.last - log.first + 1)
    log.first = log.first + listed
    for _ = 1, count - listed do table.remove(log.added, 1) end
  end

  local function dropNewest(log, count)
    local added = math.min(count, #log.added)
    for _ = 1, added do table.remove(log.added) end
    log.last = log.last - (count - added)
  end

  -- Adds `more` to the cost of entry `i`, the oldest or the newest. With `isNewest`, also to its sum.
  local function change(log, i, more, isNewest)
    local entry = entryOf(log, i)
    entry.cost = entry.cost + more
    if isNewest then entry.sum = more < 0 and minus(entry.sum, -more) or plus(entry.sum, more) end
    if log.first + i <= log.last then log.changed[log.first + i] = true end
  end

  local function append(log, nowMs, cost)
    local count = countOf(log)
    if count > 0 and newest(log).time == nowMs then
      change(log, count - 1, cost, true)
    else
      local sum = count == 0 and 0 or newest(log).sum
      log.added[#log.added + 1] = { time = nowMs, cost = cost, sum = plus(sum, cost) }
    end
  end

  local function touch(rule, log)
    log[EXPIRES_AT] = countOf(log) == 0 and 0 or newest(log).time + rule.windowMs
  end

  function slidingLog.settle(rule, log, nowMs)
    dropOldest(log, firstAfter(log, nowMs - rule.windowMs))
    local count = countOf(log)
    if count > 0 and newest(log).time > nowMs then
      local kept = firstAfter(log, nowMs)
      local later = totalOf(log) - (kept == 0 and 0 or costUpTo(log, kept - 1))
      dropNewest(log, count - kept)
      append(log, nowMs, later)
    end
    touch(rule, log)
  end

  function slidingLog.waitMs(rule, log, nowMs, cost)
    if cost > rule.limit then return INFINITY end
    local excess = totalOf(log) - (rule.limit - cost)
    if excess <= 0 then return 0 end
    return entryOf(log, firstCostUpTo(log, excess)).time + rule.windowMs - nowMs
  end

  function slidingLog.spend(rule, log, nowMs, cost)
    local spent = math.min(cost, MAX - totalOf(log))
    if spent == 0 then return end
    local isNew = countOf(log) == 0 or newest(log).time ~= nowMs
    local surplus = countOf(log) + 1 - rule.limit
    if isNew and surplus > 0 then
      local oldest = costUpTo(log, surplus - 1)
      dropOldest(log, surplus)
      if countOf(log) == 0 then
        spent = spent + oldest
      else
        change(log, 0, oldest, false)
      end
    end
    append(log, nowMs, spent)
    touch(rule, log)
  end

  function slidingLog.used(rule, log)
    return totalOf(log)
  end

  function slidingLog.put(rule, log, nowMs, used)
    dropNewest(log, countOf(log))
    if used > 0 then append(log, nowMs, used) end
    touch(rule, log)
  end

  -- Gives units of the entry of `time` back. The entries after it are dropped and appended again, because their sums change.
  local function refundAt(rule, log, time, cost)
    local count = countOf(log)
    local i = firstAfter(log, time - 1)
    if i == count or entryOf(log, i).time ~= time then return end
    local newer = {}
    readFrom(log, i + 1)
    for j = i + 1, count - 1 do newer[j - i] = entryOf(log, j) end
    local left = entryOf(log, i).cost - cost
    if left > 0 then
      dropNewest(log, count - 1 - i)
      change(log, i, -cost, true)
    else
      dropNewest(log, count - i)
    end
    for j = 1, #newer do append(log, newer[j].time, newer[j].cost) end
    touch(rule, log)
  end

  function slidingLog.refund(rule, log, nowMs, cost, endsAt)
    if endsAt then return refundAt(rule, log, math.min(endsAt - rule.windowMs, nowMs), cost) end
    local left = totalOf(log) - cost
    if left <= 0 then
      dropNewest(log, countOf(log))
    else
      local last = firstCostUpTo(log, left)
      dropNewest(log, countOf(log) - 1 - last)
      local over = totalOf(log) - left
      if over > 0 then change(log, last, -over, true) end
    end
    touch(rule, log)
  end

  function slidingLog.save(rule, key, log, ttlMs)
    local holds = log.holds
    if countOf(log) == 0 and not holds then
      if log.length > 0 then redis.call('DEL', key) end
      return
    end
    local held = log.held
    for place in pairs(log.changed) do
      if place >= log.first and place <= log.last then
        local entry = log.read[place]
        redis.call('LSET', key, place, struct.pack(ENTRY, entry.time, entry.cost, entry.sum))
      end
    end
    if log.first > log.last then
      if log.length > 0 then redis.call('DEL', key) end
      held = nil
    elseif log.first > (held and 1 or 0) or log.last < log.length - 1 then
      redis.call('LTRIM', key, log.first, log.last)
      held = nil
    end
    for from = 1, #log.added, MOST_AT_ONCE do
      local values = {}
      for i = from, math.min(from + MOST_AT_ONCE - 1, #log.added) do
        local entry = log.added[i]
        values[#values + 1] = struct.pack(ENTRY, entry.time, entry.cost, entry.sum)
      end
      redis.call('RPUSH', key, unpack(values))
    end
    local value = holds and joinHolds('', holds)
    if value and not held then
      redis.call('LPUSH', key, value)
    elseif value and value ~= held then
      redis.call('LSET', key, 0, value)
    elseif held and not value then
      redis.call('LPOP', key)
    end
    redis.call('PEXPIRE', key, ttlMs)
  end

  return slidingLog
end

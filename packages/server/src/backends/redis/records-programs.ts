// The Redis keys of the records, and the Lua programs that use them.

const NAMES = ['policies', 'keys', 'changes', 'marks', 'origin', 'lost', 'restoring', 'revoked']

/** KEYS[1] to KEYS[8] of every program. All are in one slot of a cluster. */
export const RECORD_KEYS: readonly string[] = NAMES.map((name) => `sluice:{records}:${name}`)

/** KEYS[9] of a commit: the stream of the audit log. */
export const CHANGES_LOG = 'sluice:{records}:audit'

/**
 * Reads the state of the records. `last` is the number of the last change: the first part of the stream's last id, or 0 if there is no
 * change. `mark` is the mark of the last commit. `origin` is a random text of the first commit. `lost` is the notice of an instance that
 * knows of lost changes, or empty. The last change contains the number of policies and keys after it; `isShort` is 1 if there are
 * fewer now. Changes of the first versions lack these numbers.
 */
const STATE = `
local last = 0
local newest = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)
local isShort, policies, keys = 0, redis.call('HLEN', KEYS[1]), redis.call('HLEN', KEYS[2])
if newest[1] then
  last = tonumber(string.match(newest[1][1], '^%d+'))
  local fields = newest[1][2]
  if policies < (tonumber(fields[8]) or 0) or keys < (tonumber(fields[10]) or 0) then isShort = 1 end
end
local mark = redis.call('ZREVRANGE', KEYS[4], 0, 0)[1] or ''
local origin = redis.call('GET', KEYS[5]) or ''
local lost = redis.call('GET', KEYS[6]) or ''
`

/**
 * Commits changes. ARGV: last change and mark seen, the new mark, an origin, numbers of changes and marks to keep, expected numbers of
 * policies and keys, the entry of the audit log ('' for none), the number of entries to keep and their time in ms, then kind ('1' policy,
 * '2' key), id and value ('' to delete) of each change. Returns { last change, origin }; { -1 } if there are unseen changes or records
 * are missing; { -2 } if changes were lost. The entry comes first: if Redis has no memory for it, nothing is written.
 */
export const COMMIT = `${STATE}
if lost ~= '' then return { -2, lost } end
if last ~= tonumber(ARGV[1]) or mark ~= ARGV[2] then return { -1, '' } end
if policies < tonumber(ARGV[7]) or keys < tonumber(ARGV[8]) then return { -1, '' } end
if ARGV[9] ~= '' then
  local entry = redis.call('XADD', KEYS[9], 'MAXLEN', '~', ARGV[10], '*', 'entry', ARGV[9])
  redis.pcall('XTRIM', KEYS[9], 'MINID', '~', string.format('%.0f-0', math.max(0, tonumber(string.match(entry, '^%d+')) - tonumber(ARGV[11]))))
end
for i = 12, #ARGV, 3 do
  local kind, id, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if value == '' then redis.call('HDEL', KEYS[tonumber(kind)], id) else redis.call('HSET', KEYS[tonumber(kind)], id, value) end
  last = last + 1
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], string.format('%.0f-0', last), 'kind', kind, 'id', id, 'value', value, 'policies', redis.call('HLEN', KEYS[1]), 'keys', redis.call('HLEN', KEYS[2]))
end
redis.call('ZADD', KEYS[4], last, ARGV[3])
redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -tonumber(ARGV[6]) - 1)
if origin == '' then
  origin = ARGV[4]
  redis.call('SET', KEYS[5], origin)
end
return { last, origin }`

/** Returns the last change, the mark and the origin, and all marks with their change: the start of reading all records. */
export const START = `${STATE}
return { last, mark, origin, redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES') }`

/** Returns the last change, the mark, and all changes in the stream. */
export const CHANGES = `${STATE}
return { last, mark, redis.call('XRANGE', KEYS[3], '-', '+') }`

/**
 * Reads new changes. ARGV: last change, mark and origin seen. Returns the state; 1 if Redis has everything that was seen, else 0;
 * changes and marks since then; the numbers of policies and keys; `isShort`. A mark too old to be kept counts as found if the origin is
 * the same.
 */
export const FOLLOW = `${STATE}
local seen, isThere = tonumber(ARGV[1]), 1
if last < seen then
  isThere = 0
elseif ARGV[2] ~= '' and not redis.call('ZSCORE', KEYS[4], ARGV[2]) then
  local oldest = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2]
  if not oldest or tonumber(oldest) <= seen or origin ~= ARGV[3] then isThere = 0 end
end
local changes, marks = {}, {}
if isThere == 1 and last > seen then
  changes = redis.call('XRANGE', KEYS[3], '(' .. ARGV[1] .. '-0', '+')
  marks = redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. ARGV[1], '+inf', 'WITHSCORES')
end
return { last, mark, origin, lost, isThere, changes, marks, policies, keys, isShort }`

/**
 * Writes the notice of lost changes. ARGV: the notice, which begins with the last known change, and its lifetime in ms. The notice with
 * the highest change wins. Returns the current notice.
 */
export const WRITE_NOTICE = `
local notice = redis.call('GET', KEYS[6])
if notice and tonumber(string.match(notice, '^%d+') or '0') > tonumber(string.match(ARGV[1], '^%d+')) then return notice end
redis.call('SET', KEYS[6], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`

/** Removes the notice. ARGV: the notice. */
export const REMOVE_NOTICE = `
if redis.call('GET', KEYS[6]) == ARGV[1] then redis.call('DEL', KEYS[6]) end
return 1`

/**
 * Adds revoked keys to the shared list, so that instances with older records refuse them too. ARGV: lifetime in ms, maximum size, then
 * id and time of each key.
 */
export const NAME_REVOKED = `
for i = 3, #ARGV, 2 do
  if redis.call('HLEN', KEYS[8]) < tonumber(ARGV[2]) then redis.call('HSETNX', KEYS[8], ARGV[i], ARGV[i + 1]) end
end
redis.call('PEXPIRE', KEYS[8], ARGV[1])
return 1`

/** Returns id and time of each key in the shared list. */
export const NAMED_REVOKED = `return redis.call('HGETALL', KEYS[8])`

/**
 * Claims the restore for one instance. ARGV: the claim, and its lifetime in ms. Returns 1, or 0 if another instance has the claim. The
 * claim includes the number of chunks that were written under it. A Redis that was emptied or returned to an earlier state meanwhile has
 * another number, or none.
 */
export const CLAIM = `
if redis.call('SET', KEYS[7], ARGV[1] .. ' 0', 'NX', 'PX', ARGV[2]) then return 1 end
return 0`

/** Releases a claim. ARGV: the claim. */
export const UNCLAIM = `
local claim = redis.call('GET', KEYS[7])
if claim and string.match(claim, '^%S+') == ARGV[1] then redis.call('DEL', KEYS[7]) end
return 1`

/**
 * Writes a chunk of a restore. ARGV: the claim, its new lifetime in ms, the number of chunks before this one, then kind, id and value of
 * each record. Returns 1, or 0 if the claim has expired or a chunk is missing.
 */
export const WRITE = `
if redis.call('GET', KEYS[7]) ~= ARGV[1] .. ' ' .. ARGV[3] then return 0 end
redis.call('SET', KEYS[7], ARGV[1] .. ' ' .. string.format('%.0f', tonumber(ARGV[3]) + 1), 'PX', ARGV[2])
for i = 4, #ARGV, 3 do
  local table, id, value = KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2]
  if value == '' then redis.call('HDEL', table, id) else redis.call('HSET', table, id, value) end
end
return 1`

/**
 * Ends a restore, if nothing has changed since it was planned and all its chunks are there. ARGV: the claim, the last change and mark of
 * the plan, the new last change and mark, origin, number of marks to keep, number of written chunks, expected numbers of policies and
 * keys, then each included mark with its change. The new last change skips numbers, so that every instance reads all records.
 * Returns 1, or 0 if it was too late.
 */
export const FINISH = `${STATE}
if redis.call('GET', KEYS[7]) ~= ARGV[1] .. ' ' .. ARGV[8] then return 0 end
redis.call('DEL', KEYS[7])
if last ~= tonumber(ARGV[2]) or mark ~= ARGV[3] then return 0 end
if policies ~= tonumber(ARGV[9]) or keys ~= tonumber(ARGV[10]) then return 0 end
redis.call('XADD', KEYS[3], ARGV[4] .. '-0', 'kind', '0', 'id', '', 'value', '', 'policies', policies, 'keys', keys)
for i = 11, #ARGV, 2 do redis.call('ZADD', KEYS[4], ARGV[i + 1], ARGV[i]) end
redis.call('ZADD', KEYS[4], ARGV[4], ARGV[5])
redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -tonumber(ARGV[7]) - 1)
redis.call('SET', KEYS[5], ARGV[6])
redis.call('DEL', KEYS[6], KEYS[8])
return 1`

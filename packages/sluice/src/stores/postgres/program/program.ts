// Made by scripts/build-postgres-program.mjs from the rule catalogue and the .plpgsql files. Change those, then run it.

/** The numbers of each algorithm and its translation. Both begin with 1. */
export const ALGORITHMS: Readonly<Record<string, { readonly translation: number; readonly algorithm: number }>> = {
  'fixed-window': { translation: 1, algorithm: 1 },
  'sliding-log': { translation: 2, algorithm: 1 },
  'sliding-window': { translation: 3, algorithm: 1 },
  meter: { translation: 4, algorithm: 1 },
  'stepped-meter': { translation: 4, algorithm: 2 },
  'wide-meter': { translation: 4, algorithm: 3 },
  'wide-stepped-meter': { translation: 4, algorithm: 4 },
  'calendar-window': { translation: 5, algorithm: 1 },
  concurrency: { translation: 6, algorithm: 1 },
}

/** The names of the parameters of each translation, in the order in which its function reads them. */
export const PARAMETERS: readonly (readonly string[])[] = [
  ['limit', 'windowMs', 'isOnClock', 'elastic', 'countsDenied'],
  ['limit', 'windowMs'],
  ['limit', 'windowMs', 'isOnClock', 'roundsDown', 'mostUsed'],
  ['limit', 'unitsPerToken', 'drainPerTick', 'tickMs', 'mostUsed', 'rate'],
  ['limit', 'startOfLast', 'startOfThis', 'startOfNext', 'endOfNext'],
  ['limit'],
]

/** The type of a row. */
export const STATE = `CREATE TYPE @state AS (name text, value float8[], ends_at bigint)`

/** The function of each translation, by name. Names of functions, of the type and of the table begin with @. */
export const RULE_FUNCTIONS: Readonly<Record<string, string>> = {
  fixed_window: `CREATE FUNCTION @fixed_window(action int, value float8[], nowMs float8, cost float8, endsAt float8, rules float8[], ruleAt int)
RETURNS float8[] LANGUAGE plpgsql IMMUTABLE AS $sluice$
DECLARE
"limit" CONSTANT float8 := rules[ruleAt + 1];
"windowms" CONSTANT float8 := rules[ruleAt + 2];
"isonclock" CONSTANT boolean := rules[ruleAt + 3] = 1;
"elastic" CONSTANT boolean := rules[ruleAt + 4] = 1;
"countsdenied" CONSTANT boolean := rules[ruleAt + 5] = 1;
waitMs float8 := 0;
units float8;
expiresAt float8 := 0;
used float8 := 0;
BEGIN
IF cardinality(value) > 0 THEN
expiresAt := value[1];
used := value[2];
IF cardinality(value) <> 2 OR (expiresAt BETWEEN 0 AND 9007199254740991::float8 AND expiresAt = floor(expiresAt) AND used BETWEEN 0 AND 9007199254740991::float8 AND used = floor(used)) IS NOT TRUE THEN
RETURN NULL;
END IF;
END IF;
IF nowMs >= expiresAt THEN
expiresAt := 0;
used := 0;
ELSIF expiresAt > nowMs + windowMs THEN
expiresAt := nowMs + windowMs;
END IF;
IF action <= 2 THEN
IF cost > "limit" THEN
waitMs := 'Infinity'::float8;
ELSIF used <= "limit" - cost THEN
waitMs := 0;
ELSE
waitMs := expiresAt - nowMs;
END IF;
IF action = 2 OR (action = 1 AND (waitMs = 0 OR rules[ruleAt - 1] = 1)) THEN
IF expiresAt = 0 OR elastic THEN
IF isOnClock THEN
expiresAt := floor(nowMs / windowMs) * windowMs + windowMs;
ELSE
expiresAt := nowMs + windowMs;
END IF;
END IF;
used := least(used + cost, 9007199254740991::float8);
IF action = 2 OR waitMs > 0 THEN
IF cost > "limit" THEN
waitMs := 'Infinity'::float8;
ELSIF used <= "limit" - cost THEN
waitMs := 0;
ELSE
waitMs := expiresAt - nowMs;
END IF;
END IF;
END IF;
ELSIF action = 3 THEN
IF expiresAt = 0 OR NOT isOnClock THEN
IF isOnClock THEN
expiresAt := floor(nowMs / windowMs) * windowMs + windowMs;
ELSE
expiresAt := nowMs + windowMs;
END IF;
END IF;
used := cost;
ELSE
IF endsAt IS NULL OR (elastic AND nowMs < endsAt) OR (NOT elastic AND expiresAt <= endsAt) THEN
used := greatest(0, used - cost);
END IF;
END IF;
units := used;
RETURN ARRAY[waitMs, units] || (
ARRAY[expiresAt, used]
);
END
$sluice$`,
  sliding_log: `CREATE FUNCTION @sliding_log(action int, value float8[], nowMs float8, cost float8, endsAt float8, rules float8[], ruleAt int)
RETURNS float8[] LANGUAGE plpgsql IMMUTABLE AS $sluice$
DECLARE
"limit" CONSTANT float8 := rules[ruleAt + 1];
"windowms" CONSTANT float8 := rules[ruleAt + 2];
waitMs float8 := 0;
units float8;
expiresAt float8 := 0;
base float8 := 0;
count int := 0;
entries float8[] := '{}';
head int;
slots int;
timeMs float8;
low int;
high int;
middle int;
sum float8;
spent float8;
joined int;
kept float8;
back float8;
BEGIN
IF cardinality(value) > 0 THEN
IF cardinality(value) < 5 OR (0 > ANY (value) OR 9007199254740991::float8 < ANY (value)) IS NOT FALSE THEN
RETURN NULL;
END IF;
IF value <> value::bigint[]::float8[] OR value[5] * 2 > cardinality(value) - 5 OR value[4] > value[5] OR value[4] < 1
OR value[3] + value[4] > 9007199254740991::float8
THEN
RETURN NULL;
END IF;
expiresAt := value[1];
base := value[2];
count := value[4];
slots := value[5];
head := value[3] - floor(value[3] / slots) * slots;
IF head + count <= slots THEN
entries := value[6 + 2 * head : 5 + 2 * (head + count)];
ELSE
entries := value[6 + 2 * head : 5 + 2 * slots] || value[6 : 5 + 2 * (head + count - slots)];
END IF;
IF expiresAt <= entries[2 * count - 1] THEN
RETURN NULL;
END IF;
END IF;
IF count > 0 THEN
timeMs := nowMs - windowMs;
IF count = 0 OR entries[1] > timeMs THEN
low := 0;
ELSIF entries[2 * count - 1] <= timeMs THEN
low := count;
ELSE
low := 1;
high := count - 1;
WHILE low < high LOOP
middle := (low + high) / 2;
IF entries[2 * middle + 1] <= timeMs THEN
low := middle + 1;
ELSE
high := middle;
END IF;
END LOOP;
END IF;
IF low > 0 THEN
base := entries[2 * low];
entries := entries[2 * low + 1 : 2 * count];
count := count - low;
END IF;
timeMs := nowMs;
IF count = 0 OR entries[1] > timeMs THEN
low := 0;
ELSIF entries[2 * count - 1] <= timeMs THEN
low := count;
ELSE
low := 1;
high := count - 1;
WHILE low < high LOOP
middle := (low + high) / 2;
IF entries[2 * middle + 1] <= timeMs THEN
low := middle + 1;
ELSE
high := middle;
END IF;
END LOOP;
END IF;
IF low < count THEN
sum := entries[2 * count];
entries := entries[1 : 2 * low];
count := low;
IF count = 0 OR entries[2 * count - 1] <> nowMs THEN
count := count + 1;
entries[2 * count - 1] := nowMs;
END IF;
entries[2 * count] := sum;
END IF;
expiresAt := CASE WHEN count = 0 THEN 0 ELSE entries[2 * count - 1] + windowMs END;
END IF;
IF action <= 2 THEN
IF cost > "limit" THEN
waitMs := 'Infinity'::float8;
ELSE
sum := CASE WHEN count = 0 THEN base ELSE entries[2 * count] END;
units := CASE WHEN sum >= base THEN sum - base ELSE sum - base + 9007199254740992::float8 END;
kept := units - ("limit" - cost);
IF kept <= 0 THEN
waitMs := 0;
ELSE
low := 0;
high := count - 1;
WHILE low < high LOOP
middle := (low + high) / 2;
sum := entries[2 * middle + 2];
IF (CASE WHEN sum >= base THEN sum - base ELSE sum - base + 9007199254740992::float8 END) < kept THEN
low := middle + 1;
ELSE
high := middle;
END IF;
END LOOP;
waitMs := entries[2 * low + 1] + windowMs - nowMs;
END IF;
END IF;
IF action = 2 OR (action = 1 AND (waitMs = 0 OR rules[ruleAt - 1] = 1)) THEN
sum := CASE WHEN count = 0 THEN base ELSE entries[2 * count] END;
units := CASE WHEN sum >= base THEN sum - base ELSE sum - base + 9007199254740992::float8 END;
spent := least(cost, 9007199254740991::float8 - units);
IF spent > 0 THEN
IF count + 1 > "limit" AND entries[2 * count - 1] <> nowMs THEN
joined := count + 1 - "limit";
entries := entries[2 * joined + 1 : 2 * count];
count := count - joined;
END IF;
sum := CASE WHEN sum < 9007199254740992::float8 - spent THEN sum + spent ELSE sum - (9007199254740992::float8 - spent) END;
IF count = 0 OR entries[2 * count - 1] <> nowMs THEN
count := count + 1;
entries[2 * count - 1] := nowMs;
END IF;
entries[2 * count] := sum;
expiresAt := CASE WHEN count = 0 THEN 0 ELSE entries[2 * count - 1] + windowMs END;
END IF;
IF action = 2 OR waitMs > 0 THEN
IF cost > "limit" THEN
waitMs := 'Infinity'::float8;
ELSE
sum := CASE WHEN count = 0 THEN base ELSE entries[2 * count] END;
units := CASE WHEN sum >= base THEN sum - base ELSE sum - base + 9007199254740992::float8 END;
kept := units - ("limit" - cost);
IF kept <= 0 THEN
waitMs := 0;
ELSE
low := 0;
high := count - 1;
WHILE low < high LOOP
middle := (low + high) / 2;
sum := entries[2 * middle + 2];
IF (CASE WHEN sum >= base THEN sum - base ELSE sum - base + 9007199254740992::float8 END) < kept THEN
low := middle + 1;
ELSE
high := middle;
END IF;
END LOOP;
waitMs := entries[2 * low + 1] + windowMs - nowMs;
END IF;
END IF;
END IF;
END IF;
ELSIF action = 3 THEN
base := 0;
count := 0;
entries := '{}';
IF cost > 0 THEN
sum := cost;
IF count = 0 OR entries[2 * count - 1] <> nowMs THEN
count := count + 1;
entries[2 * count - 1] := nowMs;
END IF;
entries[2 * count] := sum;
END IF;
expiresAt := CASE WHEN count = 0 THEN 0 ELSE entries[2 * count - 1] + windowMs END;
ELSE
IF endsAt IS NULL THEN
sum := CASE WHEN count = 0 THEN base ELSE entries[2 * count] END;
units := CASE WHEN sum >= base THEN sum - base ELSE sum - base + 9007199254740992::float8 END;
kept := units - cost;
IF kept <= 0 THEN
count := 0;
entries := '{}';
ELSE
low := 0;
high := count - 1;
WHILE low < high LOOP
middle := (low + high) / 2;
sum := entries[2 * middle + 2];
IF (CASE WHEN sum >= base THEN sum - base ELSE sum - base + 9007199254740992::float8 END) < kept THEN
low := middle + 1;
ELSE
high := middle;
END IF;
END LOOP;
count := low + 1;
entries := entries[1 : 2 * count];
entries[2 * count] := CASE WHEN base < 9007199254740992::float8 - kept THEN base + kept ELSE base - (9007199254740992::float8 - kept) END;
END IF;
expiresAt := CASE WHEN count = 0 THEN 0 ELSE entries[2 * count - 1] + windowMs END;
ELSE
timeMs := least(endsAt - windowMs, nowMs);
IF count = 0 OR entries[1] > timeMs THEN
low := 0;
ELSIF entries[2 * count - 1] <= timeMs THEN
low := count;
ELSE
low := 1;
high := count - 1;
WHILE low < high LOOP
middle := (low + high) / 2;
IF entries[2 * middle + 1] <= timeMs THEN
low := middle + 1;
ELSE
high := middle;
END IF;
END LOOP;
END IF;
IF low > 0 AND entries[2 * low - 1] = timeMs THEN
sum := CASE WHEN low = 1 THEN base ELSE entries[2 * low - 2] END;
spent := entries[2 * low] - sum;
IF spent < 0 THEN
spent := spent + 9007199254740992::float8;
END IF;
back := least(cost, spent);
FOR middle IN low .. count LOOP
entries[2 * middle] := entries[2 * middle] - back + CASE WHEN entries[2 * middle] >= back THEN 0 ELSE 9007199254740992::float8 END;
END LOOP;
IF back = spent THEN
entries := entries[1 : 2 * low - 2] || entries[2 * low + 1 : 2 * count];
count := count - 1;
END IF;
expiresAt := CASE WHEN count = 0 THEN 0 ELSE entries[2 * count - 1] + windowMs END;
END IF;
END IF;
END IF;
sum := CASE WHEN count = 0 THEN base ELSE entries[2 * count] END;
units := CASE WHEN sum >= base THEN sum - base ELSE sum - base + 9007199254740992::float8 END;
RETURN ARRAY[waitMs, units] || (
ARRAY[expiresAt, base, 0, count, count] || entries
);
END
$sluice$`,
  sliding_window: `CREATE FUNCTION @sliding_window(action int, value float8[], nowMs float8, cost float8, endsAt float8, rules float8[], ruleAt int)
RETURNS float8[] LANGUAGE plpgsql IMMUTABLE AS $sluice$
DECLARE
"limit" CONSTANT float8 := rules[ruleAt + 1];
"windowms" CONSTANT float8 := rules[ruleAt + 2];
"isonclock" CONSTANT boolean := rules[ruleAt + 3] = 1;
"roundsdown" CONSTANT boolean := rules[ruleAt + 4] = 1;
"mostused" CONSTANT float8 := rules[ruleAt + 5];
waitMs float8 := 0;
units float8;
expiresAt float8 := 0;
start float8 := 0;
current float8 := 0;
previous float8 := 0;
writtenWindowMs float8;
elapsed float8;
passed float8;
carried float8;
"left" float8;
inView float8;
chargedStart float8;
fromCurrent float8;
fromPrevious float8;
BEGIN
IF cardinality(value) > 0 THEN
expiresAt := value[1];
start := value[2];
current := value[3];
previous := value[4];
IF cardinality(value) <> 4 OR (expiresAt BETWEEN 0 AND 9007199254740991::float8 AND expiresAt = floor(expiresAt) AND start BETWEEN 0 AND 9007199254740991::float8 AND start = floor(start) AND current BETWEEN 0 AND 9007199254740991::float8 AND current = floor(current) AND previous BETWEEN 0 AND 9007199254740991::float8 AND previous = floor(previous)) IS NOT TRUE THEN
RETURN NULL;
END IF;
writtenWindowMs := CASE WHEN current > 0 THEN (expiresAt - start) / 2 ELSE expiresAt - start END;
IF NOT (
writtenWindowMs >= 1 AND writtenWindowMs = floor(writtenWindowMs)
AND current * writtenWindowMs <= 9007199254740991::float8 AND previous * writtenWindowMs <= 9007199254740991::float8
) THEN
RETURN NULL;
END IF;
END IF;
IF expiresAt > 0 THEN
passed := floor((nowMs - start) / windowMs);
IF writtenWindowMs <> windowMs THEN
elapsed := greatest(0, nowMs - start);
IF elapsed < writtenWindowMs THEN
carried := current + ceil(previous * (writtenWindowMs - elapsed) / writtenWindowMs);
ELSIF nowMs < expiresAt THEN
carried := ceil(current * (2 * writtenWindowMs - elapsed) / writtenWindowMs);
ELSE
carried := 0;
END IF;
ELSIF passed < 0 AND isOnClock THEN
carried := current + previous;
ELSIF passed < 0 THEN
start := nowMs;
ELSIF passed = 1 THEN
start := start + windowMs;
previous := current;
current := 0;
ELSIF passed > 1 THEN
previous := 0;
current := 0;
END IF;
IF carried IS NOT NULL THEN
start := CASE WHEN isOnClock THEN floor(nowMs / windowMs) * windowMs ELSE nowMs END;
current := least(carried, mostUsed);
previous := 0;
END IF;
IF current > 0 THEN
expiresAt := start + 2 * windowMs;
ELSIF previous > 0 THEN
expiresAt := start + windowMs;
ELSE
expiresAt := 0;
start := 0;
END IF;
END IF;
IF action <= 2 THEN
IF cost > "limit" THEN
waitMs := 'Infinity'::float8;
ELSE
elapsed := CASE WHEN expiresAt = 0 THEN 0 ELSE nowMs - start END;
"left" := "limit" - cost - current;
IF "left" >= 0 THEN
inView := CASE
WHEN previous <= "left" THEN windowMs
WHEN roundsDown THEN ceil(("left" + 1) * windowMs / previous) - 1
ELSE floor("left" * windowMs / previous)
END;
waitMs := greatest(0, windowMs - inView - elapsed);
ELSE
"left" := "limit" - cost;
inView := CASE
WHEN current <= "left" THEN windowMs
WHEN roundsDown THEN ceil(("left" + 1) * windowMs / current) - 1
ELSE floor("left" * windowMs / current)
END;
waitMs := windowMs - elapsed + windowMs - inView;
END IF;
END IF;
IF action = 2 OR (action = 1 AND (waitMs = 0 OR rules[ruleAt - 1] = 1)) THEN
IF expiresAt = 0 THEN
start := CASE WHEN isOnClock THEN floor(nowMs / windowMs) * windowMs ELSE nowMs END;
END IF;
current := least(current + cost, mostUsed);
IF current > 0 THEN
expiresAt := start + 2 * windowMs;
ELSIF previous > 0 THEN
expiresAt := start + windowMs;
ELSE
expiresAt := 0;
start := 0;
END IF;
IF action = 2 OR waitMs > 0 THEN
IF cost > "limit" THEN
waitMs := 'Infinity'::float8;
ELSE
elapsed := CASE WHEN expiresAt = 0 THEN 0 ELSE nowMs - start END;
"left" := "limit" - cost - current;
IF "left" >= 0 THEN
inView := CASE
WHEN previous <= "left" THEN windowMs
WHEN roundsDown THEN ceil(("left" + 1) * windowMs / previous) - 1
ELSE floor("left" * windowMs / previous)
END;
waitMs := greatest(0, windowMs - inView - elapsed);
ELSE
"left" := "limit" - cost;
inView := CASE
WHEN current <= "left" THEN windowMs
WHEN roundsDown THEN ceil(("left" + 1) * windowMs / current) - 1
ELSE floor("left" * windowMs / current)
END;
waitMs := windowMs - elapsed + windowMs - inView;
END IF;
END IF;
END IF;
END IF;
ELSIF action = 3 THEN
start := CASE WHEN isOnClock THEN floor(nowMs / windowMs) * windowMs ELSE nowMs END;
current := cost;
previous := 0;
IF current > 0 THEN
expiresAt := start + 2 * windowMs;
ELSIF previous > 0 THEN
expiresAt := start + windowMs;
ELSE
expiresAt := 0;
start := 0;
END IF;
ELSE
chargedStart := endsAt - 2 * windowMs;
fromCurrent := CASE WHEN endsAt IS NULL OR start <= chargedStart THEN least(cost, current) ELSE 0 END;
fromPrevious := CASE
WHEN endsAt IS NULL OR (start > chargedStart AND start <= chargedStart + windowMs) THEN least(cost - fromCurrent, previous)
ELSE 0
END;
current := current - fromCurrent;
previous := previous - fromPrevious;
IF current > 0 THEN
expiresAt := start + 2 * windowMs;
ELSIF previous > 0 THEN
expiresAt := start + windowMs;
ELSE
expiresAt := 0;
start := 0;
END IF;
END IF;
IF previous = 0 THEN
units := current;
ELSE
inView := previous * (windowMs - (nowMs - start)) / windowMs;
units := current + CASE WHEN roundsDown THEN floor(inView) ELSE ceil(inView) END;
END IF;
RETURN ARRAY[waitMs, units] || (
ARRAY[expiresAt, start, current, previous]
);
END
$sluice$`,
  meter: `CREATE FUNCTION @meter(action int, value float8[], nowMs float8, cost float8, endsAt float8, rules float8[], ruleAt int)
RETURNS float8[] LANGUAGE plpgsql IMMUTABLE AS $sluice$
DECLARE
"limit" CONSTANT float8 := rules[ruleAt + 1];
"unitspertoken" CONSTANT float8 := rules[ruleAt + 2];
"drainpertick" CONSTANT float8 := rules[ruleAt + 3];
"tickms" CONSTANT float8 := rules[ruleAt + 4];
"mostused" CONSTANT float8 := rules[ruleAt + 5];
"rate" CONSTANT float8 := rules[ruleAt + 6];
waitMs float8 := 0;
units float8;
isSmooth CONSTANT boolean := rules[ruleAt] = 1 OR rules[ruleAt] = 3;
isWide CONSTANT boolean := rate = 0;
pace CONSTANT float8 := CASE WHEN isSmooth THEN unitsPerToken ELSE tickMs END;
expiresAt float8 := 0;
debt float8 := 0;
isOwn boolean;
writtenRate float8;
writtenPace float8;
writtenDrainPerTick float8;
writtenTickMs float8;
packed float8;
divisor float8;
factor float8;
since float8 := nowMs;
ticks float8;
tokens float8;
rest float8;
quotient float8;
"left" float8;
place float8;
excess float8;
back float8;
BEGIN
IF cardinality(value) > 0 THEN
IF isWide THEN
expiresAt := value[1];
debt := value[2];
writtenPace := value[3];
writtenDrainPerTick := value[4];
IF cardinality(value) <> 4 OR (expiresAt BETWEEN 0 AND 9007199254740991::float8 AND expiresAt = floor(expiresAt) AND debt BETWEEN 0 AND 9007199254740991::float8 AND debt = floor(debt) AND writtenPace BETWEEN 0 AND 9007199254740991::float8 AND writtenPace = floor(writtenPace) AND writtenDrainPerTick BETWEEN 0 AND 9007199254740991::float8 AND writtenDrainPerTick = floor(writtenDrainPerTick)) IS NOT TRUE THEN
RETURN NULL;
END IF;
isOwn := writtenPace = pace AND writtenDrainPerTick = drainPerTick;
ELSE
expiresAt := value[1];
debt := value[2];
writtenRate := value[3];
IF cardinality(value) <> 3 OR (expiresAt BETWEEN 0 AND 9007199254740991::float8 AND expiresAt = floor(expiresAt) AND debt BETWEEN 0 AND 9007199254740991::float8 AND debt = floor(debt) AND writtenRate BETWEEN 0 AND 9007199254740991::float8 AND writtenRate = floor(writtenRate)) IS NOT TRUE THEN
RETURN NULL;
END IF;
isOwn := writtenRate = rate;
IF isOwn THEN
writtenPace := pace;
writtenDrainPerTick := drainPerTick;
ELSE
packed := floor(writtenRate / 64);
divisor := 2 ^ (writtenRate - packed * 64);
writtenPace := floor(packed / divisor);
writtenDrainPerTick := packed - writtenPace * divisor + 1;
END IF;
END IF;
IF debt = 0 OR writtenPace = 0 OR writtenDrainPerTick = 0 THEN
RETURN NULL;
END IF;
writtenTickMs := CASE WHEN isSmooth THEN 1 ELSE writtenPace END;
since := expiresAt - ceil(debt / writtenDrainPerTick) * writtenTickMs;
IF since < 0 THEN
RETURN NULL;
END IF;
END IF;
IF expiresAt > 0 THEN
IF nowMs >= expiresAt THEN
debt := 0;
ELSE
ticks := greatest(0, floor((nowMs - since) / writtenTickMs));
debt := debt - ticks * writtenDrainPerTick;
IF isOwn THEN
since := least(since + ticks * writtenTickMs, nowMs);
ELSE
since := nowMs;
IF isSmooth THEN
tokens := floor(debt / writtenPace);
rest := debt - tokens * writtenPace;
IF rest * unitsPerToken <= 9007199254740991::float8 THEN
quotient := ceil(rest * unitsPerToken / writtenPace);
ELSE
quotient := 0;
factor := rest;
rest := 0;
"left" := unitsPerToken;
place := 4503599627370496;
WHILE place >= 1 LOOP
quotient := quotient * 2;
rest := rest * 2;
IF rest >= writtenPace THEN
rest := rest - writtenPace;
quotient := quotient + 1;
END IF;
IF "left" >= place THEN
"left" := "left" - place;
IF rest >= writtenPace - factor THEN
rest := rest - (writtenPace - factor);
quotient := quotient + 1;
ELSE
rest := rest + factor;
END IF;
END IF;
place := place / 2;
END LOOP;
IF rest > 0 THEN
quotient := quotient + 1;
END IF;
END IF;
debt := least(tokens * unitsPerToken + quotient, mostUsed * unitsPerToken);
ELSE
debt := least(debt, mostUsed);
END IF;
END IF;
END IF;
IF debt > 0 THEN
expiresAt := since + ceil(debt / drainPerTick) * tickMs;
ELSE
expiresAt := 0;
since := nowMs;
END IF;
END IF;
IF action <= 2 THEN
IF cost > "limit" THEN
waitMs := 'Infinity'::float8;
ELSE
excess := debt - ("limit" - cost) * unitsPerToken;
waitMs := CASE WHEN excess <= 0 THEN 0 ELSE since + ceil(excess / drainPerTick) * tickMs - nowMs END;
END IF;
IF action = 2 OR (action = 1 AND (waitMs = 0 OR rules[ruleAt - 1] = 1)) THEN
debt := least(debt + cost * unitsPerToken, mostUsed * unitsPerToken);
IF debt > 0 THEN
expiresAt := since + ceil(debt / drainPerTick) * tickMs;
ELSE
expiresAt := 0;
since := nowMs;
END IF;
IF action = 2 OR waitMs > 0 THEN
IF cost > "limit" THEN
waitMs := 'Infinity'::float8;
ELSE
excess := debt - ("limit" - cost) * unitsPerToken;
waitMs := CASE WHEN excess <= 0 THEN 0 ELSE since + ceil(excess / drainPerTick) * tickMs - nowMs END;
END IF;
END IF;
END IF;
ELSIF action = 3 THEN
since := nowMs;
debt := cost * unitsPerToken;
IF debt > 0 THEN
expiresAt := since + ceil(debt / drainPerTick) * tickMs;
ELSE
expiresAt := 0;
since := nowMs;
END IF;
ELSE
back := least(cost * unitsPerToken, debt);
IF expiresAt > endsAt THEN
ticks := ceil((endsAt - nowMs) / tickMs);
back := least(back, CASE WHEN ticks > 0 THEN (ticks - 1) * drainPerTick + 1 ELSE 0 END);
END IF;
debt := debt - back;
IF debt > 0 THEN
expiresAt := since + ceil(debt / drainPerTick) * tickMs;
ELSE
expiresAt := 0;
since := nowMs;
END IF;
END IF;
units := ceil(debt / unitsPerToken);
RETURN ARRAY[waitMs, units] || (
CASE
WHEN NOT isWide THEN ARRAY[expiresAt, debt, CASE WHEN debt > 0 THEN rate ELSE 0 END]
WHEN debt > 0 THEN ARRAY[expiresAt, debt, pace, drainPerTick]
ELSE ARRAY[0, 0, 0, 0]::float8[]
END
);
END
$sluice$`,
  calendar_window: `CREATE FUNCTION @calendar_window(action int, value float8[], nowMs float8, cost float8, endsAt float8, rules float8[], ruleAt int)
RETURNS float8[] LANGUAGE plpgsql IMMUTABLE AS $sluice$
DECLARE
"limit" CONSTANT float8 := rules[ruleAt + 1];
"startoflast" CONSTANT float8 := rules[ruleAt + 2];
"startofthis" CONSTANT float8 := rules[ruleAt + 3];
"startofnext" CONSTANT float8 := rules[ruleAt + 4];
"endofnext" CONSTANT float8 := rules[ruleAt + 5];
waitMs float8 := 0;
units float8;
expiresAt float8 := 0;
used float8 := 0;
startMs float8 := startOfThis;
endMs float8 := startOfNext;
BEGIN
IF cardinality(value) > 0 THEN
expiresAt := value[1];
used := value[2];
IF cardinality(value) <> 2 OR (expiresAt BETWEEN 0 AND 9007199254740991::float8 AND expiresAt = floor(expiresAt) AND used BETWEEN 0 AND 9007199254740991::float8 AND used = floor(used)) IS NOT TRUE THEN
RETURN NULL;
END IF;
END IF;
IF nowMs < startOfThis THEN
startMs := startOfLast;
endMs := startOfThis;
ELSIF nowMs >= startOfNext THEN
startMs := startOfNext;
endMs := endOfNext;
END IF;
IF nowMs < startMs OR nowMs >= endMs THEN
RETURN '{}';
END IF;
IF nowMs >= expiresAt THEN
expiresAt := 0;
used := 0;
ELSIF expiresAt > endMs THEN
expiresAt := least(expiresAt, nowMs + endMs - startMs);
END IF;
IF action <= 2 THEN
IF cost > "limit" THEN
waitMs := 'Infinity'::float8;
ELSIF used <= "limit" - cost THEN
waitMs := 0;
ELSE
waitMs := expiresAt - nowMs;
END IF;
IF action = 2 OR (action = 1 AND (waitMs = 0 OR rules[ruleAt - 1] = 1)) THEN
IF expiresAt = 0 THEN
expiresAt := endMs;
END IF;
used := least(used + cost, 9007199254740991::float8);
IF action = 2 OR waitMs > 0 THEN
IF cost > "limit" THEN
waitMs := 'Infinity'::float8;
ELSIF used <= "limit" - cost THEN
waitMs := 0;
ELSE
waitMs := expiresAt - nowMs;
END IF;
END IF;
END IF;
ELSIF action = 3 THEN
IF expiresAt = 0 THEN
expiresAt := endMs;
END IF;
used := cost;
ELSE
IF endsAt IS NULL OR expiresAt <= endsAt THEN
used := greatest(0, used - cost);
END IF;
END IF;
units := used;
RETURN ARRAY[waitMs, units] || (
ARRAY[expiresAt, used]
);
END
$sluice$`,
  concurrency: `CREATE FUNCTION @concurrency(action int, value float8[], nowMs float8, cost float8, endsAt float8, rules float8[], ruleAt int)
RETURNS float8[] LANGUAGE plpgsql IMMUTABLE AS $sluice$
DECLARE
"limit" CONSTANT float8 := rules[ruleAt + 1];
waitMs float8 := 0;
units float8;
expiresAt float8 := 0;
unused float8 := 0;
BEGIN
IF cardinality(value) > 0 THEN
expiresAt := value[1];
unused := value[2];
IF cardinality(value) <> 2 OR (expiresAt BETWEEN 0 AND 9007199254740991::float8 AND expiresAt = floor(expiresAt) AND unused BETWEEN 0 AND 9007199254740991::float8 AND unused = floor(unused)) IS NOT TRUE THEN
RETURN NULL;
END IF;
END IF;
IF action <= 2 THEN
waitMs := CASE WHEN cost > "limit" THEN 'Infinity'::float8 ELSE 0 END;
IF action = 2 OR (action = 1 AND (waitMs = 0 OR rules[ruleAt - 1] = 1)) THEN
IF action = 2 OR waitMs > 0 THEN
waitMs := CASE WHEN cost > "limit" THEN 'Infinity'::float8 ELSE 0 END;
END IF;
END IF;
ELSIF action = 3 THEN
ELSE
END IF;
units := 0;
RETURN ARRAY[waitMs, units] || (
ARRAY[expiresAt, unused]
);
END
$sluice$`,
}

/** The functions for states with holds. */
export const HELD_FUNCTIONS = [
  `CREATE FUNCTION @any_rule(action int, before float8[], nowMs float8, amount float8, endsAt float8, rules float8[], ruleAt int)
RETURNS float8[] LANGUAGE plpgsql IMMUTABLE AS $sluice$
DECLARE
answer float8[];
BEGIN
IF rules[ruleAt - 2] = 1 THEN
answer := @fixed_window(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 2 THEN
answer := @sliding_log(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 3 THEN
answer := @sliding_window(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 4 THEN
answer := @meter(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 5 THEN
answer := @calendar_window(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 6 THEN
answer := @concurrency(action, before, nowMs, amount, endsAt, rules, ruleAt);
END IF;
RETURN answer;
END
$sluice$`,
  `CREATE FUNCTION @holds(value float8[], nowMs float8, rules float8[], ruleAt int, OUT cells float8[], OUT holds float8[], OUT units float8)
LANGUAGE plpgsql IMMUTABLE AS $sluice$
DECLARE
length CONSTANT int := coalesce(cardinality(value), 0);
count int := 0;
width int;
expired int := 0;
ended int;
answer float8[];
BEGIN
holds := '{}';
units := 0;
cells := coalesce(value, '{}');
IF length > 0 AND value[length] < 0 THEN
IF value[length] <> floor(value[length]) OR value[length] * 3 <= 2 - length THEN
cells := NULL;
RETURN;
END IF;
count := - value[length];
width := length - 2 - 3 * count;
holds := value[width + 1 : length - 2];
IF 9007199254740991::float8 < ANY (holds) OR -9007199254740991::float8 > ANY (holds) OR holds <> holds::bigint[]::float8[] THEN
cells := NULL;
RETURN;
END IF;
cells := array_prepend(value[length - 1], value[2 : width]);
IF 0 = ALL (cells) THEN
cells := '{}';
END IF;
END IF;
FOR hold IN 1 .. count LOOP
IF holds[3 * hold - 2] < 0 OR holds[3 * hold - 1] = 0 OR holds[3 * hold] < 0 THEN
cells := NULL;
RETURN;
END IF;
IF holds[3 * hold] <= nowMs THEN
expired := expired + 1;
ELSE
units := units + abs(holds[3 * hold - 1]);
END IF;
END LOOP;
IF expired > 0 THEN
FOR ended IN SELECT i FROM generate_series(1, count) i WHERE holds[3 * i] <= nowMs ORDER BY holds[3 * i], i LOOP
IF holds[3 * ended - 1] > 0 THEN
answer := @any_rule(2, cells, holds[3 * ended], holds[3 * ended - 1], NULL, rules, ruleAt);
IF answer IS NULL THEN
cells := NULL;
RETURN;
END IF;
IF cardinality(answer) > 0 THEN
cells := CASE WHEN answer[3] = 0 THEN '{}' ELSE answer[3 :] END;
END IF;
END IF;
END LOOP;
holds := coalesce((
SELECT array_agg(holds[i] ORDER BY i) FROM generate_series(1, 3 * count) i WHERE holds[i + 2 - (i + 2) % 3] > nowMs
), '{}');
END IF;
answer := @any_rule(0, cells, nowMs, 1, NULL, rules, ruleAt);
IF cardinality(answer) = 0 THEN
cells := '{}';
RETURN;
END IF;
cells := CASE WHEN answer[3] = 0 THEN array_fill(0::float8, ARRAY[cardinality(answer) - 2]) ELSE answer[3 :] END;
END
$sluice$`,
  `CREATE FUNCTION @held_figures(cells float8[], holds float8[], units float8, nowMs float8, amount float8, rules float8[], ruleAt int)
RETURNS float8[] LANGUAGE plpgsql IMMUTABLE AS $sluice$
DECLARE
mostUnits CONSTANT float8 := rules[ruleAt - 3];
isHeld CONSTANT boolean := rules[ruleAt - 1] = 2;
seen float8[] := CASE WHEN cells[1] = 0 THEN '{}' ELSE cells END;
answer float8[];
waitMs float8;
over float8;
endsAt float8;
hold record;
BEGIN
IF isHeld THEN
over := units + amount - mostUnits;
waitMs := CASE WHEN over <= 0 THEN 0 ELSE 'Infinity'::float8 END;
endsAt := 0;
FOR hold IN
SELECT abs(holds[3 * i - 1]) AS held, holds[3 * i] AS expiresAt
FROM generate_series(1, cardinality(holds) / 3) i ORDER BY holds[3 * i]
LOOP
endsAt := hold.expiresAt;
over := over - hold.held;
IF waitMs > 0 AND over <= 0 AND amount <= mostUnits THEN
waitMs := least(waitMs, hold.expiresAt - nowMs);
END IF;
END LOOP;
RETURN ARRAY[waitMs, units, endsAt];
END IF;
IF units > 0 THEN
answer := @any_rule(2, seen, nowMs, units, NULL, rules, ruleAt);
seen := CASE WHEN answer[3] = 0 THEN '{}' ELSE answer[3 :] END;
END IF;
answer := @any_rule(0, seen, nowMs, amount, NULL, rules, ruleAt);
RETURN ARRAY[answer[1], answer[2], answer[3]];
END
$sluice$`,
  `CREATE FUNCTION @held(operation int, charges int, numbers float8[], kept @state[], rules float8[], nowMs float8,
OUT figures bigint[], OUT changed @state[], OUT failure int)
LANGUAGE plpgsql IMMUTABLE AS $sluice$
DECLARE
cells @state[] := kept;
holds @state[] := kept;
units float8[];
holdId CONSTANT float8 := numbers[4 * charges + 1];
expiresAt CONSTANT float8 := nowMs + numbers[4 * charges + 2];
isCharged CONSTANT boolean := numbers[4 * charges + 3] = 1;
mostHolds CONSTANT float8 := numbers[4 * charges + 4];
state float8[];
ofState float8[];
sum float8;
ruleAt int;
amount float8;
isToHold boolean;
answer float8[];
granted float8[] := '{}';
allowed boolean := true;
isFull boolean := false;
heldAt int;
spent float8;
endsAt float8;
chargedUnits float8;
BEGIN
figures := '{}';
changed := kept;
FOR charge IN 1 .. charges LOOP
ruleAt := numbers[4 * charge - 2];
SELECT each.cells, each.holds, each.units INTO state, ofState, sum
FROM @holds((kept[charge]).value, nowMs, rules, ruleAt) each;
IF state IS NULL OR cardinality(state) = 0 THEN
failure := 2 * (charge - 1) + (state IS NOT NULL)::int;
RETURN;
END IF;
IF operation >= 10 AND NOT EXISTS (SELECT FROM generate_series(1, cardinality(ofState), 3) i WHERE ofState[i] = holdId) THEN
allowed := false;
END IF;
cells[charge].value := state;
holds[charge].value := ofState;
units[charge] := sum;
IF operation IN (0, 1, 9) THEN
amount := numbers[4 * charge - 1];
isToHold := operation = 9 AND numbers[4 * charge] >= 0;
IF isToHold AND cardinality(ofState) / 3 >= mostHolds THEN
isFull := true;
END IF;
answer := @held_figures(state, ofState, sum, nowMs, CASE WHEN isToHold THEN numbers[4 * charge] ELSE amount END, rules, ruleAt);
allowed := allowed AND answer[1] = 0;
granted[charge] := CASE WHEN isToHold THEN least(amount, rules[ruleAt - 3] - answer[2]) ELSE 0 END;
END IF;
END LOOP;
IF operation >= 10 AND NOT allowed THEN
figures := '{0}';
RETURN;
END IF;
allowed := allowed AND NOT isFull;
FOR charge IN 1 .. charges LOOP
ruleAt := numbers[4 * charge - 2];
amount := numbers[4 * charge - 1];
isToHold := operation = 9 AND numbers[4 * charge] >= 0;
state := (cells[charge]).value;
ofState := (holds[charge]).value;
sum := units[charge];
answer := NULL;
spent := NULL;
IF operation IN (0, 1, 9) THEN
IF NOT isToHold AND NOT isFull AND (allowed OR rules[ruleAt - 1] = 1) THEN
spent := amount;
ELSIF isToHold AND allowed THEN
ofState := ofState || ARRAY[
holdId, CASE WHEN isCharged AND rules[ruleAt - 1] <> 2 THEN granted[charge] ELSE - granted[charge] END, expiresAt
];
sum := sum + granted[charge];
END IF;
ELSIF operation = 3 THEN
spent := amount;
ELSIF operation = 4 THEN
answer := @any_rule(3, CASE WHEN state[1] = 0 THEN '{}' ELSE state END, nowMs, greatest(0, amount - sum), NULL, rules, ruleAt);
ELSIF operation = 5 THEN
answer := @any_rule(4, CASE WHEN state[1] = 0 THEN '{}' ELSE state END, nowMs, amount, nullif(numbers[4 * charge], -1), rules, ruleAt);
ELSIF operation >= 10 THEN
SELECT i INTO heldAt FROM generate_series(1, cardinality(ofState), 3) i WHERE ofState[i] = holdId LIMIT 1;
IF operation = 12 THEN
ofState[heldAt + 2] := expiresAt;
ELSE
IF operation = 10 AND rules[ruleAt - 1] <> 2 THEN
spent := CASE WHEN amount < 0 THEN abs(ofState[heldAt + 1]) ELSE nullif(amount, 0) END;
END IF;
ofState := ofState[: heldAt - 1] || ofState[heldAt + 3 :];
END IF;
END IF;
IF spent IS NOT NULL THEN
answer := @any_rule(2, CASE WHEN state[1] = 0 THEN '{}' ELSE state END, nowMs, spent, NULL, rules, ruleAt);
END IF;
IF answer IS NOT NULL THEN
state := CASE WHEN answer[3] = 0 THEN array_fill(0::float8, ARRAY[cardinality(answer) - 2]) ELSE answer[3 :] END;
END IF;
IF operation < 10 THEN
answer := @held_figures(state, ofState, sum, nowMs, CASE WHEN isToHold THEN numbers[4 * charge] ELSE amount END, rules, ruleAt);
IF operation IN (0, 1, 2, 9) THEN
figures := figures || ARRAY[
answer[2],
CASE WHEN allowed AND operation <> 2 THEN 0 WHEN answer[1] = 'Infinity' THEN -1 ELSE answer[1] END,
CASE WHEN answer[3] = 0 THEN 0 ELSE answer[3] - nowMs END
]::bigint[];
ELSIF charge = 1 THEN
figures := ARRAY[CASE WHEN operation = 8 THEN answer[3] ELSE answer[2] END]::bigint[];
END IF;
END IF;
IF cardinality(ofState) = 0 THEN
changed[charge].value := CASE WHEN state[1] = 0 THEN '{}' ELSE state END;
changed[charge].ends_at := state[1];
ELSE
endsAt := state[1];
chargedUnits := 0;
FOR hold IN 1 .. cardinality(ofState) / 3 LOOP
endsAt := greatest(endsAt, ofState[3 * hold]);
IF ofState[3 * hold - 1] > 0 THEN
endsAt := greatest(endsAt, ofState[3 * hold] + 2 * rules[ruleAt - 4], state[1] + rules[ruleAt - 4]);
chargedUnits := chargedUnits + ofState[3 * hold - 1];
END IF;
END LOOP;
IF chargedUnits > rules[ruleAt - 3] THEN
endsAt := least(endsAt + (ceil(chargedUnits / rules[ruleAt - 3]) - 1) * rules[ruleAt - 4], greatest(endsAt, 8.64e15));
END IF;
changed[charge].value := array_prepend(endsAt, state[2 :]) || ofState || ARRAY[state[1], - cardinality(ofState) / 3];
changed[charge].ends_at := endsAt;
END IF;
END LOOP;
IF operation = 1 THEN
figures := figures || nowMs::bigint;
ELSIF operation = 9 THEN
IF NOT allowed THEN
granted := array_fill(0::float8, ARRAY[charges]);
END IF;
figures := figures || granted::bigint[] || ARRAY[nowMs, CASE WHEN isFull THEN 2 WHEN allowed THEN 1 ELSE 0 END]::bigint[];
ELSIF operation >= 10 THEN
figures := '{1}';
END IF;
END
$sluice$`,
]

/** The function that decides any calls. */
export const CALLS = `CREATE FUNCTION @calls(names text, calls float8[], rules float8[], readsOnly boolean, isDurable boolean, givenMs float8)
RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $sluice$
DECLARE
rowNames CONSTANT text[] := string_to_array(names, ' ');
nowMs float8;
ignored text;
states @state[];
emptyRows int;
figures bigint[] := '{}';
figureCount int := 0;
figuresBefore int;
callAt int := 1;
operation int;
charges int;
firstAt int;
passes int;
allowed boolean;
action int;
chargeAt int;
rowAt int;
ruleAt int;
before float8[];
answer float8[];
failedCharge int;
failure int;
mayHaveHolds boolean;
haveHolds boolean;
kept @state[];
changed @state[];
ofHeld bigint[];
answerOfHeld bigint;
BEGIN
IF NOT readsOnly THEN
ignored := set_config('lock_timeout', '@lockMs', true);
IF NOT isDurable THEN
ignored := set_config('synchronous_commit', 'off', true);
END IF;
INSERT INTO @table AS kept (name, value, ends_at)
SELECT each.name, '{}', 0 FROM unnest(rowNames) each (name)
ON CONFLICT (name) DO UPDATE SET ends_at = 0 WHERE false;
END IF;
nowMs := coalesce(givenMs, floor(EXTRACT(epoch FROM clock_timestamp()) * 1000)::float8);
SELECT array_agg(ROW(each.name, loaded.value, -1)::@state), count(*) FILTER (WHERE cardinality(loaded.value) = 0),
coalesce(bool_or(loaded.value[cardinality(loaded.value)] < 0), false)
INTO states, emptyRows, mayHaveHolds
FROM unnest(rowNames) each (name)
LEFT JOIN LATERAL (SELECT stored.value FROM @table stored WHERE stored.name = each.name OFFSET 0) loaded ON true;
WHILE callAt <= cardinality(calls) LOOP
operation := calls[callAt];
charges := calls[callAt + 1];
firstAt := callAt + 2;
callAt := firstAt + 4 * charges;
haveHolds := operation >= 9;
IF haveHolds THEN
callAt := callAt + 4;
mayHaveHolds := true;
ELSIF mayHaveHolds AND operation <> 6 THEN
FOR charge IN 0 .. charges - 1 LOOP
before := (states[calls[firstAt + 4 * charge]::int]).value;
haveHolds := haveHolds OR coalesce(before[cardinality(before)] < 0, false);
END LOOP;
END IF;
IF haveHolds THEN
kept := '{}';
FOR charge IN 0 .. charges - 1 LOOP
kept[charge + 1] := states[calls[firstAt + 4 * charge]::int];
END LOOP;
SELECT each.figures, each.changed, each.failure INTO ofHeld, changed, failure
FROM @held(operation, charges, calls[firstAt : callAt - 1], kept, rules, nowMs) each;
IF failure IS NOT NULL THEN
ofHeld := ARRAY[-2 - failure];
ELSIF operation <> 2 AND operation NOT IN (7, 8) THEN
FOR charge IN 1 .. charges LOOP
rowAt := calls[firstAt + 4 * charge - 4];
before := (states[rowAt]).value;
CONTINUE WHEN (changed[charge]).value = before;
emptyRows := emptyRows + (cardinality((changed[charge]).value) = 0)::int - (cardinality(before) = 0)::int;
states[rowAt] := changed[charge];
END LOOP;
END IF;
FOREACH answerOfHeld IN ARRAY ofHeld LOOP
figureCount := figureCount + 1;
figures[figureCount] := answerOfHeld;
END LOOP;
CONTINUE;
END IF;
passes := CASE WHEN charges > 1 AND operation IN (0, 1, 5) THEN 2 ELSE 1 END;
allowed := true;
failedCharge := NULL;
figuresBefore := figureCount;
FOR pass IN 1 .. passes LOOP
FOR charge IN 0 .. charges - 1 LOOP
chargeAt := firstAt + 4 * charge;
rowAt := calls[chargeAt];
ruleAt := calls[chargeAt + 1];
before := (states[rowAt]).value;
IF operation = 6 THEN
IF cardinality(before) > 0 THEN
states[rowAt].value := '{}';
emptyRows := emptyRows + 1;
END IF;
CONTINUE;
END IF;
IF pass < passes THEN
action := 0;
ELSE
action := CASE operation
WHEN 0 THEN CASE WHEN passes = 1 THEN 1 WHEN allowed OR rules[ruleAt - 1] = 1 THEN 2 ELSE 0 END
WHEN 1 THEN CASE WHEN passes = 1 THEN 1 WHEN allowed OR rules[ruleAt - 1] = 1 THEN 2 ELSE 0 END
WHEN 3 THEN 2
WHEN 4 THEN 3
WHEN 5 THEN 4
ELSE 0
END;
END IF;
IF rules[ruleAt - 2] = 1 THEN
answer := @fixed_window(action, before, nowMs, calls[chargeAt + 2], nullif(calls[chargeAt + 3], -1), rules, ruleAt);
ELSIF rules[ruleAt - 2] = 2 THEN
answer := @sliding_log(action, before, nowMs, calls[chargeAt + 2], nullif(calls[chargeAt + 3], -1), rules, ruleAt);
ELSIF rules[ruleAt - 2] = 3 THEN
answer := @sliding_window(action, before, nowMs, calls[chargeAt + 2], nullif(calls[chargeAt + 3], -1), rules, ruleAt);
ELSIF rules[ruleAt - 2] = 4 THEN
answer := @meter(action, before, nowMs, calls[chargeAt + 2], nullif(calls[chargeAt + 3], -1), rules, ruleAt);
ELSIF rules[ruleAt - 2] = 5 THEN
answer := @calendar_window(action, before, nowMs, calls[chargeAt + 2], nullif(calls[chargeAt + 3], -1), rules, ruleAt);
ELSIF rules[ruleAt - 2] = 6 THEN
answer := @concurrency(action, before, nowMs, calls[chargeAt + 2], nullif(calls[chargeAt + 3], -1), rules, ruleAt);
END IF;
IF answer[1] IS NULL THEN
failedCharge := charge;
EXIT;
END IF;
IF pass < passes THEN
allowed := allowed AND answer[1] = 0;
CONTINUE;
END IF;
IF operation <= 2 THEN
figures[figureCount + 1] := answer[2];
figures[figureCount + 2] := CASE
WHEN passes = 2 AND allowed THEN 0
WHEN answer[1] = 'Infinity' THEN -1
ELSE answer[1]
END;
figures[figureCount + 3] := CASE WHEN answer[3] = 0 THEN 0 ELSE answer[3] - nowMs END;
figureCount := figureCount + 3;
ELSIF charge = 0 THEN
figureCount := figureCount + 1;
figures[figureCount] := CASE WHEN operation = 8 THEN answer[3] ELSE answer[2] END;
END IF;
CONTINUE WHEN operation = 2 OR operation >= 7;
IF answer[3] = 0 THEN
IF cardinality(before) > 0 THEN
states[rowAt].value := '{}';
emptyRows := emptyRows + 1;
END IF;
ELSIF answer[3 :] <> before THEN
IF cardinality(before) = 0 THEN
emptyRows := emptyRows - 1;
END IF;
states[rowAt].value := answer[3 :];
states[rowAt].ends_at := answer[3];
END IF;
END LOOP;
EXIT WHEN failedCharge IS NOT NULL;
END LOOP;
IF failedCharge IS NOT NULL THEN
figureCount := figuresBefore + 1;
figures[figureCount] := CASE WHEN answer IS NULL THEN -2 ELSE -3 END - 2 * failedCharge;
ELSIF operation = 1 THEN
figureCount := figureCount + 1;
figures[figureCount] := nowMs;
ELSIF operation = 6 THEN
figureCount := figureCount + 1;
figures[figureCount] := 0;
END IF;
END LOOP;
IF NOT readsOnly THEN
INSERT INTO @table AS kept (name, value, ends_at)
SELECT changed.name, changed.value, changed.ends_at FROM unnest(states) changed
WHERE changed.ends_at >= 0 AND cardinality(changed.value) > 0
ON CONFLICT (name) DO UPDATE SET value = excluded.value, ends_at = excluded.ends_at;
IF emptyRows > 0 THEN
DELETE FROM @table kept
WHERE kept.name = ANY (ARRAY(SELECT dropped.name FROM unnest(states) dropped WHERE cardinality(dropped.value) = 0));
END IF;
END IF;
RETURN array_to_string(figures[1 : figureCount], ',');
END
$sluice$`

/** The function that decides one call with one charge. */
export const SINGLE = `CREATE FUNCTION @single(rowName text, action int, amount float8, endsAt float8, rules float8[], isDurable boolean, givenMs float8)
RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $sluice$
DECLARE
ignored CONSTANT text := concat(
set_config('lock_timeout', '@lockMs', true),
CASE WHEN NOT isDurable THEN set_config('synchronous_commit', 'off', true) END
);
ruleAt CONSTANT int := 5;
nowMs float8;
before float8[];
isKept boolean;
answer float8[];
BEGIN
LOOP
SELECT kept.value INTO before FROM @table kept WHERE kept.name = rowName FOR UPDATE;
isKept := FOUND;
IF before[cardinality(before)] < 0 THEN
RETURN @calls(
rowName, ARRAY[CASE WHEN action = 1 THEN 0 ELSE action + 1 END, 1, 1, ruleAt, amount, coalesce(endsAt, -1)], rules,
false, isDurable, givenMs
);
END IF;
nowMs := coalesce(givenMs, floor(EXTRACT(epoch FROM clock_timestamp()) * 1000)::float8);
IF rules[ruleAt - 2] = 1 THEN
answer := @fixed_window(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 2 THEN
answer := @sliding_log(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 3 THEN
answer := @sliding_window(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 4 THEN
answer := @meter(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 5 THEN
answer := @calendar_window(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 6 THEN
answer := @concurrency(action, before, nowMs, amount, endsAt, rules, ruleAt);
END IF;
IF answer[1] IS NULL THEN
RETURN CASE WHEN answer IS NULL THEN '-2' ELSE '-3' END;
ELSIF isKept THEN
IF answer[3] = 0 THEN
DELETE FROM @table kept WHERE kept.name = rowName;
ELSIF answer[3 :] <> before THEN
UPDATE @table kept SET value = answer[3 :], ends_at = answer[3] WHERE kept.name = rowName;
END IF;
EXIT;
END IF;
EXIT WHEN answer[3] = 0;
INSERT INTO @table AS kept (name, value, ends_at) VALUES (rowName, answer[3 :], answer[3]) ON CONFLICT (name) DO NOTHING;
EXIT WHEN FOUND;
END LOOP;
IF action <> 1 THEN
RETURN answer[2]::bigint;
END IF;
RETURN concat(
answer[2]::bigint, ',',
CASE WHEN answer[1] = 'Infinity' THEN -1 ELSE answer[1]::bigint END, ',',
CASE WHEN answer[3] = 0 THEN 0 ELSE (answer[3] - nowMs)::bigint END
);
END
$sluice$`

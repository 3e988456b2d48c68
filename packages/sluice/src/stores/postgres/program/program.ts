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
}

/** The names of the parameters of each translation, in the order in which its function reads them. */
export const PARAMETERS: readonly (readonly string[])[] = [
  ['limit', 'windowMs', 'isOnClock', 'elastic', 'countsDenied'],
  ['limit', 'windowMs'],
  ['limit', 'windowMs', 'isOnClock', 'roundsDown', 'mostUsed'],
  ['limit', 'unitsPerToken', 'drainPerTick', 'tickMs', 'mostUsed', 'rate'],
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
}

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
SELECT array_agg(ROW(each.name, kept.value, -1)::@state), count(*) FILTER (WHERE cardinality(kept.value) = 0)
INTO states, emptyRows
FROM unnest(rowNames) each (name)
LEFT JOIN LATERAL (SELECT stored.value FROM @table stored WHERE stored.name = each.name OFFSET 0) kept ON true;
WHILE callAt <= cardinality(calls) LOOP
operation := calls[callAt];
charges := calls[callAt + 1];
firstAt := callAt + 2;
callAt := firstAt + 4 * charges;
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
END IF;
IF answer IS NULL THEN
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
figures[figureCount] := -2 - failedCharge;
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
ruleAt CONSTANT int := 3;
nowMs float8;
before float8[];
isKept boolean;
answer float8[];
BEGIN
LOOP
SELECT kept.value INTO before FROM @table kept WHERE kept.name = rowName FOR UPDATE;
isKept := FOUND;
nowMs := coalesce(givenMs, floor(EXTRACT(epoch FROM clock_timestamp()) * 1000)::float8);
IF rules[ruleAt - 2] = 1 THEN
answer := @fixed_window(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 2 THEN
answer := @sliding_log(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 3 THEN
answer := @sliding_window(action, before, nowMs, amount, endsAt, rules, ruleAt);
ELSIF rules[ruleAt - 2] = 4 THEN
answer := @meter(action, before, nowMs, amount, endsAt, rules, ruleAt);
END IF;
IF answer IS NULL THEN
RETURN '-2';
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

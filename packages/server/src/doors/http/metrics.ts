// The service's metrics, for Prometheus.
// Invariant: the number of label values is bounded, and no label holds a client, a route or a key.

import type { Service } from '../../service.ts'
import { Exposition, type Sample } from '../../stats/exposition.ts'
import { HOLD_ENDS } from '../../stats/hold-counts.ts'
import { OUTCOMES, REASON, REASON_NAMES } from '../../stats/policy-stats.ts'
import { recordsState, unreadableRecords } from './plumbing/records-view.ts'

export function metricsText(service: Service): string {
  const { stats, decider, storeFacts, policies, version } = service
  const { health } = decider
  const statistics = stats.policies()
  const rules = statistics.flatMap(({ name }) => (policies.book.get(name)?.rules ?? []).map((rule) => ({ policy: name, rule })))
  const doors = [...stats.doors]
  const size = storeFacts.size()
  const evictions = storeFacts.evictions()
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()

  const text = new Exposition()
    .gauge('build_info', 'Always 1; the version is a label.', [[{ version, node: process.version }, 1]])
    .gauge('start_time_seconds', 'Start time of the service, in seconds since the epoch.', stats.startedMs / 1000)
    .gauge('ready', '1 if the service accepts requests.', Number(service.status.state === 'ready'))
    .counter(
      'checks_total',
      'Checks, by policy, outcome and reason.',
      statistics.flatMap(({ name, byReason }) =>
        REASON_NAMES.map((reason, i): Sample => [{ policy: name, outcome: OUTCOMES[i], reason }, byReason[i]]).filter(
          ([, n]) => n > 0,
        ),
      ),
    )
    .counter(
      'shadow_denied_total',
      'Checks that were allowed only because their policy is in shadow mode.',
      statistics.map(({ name, byReason }): Sample => [{ policy: name }, byReason[REASON.shadow]]),
    )
    .counter(
      'near_limit_total',
      'Checks that were allowed and left a fifth of the limit or less.',
      statistics.map(({ name, nearLimit }): Sample => [{ policy: name }, nearLimit]),
    )
    .gauge('holds_open', 'Open holds that this instance has opened, without those beyond 10,000.', decider.holds.open)
    .counter(
      'holds_opened_total',
      'Holds that were opened, by policy.',
      statistics.map(({ name, holds }): Sample => [{ policy: name }, holds.of('opened')]),
    )
    .counter(
      'holds_ended_total',
      'Holds that ended, by policy and end. Expired: this instance opened it and saw no other end.',
      statistics.flatMap(({ name, holds }) =>
        HOLD_ENDS.map((end): Sample => [{ policy: name, end }, holds.of(end)]).filter(([, count]) => count > 0),
      ),
    )
    .counter('holds_ended_unlisted_total', 'Holds that ended here and that another instance opened.', stats.unlistedHoldEnds)
    .counter(
      'holds_refused_total',
      'Reserves that were refused because there were too many open holds, by policy.',
      statistics.map(({ name, holds }): Sample => [{ policy: name }, holds.of('refused')]),
    )
    .histogram('check_duration_seconds', 'Time to decide a check.', [[{}, stats.checkSeconds]])
    .histogram('limit_utilization_ratio', 'Used share of the limit after a check.', [[{}, stats.utilization]])
    .gauge(
      'policy_limit',
      'The limit of each rule of the policies that are in use.',
      rules.map(({ policy, rule }): Sample => [{ policy, rule: rule.name }, rule.limit]),
    )
    .gauge(
      'policy_window_seconds',
      'The window of each rule of the policies that are in use.',
      rules.map(({ policy, rule }): Sample => [{ policy, rule: rule.name }, rule.windowMs / 1000]),
    )
    .gauge('policies', 'Policies that are in force.', policies.book.size)
    .gauge(
      'records_lost',
      '1 if the store lacks changes of policies and keys that an instance has seen.',
      Number(recordsState(service) === 'lost'),
    )
    .gauge('records_unreadable', 'Policies and keys that exist and cannot be read.', unreadableRecords(service).length)
    .gauge('store_up', '1 if the store answers.', [[{ store: storeFacts.kind }, Number(health.isUp)]])
    .gauge(
      'breaker_state',
      '1 if the circuit breaker is open: the store failed too often and is not called.',
      Number(health.isBreakerOpen),
    )
    .counter(
      'store_errors_total',
      'Failed calls of the store, by kind.',
      [...health.failures].map(([kind, count]): Sample => [{ store: storeFacts.kind, kind }, count]),
    )
    .counter('fallback_decisions_total', 'Decisions made without the store.', [
      [{ mode: storeFacts.failureMode }, stats.fallbacks],
    ])
    .counter('failed_authentications_total', 'Requests without a valid API key, by answer.', [
      [{ answer: 'refused' }, stats.failedAuthentications - stats.limitedAuthentications],
      [{ answer: 'limited' }, stats.limitedAuthentications],
    ])
    .gauge(
      'door_connections',
      'Open connections, by door.',
      doors.map(([door, { open }]): Sample => [{ door }, open]),
    )
    .counter(
      'door_connections_total',
      'Connections, by door and outcome. Refused: too many were open.',
      doors.flatMap(([door, { accepted, refused }]): Sample[] => [
        [{ door, outcome: 'accepted' }, accepted],
        [{ door, outcome: 'refused' }, refused],
      ]),
    )
    .counter(
      'door_commands_total',
      'Commands that were answered, by door.',
      doors.map(([door, { commands }]): Sample => [{ door }, commands]),
    )
    .counter(
      'door_errors_total',
      'Commands that were answered with an error, by door.',
      doors.map(([door, { errors }]): Sample => [{ door }, errors]),
    )
    .gauge('event_listeners', 'Open event streams.', stats.events.listeners)
    .gauge('process_resident_memory_bytes', 'Memory of the process.', rss)
    .gauge('process_heap_bytes', 'JavaScript heap in use.', heapUsed)
    .counter('process_cpu_seconds_total', 'CPU time of the process.', (user + system) / 1e6)
  if (stats.config !== undefined) {
    text
      .gauge('config_last_reload_timestamp_seconds', 'Time of the last read of the configuration file.', stats.config.atMs / 1000)
      .gauge('config_last_reload_success', '1 if the configuration file was valid at the last read.', Number(stats.config.isUsed))
  }
  if (storeFacts.kind !== 'memory') {
    text.histogram('store_operation_duration_seconds', 'Response time of the store.', [
      [{ store: storeFacts.kind, op: 'hit' }, health.hitSeconds],
    ])
  }
  if (size !== undefined) text.gauge('keys', 'Counters in the store, if it can tell.', size)
  if (evictions !== undefined) text.counter('evictions_total', 'Counters that were evicted before they expired.', evictions)
  return text.text()
}

// The service's metrics, for Prometheus.
// What must stay true: labels are bounded in number and never hold a client, a route or a key.

import type { Service } from '../service.ts'
import { Exposition, type Sample } from '../stats/exposition.ts'
import { OUTCOMES, REASON, REASON_NAMES } from '../stats/figures.ts'
import { recordsState, unreadableRecords } from './records-view.ts'

export function metricsText(service: Service): string {
  const { stats, decider, store, policies, version } = service
  const { health } = decider
  const figures = stats.policies()
  const rules = figures.flatMap(({ name }) => (policies.book.get(name)?.rules ?? []).map((rule) => ({ policy: name, rule })))
  const size = store.size()
  const evictions = store.evictions()
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()

  const text = new Exposition()
    .gauge('build_info', 'Always 1; the version is a label.', [[{ version, node: process.version }, 1]])
    .gauge('start_time_seconds', 'When the service started, in seconds since the epoch.', stats.startedMs / 1000)
    .gauge('ready', 'Whether the service wants requests.', Number(service.status.state === 'ready'))
    .counter(
      'checks_total',
      'Checks, by policy, outcome and reason.',
      figures.flatMap(({ name, byReason }) =>
        REASON_NAMES.map((reason, i): Sample => [{ policy: name, outcome: OUTCOMES[i], reason }, byReason[i]]).filter(
          ([, n]) => n > 0,
        ),
      ),
    )
    .counter(
      'shadow_denied_total',
      'Checks that were allowed only because their policy is in shadow mode.',
      figures.map(({ name, byReason }): Sample => [{ policy: name }, byReason[REASON.shadow]]),
    )
    .counter(
      'near_limit_total',
      'Checks that were allowed and left a fifth of the limit or less.',
      figures.map(({ name, nearLimit }): Sample => [{ policy: name }, nearLimit]),
    )
    .histogram('check_duration_seconds', 'How long deciding a check took.', [[{}, stats.checkSeconds]])
    .histogram('limit_utilization_ratio', 'How much of its limit a key had used after a check.', [[{}, stats.utilization]])
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
      'Whether Redis lacks changes of policies and keys that an instance has seen.',
      Number(recordsState(service) === 'lost'),
    )
    .gauge('records_unreadable', 'Policies and keys that are there and cannot be read.', unreadableRecords(service).length)
    .gauge('store_up', 'Whether the store answers.', [[{ store: store.kind }, Number(health.isUp)]])
    .gauge(
      'breaker_state',
      'Whether the store is not asked at the moment, because it failed too often.',
      Number(health.isBreakerOpen),
    )
    .counter(
      'store_errors_total',
      'Calls that the store failed, by kind.',
      [...health.failures].map(([kind, count]): Sample => [{ store: store.kind, kind }, count]),
    )
    .counter('fallback_decisions_total', 'Decisions that were made without the store.', [
      [{ mode: store.failureMode }, stats.fallbacks],
    ])
    .counter('failed_authentications_total', 'Requests without a valid API key, by answer.', [
      [{ answer: 'refused' }, stats.failedAuthentications - stats.limitedAuthentications],
      [{ answer: 'limited' }, stats.limitedAuthentications],
    ])
    .gauge('event_listeners', 'Those who watch events.', stats.events.listeners)
    .gauge('process_resident_memory_bytes', 'Memory of the process.', rss)
    .gauge('process_heap_bytes', 'Memory that JavaScript uses.', heapUsed)
    .counter('process_cpu_seconds_total', 'CPU time of the process.', (user + system) / 1e6)
  if (stats.config !== undefined) {
    text
      .gauge('config_last_reload_timestamp_seconds', 'When the configuration file was last read.', stats.config.atMs / 1000)
      .gauge('config_last_reload_success', 'Whether it could be used then.', Number(stats.config.isUsed))
  }
  if (store.kind !== 'memory') {
    text.histogram('store_operation_duration_seconds', 'How long the store took to answer.', [
      [{ store: store.kind, op: 'hit' }, health.hitSeconds],
    ])
  }
  if (size !== undefined) text.gauge('keys', 'Counters in the memory store.', size)
  if (evictions !== undefined)
    text.counter('evictions_total', 'Counters that gave way to others before they had ended.', evictions)
  return text.text()
}

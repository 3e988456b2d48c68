// The log forms by name, each with its usual fields, and the recognition of a form by its first line.

import { DelimitedForm } from './delimited-form.ts'
import { JsonForm } from './json-form.ts'
import type { LogForm, UsualFields } from './log-form.ts'
import { lastOfList, SpacedForm, withoutPort } from './spaced-form.ts'

export interface FormOptions {
  /** Delimiter of CSV. */
  readonly delimiter: string
  /** True if the first line of a CSV file names the columns. */
  readonly hasHeading: boolean
}

export interface FormFacts {
  readonly name: string
  /** Other names for the same form. */
  readonly aliases: readonly string[]
  readonly about: string
  readonly usual: UsualFields
  make(options: FormOptions): LogForm
}

const COMMON_COLUMNS = ['remote_addr', 'ident', 'remote_user', 'time_local', 'request', 'status', 'body_bytes_sent']
const COMBINED_COLUMNS = [...COMMON_COLUMNS, 'http_referer', 'http_user_agent']

const ENVOY_COLUMNS = [
  ...['start_time', 'request', 'response_code', 'response_flags', 'bytes_received', 'bytes_sent', 'duration'],
  ...['upstream_service_time', 'x_forwarded_for', 'user_agent', 'request_id', 'authority', 'upstream_host'],
]

const ISTIO_COLUMNS = [
  ...['start_time', 'request', 'response_code', 'response_flags', 'response_code_details', 'connection_termination_details'],
  ...['upstream_transport_failure_reason', 'bytes_received', 'bytes_sent', 'duration', 'upstream_service_time'],
  ...['x_forwarded_for', 'user_agent', 'request_id', 'authority', 'upstream_host', 'upstream_cluster'],
  ...['upstream_local_address', 'downstream_local_address', 'downstream_remote_address', 'requested_server_name', 'route_name'],
]

/** The proxy adds the address of its peer as the last one. Those before it may be inventions of the client. */
const LAST_FORWARDED = { column: 'x_forwarded_for', read: lastOfList }

/** The first columns of the standard log, for a part of a file without its heading. */
const CLOUDFRONT_COLUMNS = [
  ...['date', 'time', 'x-edge-location', 'sc-bytes', 'c-ip', 'cs-method', 'cs(Host)', 'cs-uri-stem', 'sc-status'],
  ...['cs(Referer)', 'cs(User-Agent)', 'cs-uri-query', 'cs(Cookie)', 'x-edge-result-type', 'x-edge-request-id'],
  ...['x-host-header', 'cs-protocol', 'cs-bytes', 'time-taken', 'x-forwarded-for'],
]

const OF_SERVERS: UsualFields = {
  client: ['remote_addr'],
  time: ['time_local'],
  method: ['method'],
  path: ['path'],
  host: [],
}

/** Names that programs give to these fields. The first one that a line has is used. */
const OF_PROGRAMS: UsualFields = {
  client: [
    ...['client_id', 'client', 'remote_addr', 'remote_ip', 'client_ip', 'ip'],
    ...['request.remote_ip', 'req.remoteAddress', 'ClientHost'],
  ],
  time: ['time', 'timestamp', 'ts', '@timestamp', 'time_iso8601', 'time_local', 'msec', 'start_time', 'StartUTC'],
  method: ['method', 'request_method', 'request.method', 'req.method', 'RequestMethod'],
  path: ['path', 'route', 'uri', 'request_uri', 'url', 'request.uri', 'req.url', 'RequestPath'],
  host: ['host', 'http_host', 'request.host', 'req.host', 'req.hostname', 'req.headers.host', 'authority', 'RequestHost'],
}

export const FORMS: readonly FormFacts[] = [
  {
    name: 'combined',
    aliases: ['nginx', 'apache'],
    about: 'combined log of nginx and Apache',
    usual: OF_SERVERS,
    make: () => new SpacedForm({ columns: COMBINED_COLUMNS, bracketed: 'time_local' }),
  },
  {
    name: 'common',
    aliases: [],
    about: 'common log of Apache',
    usual: OF_SERVERS,
    make: () => new SpacedForm({ columns: COMMON_COLUMNS, bracketed: 'time_local' }),
  },
  {
    name: 'json',
    aliases: ['jsonl'],
    about: 'one JSON object in each line',
    usual: OF_PROGRAMS,
    make: () => new JsonForm(),
  },
  {
    name: 'csv',
    aliases: [],
    about: 'CSV, with the names of its columns in the first line',
    usual: OF_PROGRAMS,
    make: ({ delimiter, hasHeading }) =>
      new DelimitedForm({ delimiter, heading: hasHeading ? 'first-line' : 'none', columns: [], hasQuotes: true }),
  },
  {
    name: 'envoy',
    aliases: [],
    about: "Envoy's default access log",
    usual: {
      client: ['client_address'],
      time: ['start_time'],
      method: ['method'],
      path: ['path'],
      host: ['authority'],
    },
    make: () => new SpacedForm({ columns: ENVOY_COLUMNS, bracketed: 'start_time', parts: { client_address: LAST_FORWARDED } }),
  },
  {
    name: 'istio',
    aliases: [],
    about: "Istio's default access log",
    usual: {
      client: ['client_address', 'peer_address'],
      time: ['start_time'],
      method: ['method'],
      path: ['path'],
      host: ['authority'],
    },
    make: () =>
      new SpacedForm({
        columns: ISTIO_COLUMNS,
        bracketed: 'start_time',
        parts: {
          client_address: LAST_FORWARDED,
          peer_address: { column: 'downstream_remote_address', read: withoutPort },
        },
      }),
  },
  {
    name: 'cloudfront',
    aliases: [],
    about: 'standard log of CloudFront',
    usual: {
      client: ['c-ip'],
      time: ['date time'],
      method: ['cs-method'],
      path: ['cs-uri-stem'],
      host: ['x-host-header', 'cs(Host)'],
    },
    make: () => new DelimitedForm({ delimiter: '\t', heading: 'fields-line', columns: CLOUDFRONT_COLUMNS, hasQuotes: false }),
  },
]

export const FORM_NAMES: readonly string[] = FORMS.flatMap(({ name, aliases }) => [name, ...aliases])

export function formCalled(name: string): FormFacts | undefined {
  return FORMS.find((form) => form.name === name || form.aliases.includes(name))
}

const COMMON_LINE = /^\S+ \S+ .*\[\d\d\/[A-Z][a-z][a-z]\/\d{4}:[^\]]*\] "/
const ENVOY_LINE = /^\[\d{4}-\d\d-\d\dT[^\]]*\] "/

/** After the flags, Envoy has a number of bytes and Istio has words. */
const ISTIO_LINE = /^\[\d{4}-\d\d-\d\dT[^\]]*\] "(?:[^"\\]|\\.)*" \d+ \S+ [^\d\s]/
const CLOUDFRONT_LINE = /^(?:#(?:Version|Fields):|\d{4}-\d\d-\d\d\t\d\d:\d\d:\d\d\t)/

/** Returns the form of a log by one of its lines. CSV cannot be told from other text, so it has to be named. */
export function recognisedForm(line: string): FormFacts | undefined {
  if (line.startsWith('{')) return formCalled('json')
  if (CLOUDFRONT_LINE.test(line)) return formCalled('cloudfront')
  if (ISTIO_LINE.test(line)) return formCalled('istio')
  if (ENVOY_LINE.test(line)) return formCalled('envoy')
  return COMMON_LINE.test(line) ? formCalled('combined') : undefined
}

// Schemas of a simulation of recent traffic.

import Type, { type TSchema } from 'typebox'
import { LIMITS } from './limits.ts'
import { PolicyBody, PolicyName } from './policy-schemas.ts'
import { named, strict, Time, Whole } from './schemas.ts'

export const SimulationBody = Type.Object(
  {
    policies: Type.Optional(
      Type.Array(PolicyBody, {
        title: `a list of up to ${LIMITS.mostSimulated} policies`,
        maxItems: LIMITS.mostSimulated,
        description: 'Proposed policies, each with its name. They replace those of the same names, or are added.',
      }),
    ),
    without: Type.Optional(
      Type.Array(PolicyName, { maxItems: LIMITS.mostSimulated, description: 'Names of policies to leave out.' }),
    ),
    top: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: 'Clients in each list; 20 by default.' })),
  },
  strict,
)

const orNull = (schema: TSchema, description: string): TSchema => Type.Union([schema, Type.Null()], { description })

const Counts = Type.Array(Whole)

const SmallestLimits = Type.Object(
  { clients: Whole, p99: Whole, p999: Whole, all: Whole },
  { description: 'The smallest limits of the rule alone under which 99 %, 99.9 % and all of these clients are never denied.' },
)

const SimulatedRule = Type.Object(
  {
    name: Type.String(),
    words: Type.String({ description: 'The rule in a few words.' }),
    limit: Whole,
    denied: Whole,
    shadow_denied: Whole,
    clients: Type.Integer({ minimum: 0, description: 'Clients that it denied, or would have denied in shadow mode.' }),
    first_denied: orNull(Time, 'null if it denied nothing.'),
    last_denied: orNull(Time, 'null if it denied nothing.'),
    smallest_limits: Type.Union([SmallestLimits, Type.Null()], { description: 'Only for proposed policies; null for others.' }),
  },
  named('SimulatedRule'),
)

const SimulatedClient = Type.Object(
  {
    client_id: Type.String(),
    requests: Whole,
    denied: Whole,
    shadow_denied: Whole,
    first_denied: orNull(Time, 'null if it was not denied.'),
    denied_before: Whole,
    newly_denied: Whole,
    newly_allowed: Whole,
  },
  named('SimulatedClient'),
)

export const SimulationView = Type.Object(
  {
    sample: Type.Object(
      {
        instance: Type.String({ description: 'The instance that answers, as in `GET /v1/fleet`.' }),
        instances_up: Type.Integer({
          minimum: 1,
          description: 'Instances that are up, of which each keeps a sample of its own. Up to some seconds old.',
        }),
        decided: Type.Integer({
          minimum: 0,
          description: 'Checks that this instance decided in the last hour, in the sample or not.',
        }),
        share: Type.Number({ description: 'Share of the clients whose checks were kept: 1, 0.5, 0.25 and so on.' }),
        missed: Type.Integer({ minimum: 0, description: 'Checks of these clients that were not kept.' }),
        since: Type.String({
          format: 'date-time',
          description: 'An hour ago, or the start of the instance.',
        }),
      },
      { description: 'The checks of this instance that were replayed.' },
    ),
    requests: Whole,
    first: orNull(Time, 'Time of the first check.'),
    last: orNull(Time, 'Time of the last check.'),
    denied: Whole,
    shadow_denied: Whole,
    undecided: Type.Integer({ minimum: 0, description: 'Checks under policies that can only be reserved.' }),
    clients: Whole,
    clients_denied: Whole,
    change: Type.Object(
      {
        denied_before: Whole,
        newly_denied: Whole,
        newly_allowed: Whole,
        clients_newly_denied: Whole,
        clients_newly_allowed: Whole,
      },
      { description: 'The difference to the policies in force.' },
    ),
    policies: Type.Array(
      Type.Object({
        name: Type.String(),
        mode: Type.String(),
        requests: Type.Integer({ minimum: 0, description: 'Checks for which the policy spoke.' }),
        undecided: Whole,
        rules: Type.Array(SimulatedRule),
      }),
      { description: 'The policies with checks, those with the most denials first.' },
    ),
    top_clients: Type.Array(SimulatedClient, { description: 'The clients that are newly denied most.' }),
    top_newly_allowed: Type.Array(SimulatedClient),
    series: Type.Object({
      start: orNull(Time, 'Start of the first step.'),
      step_seconds: Whole,
      requests: Counts,
      denied: Counts,
      shadow_denied: Counts,
      denied_before: Counts,
      newly_denied: Counts,
      newly_allowed: Counts,
    }),
  },
  named('Simulation'),
)

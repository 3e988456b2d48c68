// Calls operations of the contract by their id: writes the request, and reads the answer.
// Invariant: an answer of another form is an error of the client, never a wrong value.

import { ClientError, type Problem } from './client-error.ts'
import { addressOf, type DataOf, type RequestOf } from './contract/address.ts'
import { type OperationId, ROUTES } from './contract/operations.ts'
import type { HttpAnswer } from './transport/connection.ts'
import type { Transport } from './transport/transport.ts'

export class Caller {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Calls an operation. `read` turns the `data` of the answer into the result. */
  async ask<Id extends OperationId, T>(id: Id, request: RequestOf<Id>, read: (data: DataOf<Id>) => T): Promise<T> {
    const { header, body } = request as {
      readonly header?: Readonly<Record<string, string | undefined>>
      readonly body?: unknown
    }
    const answer = await this.#transport.ask({
      ...addressOf(id, request),
      ...(header !== undefined && { headers: given(header) }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return readAs(id, dataOf(answer), read)
  }

  /** Calls an operation with a body that is JSON text already. */
  async askWithText<Id extends OperationId, T>(id: Id, body: string, read: (data: DataOf<Id>) => T): Promise<T> {
    const [method, path] = ROUTES[id]
    return readAs(id, dataOf(await this.#transport.ask({ method, path, body })), read)
  }

  /** Reads the readiness of the service. "Not ready" is an answer, not an error. */
  async askReadiness<T>(read: (data: DataOf<'getReadiness'>) => T): Promise<T> {
    const [method, path] = ROUTES.getReadiness
    const answer = await this.#transport.ask({ method, path })
    return readAs('getReadiness', answer.status === 503 ? parsed(answer).data : dataOf(answer), read)
  }
}

function readAs<Id extends OperationId, T>(id: Id, data: unknown, read: (data: DataOf<Id>) => T): T {
  try {
    return read(data as DataOf<Id>)
  } catch (cause) {
    if (cause instanceof ClientError) throw cause
    throw new ClientError('ERR_ANSWER', `the answer to ${ROUTES[id].join(' ')} has an unknown form`, {
      mayHaveHappened: true,
      cause,
    })
  }
}

/** Returns the data of a response. Throws the error of a failed one. */
function dataOf(answer: HttpAnswer): unknown {
  const { meta, data } = parsed(answer)
  if (answer.status < 300) return data
  const { error = 'ERR_ANSWER', message, problems = [] } = meta as Failed
  throw new ClientError(error, message, { status: answer.status, problems, mayHaveHappened: answer.status >= 500 })
}

/** The `meta` of a failure, which may come from an earlier version of the service. */
interface Failed {
  readonly error?: string
  readonly message: string
  readonly problems?: readonly Problem[]
}

function parsed({ status, body }: HttpAnswer): { readonly meta: object; readonly data: unknown } {
  try {
    const { meta, data } = JSON.parse(body)
    if (typeof meta === 'object' && meta !== null) return { meta, data }
  } catch {}
  const message = `the answer with status ${status} is not from this service: ${JSON.stringify(body.slice(0, 80))}`
  throw new ClientError('ERR_ANSWER', message, { status, mayHaveHappened: status < 300 || status >= 500 })
}

/** Returns the fields that have a value. */
function given(header: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(header).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

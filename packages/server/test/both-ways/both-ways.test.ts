// The same bytes to a service with fast checks and to one without: the same bytes come back, and the same is counted.

import { cpSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../test/rounds.ts'
import { seededRandom } from '../../../sluice/src/testing/random.ts'
import { certificate } from '../certificate.ts'
import { startService, type TestService } from '../running-service.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { AT_ONCE, type Exchange, exchange } from './exchange.ts'
import { requestsOfNodeHttp } from './requests-of-node-http.ts'
import { checkText, smugglingCorpus } from './smuggling-corpus.ts'

/** Some seconds are enough on a machine of its own. */
const TIMEOUT_MS = roundsOf({ usual: 120_000, long: 1_200_000 })

interface BothWays {
  readonly key: string
  readonly fast: TestService
  readonly slow: TestService
  idOf(): string
  /** Sends the pieces of each case to both services, and expects the same. */
  expectAlike(cases: readonly { readonly name: string; readonly pieces: readonly Buffer[] }[]): Promise<readonly Exchange[]>
  /** Expects that both services have counted the same. */
  expectSameCounts(): Promise<void>
}

/** Starts two services with the same API key. */
async function startBoth(flags: Readonly<Record<string, string>> = {}): Promise<BothWays> {
  const first = await startService()
  await first.close()
  const { key } = first
  const copy = temporaryFolder()
  cpSync(first.folder, copy, { recursive: true })
  const both = { trustedProxies: '127.0.0.1', ...flags }
  const fast = await startService({ folder: first.folder, key, flags: { ...both, fastChecks: 'true' } })
  const slow = await startService({ folder: copy, key, flags: { ...both, fastChecks: 'false' } })
  let ids = 0
  const expectAlike: BothWays['expectAlike'] = async (cases) => {
    const exchanges: Exchange[] = []
    for (let start = 0; start < cases.length; start += AT_ONCE) {
      const some = cases.slice(start, start + AT_ONCE)
      const answersOf = ({ address }: TestService) => Promise.all(some.map(({ pieces }) => exchange(address, pieces)))
      const [ours, theirs] = [await answersOf(fast), await answersOf(slow)]
      some.forEach(({ name }, i) => {
        expect({ name, ...undated(ours[i]) }).toEqual({ name, ...undated(theirs[i]) })
      })
      exchanges.push(...ours)
    }
    return exchanges
  }
  const expectSameCounts = async (): Promise<void> => {
    const counts = async (service: TestService) => countsIn((await service.call('GET', '/metrics')).body as string)
    const counted = await counts(fast)
    expect(counted.join()).toContain('sluice_checks_total')
    expect(counted).toEqual(await counts(slow))
  }
  const idOf = () => `${100_000 + ids++}`
  return { key, fast, slow, idOf, expectAlike, expectSameCounts }
}

/** node:http does not see the clock of the tests. */
function undated({ answer, isClosed }: Exchange): Exchange {
  return { answer: answer.replace(/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r$/gm, 'Date: some day\r'), isClosed }
}

/** Checks by policy and reason, failures of keys, and used shares of limits. */
function countsIn(metrics: string): readonly string[] {
  return metrics
    .split('\n')
    .filter((line) => /^sluice_(checks|failed_authentications|near_limit)_total|^sluice_\w*utili\w*_bucket/.test(line))
}

function inPieces(text: string, at: number): readonly Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  return [bytes.subarray(0, at), bytes.subarray(at)]
}

describe('both ways answer alike', () => {
  test('every request of the smuggling corpus, whole and in two pieces', { timeout: TIMEOUT_MS }, async () => {
    const { key, idOf, expectAlike, expectSameCounts } = await startBoth()
    const whole = smugglingCorpus(key, idOf).map(({ name, text }) => ({ name, pieces: [Buffer.from(text, 'latin1')] }))
    const exchanges = await expectAlike(whole)
    expect(exchanges[0].answer.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
    // In `npm test` a third of them is cut, each at one place.
    const [rounds, share] = [roundsOf({ usual: 1, long: 30 }), roundsOf({ usual: 3, long: 1 })]
    for (let round = 0; round < rounds; round++) {
      const inTwo = smugglingCorpus(key, idOf).map(({ name, text }, i) => {
        const at = (1 + round + 37 * i) % text.length
        return { name: `${name}, cut at ${at}`, pieces: inPieces(text, at) }
      })
      await expectAlike(inTwo.filter((_, i) => i % share === 0))
    }
    await expectSameCounts()
  })

  test('two checks, cut at every byte', { timeout: TIMEOUT_MS }, async () => {
    const { key, idOf, expectAlike, expectSameCounts } = await startBoth()
    const { length } = checkText({ key, id: idOf() }).repeat(2)
    const cases = Array.from({ length: length - 1 }, (_, i) => {
      const text = checkText({ key, id: idOf() }) + checkText({ key, id: idOf() })
      return { name: `cut at ${i + 1}`, pieces: inPieces(text, i + 1) }
    })
    const nodeRequests = requestsOfNodeHttp()
    const exchanges = await expectAlike(cases)
    for (const { answer } of exchanges) expect(answer.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
    // All of the slow service, none of the fast one.
    expect(nodeRequests()).toBe(2 * cases.length)
    await expectSameCounts()
  })

  test('a check that ends at every byte', { timeout: TIMEOUT_MS }, async () => {
    const { key, idOf, expectAlike, expectSameCounts } = await startBoth()
    const cases = Array.from({ length: checkText({ key, id: idOf() }).length }, (_, i) => {
      return { name: `ends at ${i + 1}`, pieces: inPieces(checkText({ key, id: idOf() }), i + 1).slice(0, 1) }
    })
    await expectAlike(cases)
    await expectSameCounts()
  })

  test('checks with one byte changed, left out or put in', { timeout: TIMEOUT_MS }, async () => {
    const { key, idOf, expectAlike, expectSameCounts } = await startBoth()
    const { seed, whole, pick } = seededRandom()
    const signs = [0, 9, 10, 13, 32, 44, 45, 48, 58, 59, 64, 65, 95, 120, 127, 128, 255]
    const cases = Array.from({ length: roundsOf({ usual: 400, long: 10_000 }) }, () => {
      const text = checkText({ key, id: idOf() }, 'Connection: keep-alive', 'Accept: */*') + checkText({ key, id: idOf() })
      const at = whole(0, text.length - 1)
      const kind = pick(['changed', 'left out', 'put in'])
      const sign = pick(signs)
      const put = kind === 'left out' ? '' : String.fromCharCode(sign)
      const changed = text.slice(0, at) + put + text.slice(kind === 'put in' ? at : at + 1)
      const cut = whole(0, changed.length)
      return { name: `SEED=${seed}: byte ${at} ${kind}, ${sign}, cut at ${cut}`, pieces: inPieces(changed, cut) }
    })
    await expectAlike(cases)
    await expectSameCounts()
  })

  test('over TLS', { timeout: TIMEOUT_MS }, async () => {
    const { cert, key: tlsKey } = certificate()
    const { key, idOf, expectAlike } = await startBoth({ tlsCert: cert, tlsKey })
    const cases = Array.from({ length: 30 }, (_, i) => {
      const text = checkText({ key, id: idOf() }) + checkText({ key, id: idOf() })
      return { name: `cut ${i}`, pieces: inPieces(text, 1 + 17 * i) }
    })
    const nodeRequests = requestsOfNodeHttp()
    await expectAlike(cases)
    expect(nodeRequests()).toBe(2 * cases.length)
    const odd = smugglingCorpus(key, idOf).map(({ name, text }) => ({ name, pieces: [Buffer.from(text, 'latin1')] }))
    await expectAlike(odd.filter((_, i) => i % 7 === 0))
  })

  test.each([{ insecureAllowUnauthenticated: 'false' }, { insecureAllowUnauthenticated: 'true' }])(
    'without required keys, %j',
    async (flags) => {
      const { key, idOf, expectAlike, expectSameCounts } = await startBoth({ keysRequired: 'false', ...flags })
      const hosts = ['127.0.0.1', 'localhost:8080', '[::1]', 'rebound.example', 'a.localhost', '']
      await expectAlike(
        hosts.map((host) => {
          const text = checkText({ key, id: idOf() }).replace('Host: 127.0.0.1', `Host: ${host}`)
          return { name: host, pieces: [Buffer.from(text)] }
        }),
      )
      const odd = smugglingCorpus(key, idOf).map(({ name, text }) => ({ name, pieces: [Buffer.from(text, 'latin1')] }))
      await expectAlike(odd.filter((_, i) => i % 3 === 0))
      await expectSameCounts()
    },
  )
})

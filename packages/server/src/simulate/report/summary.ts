// The answer of a simulation in a few sentences: whom the proposed policies deny, and which rule does.

import { grouped, numberOf, percent } from './numbers.ts'
import type { SimulationReport } from './report.ts'

/** `against` is the name of the policies that the proposed ones are compared with. */
export function summaryOf(report: SimulationReport, against: string | undefined): string[] {
  const { denied, clients, clients_denied: clientsDenied, requests } = report
  if (requests === 0) return ['There are no requests to replay.']
  const sentences = [denied === 0 ? 'Nobody would be denied.' : '']
  if (denied > 0) {
    const who = `${grouped(clientsDenied)} of ${numberOf(clients, 'client')} (${percent(clientsDenied, clients)})`
    sentences.push(`${who} would be denied at least once.`, topClient(report), topRule(report))
  }
  sentences.push(changeSentence(report, against))
  return sentences.filter((sentence) => sentence !== '')
}

/** The list may be sorted by new denials, so the client with the most denials need not be its first. */
function topClient({ denied, clients_denied: clientsDenied, top_clients: top }: SimulationReport): string {
  const [first, ...others] = top
  if (first === undefined || clientsDenied < 2) return ''
  const most = others.reduce((best, each) => (each.denied > best.denied ? each : best), first)
  return most.denied === 0 ? '' : `The client ${most.client_id} alone has ${percent(most.denied, denied)} of the denials.`
}

function topRule({ denied, policies }: SimulationReport): string {
  const rules = policies.flatMap(({ name, rules }) => rules.map((rule) => ({ policy: name, ...rule })))
  const [most] = rules.filter((rule) => rule.denied > 0).sort((a, b) => b.denied - a.denied)
  return most === undefined
    ? ''
    : `The rule ${most.words} of the policy ${most.policy} makes ${percent(most.denied, denied)} of them.`
}

function changeSentence({ change }: SimulationReport, against: string | undefined): string {
  if (change === null || against === undefined) return ''
  const { newly_denied: more, newly_allowed: fewer } = change
  if (more + fewer === 0) return `Beside ${against}, nothing changes.`
  const of = (clients: number): string => `of ${numberOf(clients, 'client')}`
  const denied = `${numberOf(more, 'request')} ${of(change.clients_newly_denied)} would be denied that were allowed before`
  const allowed = `${numberOf(fewer, 'request')} ${of(change.clients_newly_allowed)} allowed that were denied before`
  if (fewer === 0) return `Beside ${against}, ${denied}.`
  return more === 0
    ? `Beside ${against}, ${allowed.replace('allowed', 'would be allowed')}.`
    : `Beside ${against}, ${denied}, and ${allowed}.`
}

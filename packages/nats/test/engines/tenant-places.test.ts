import { describe, expect, it } from 'vitest'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import { seededRandom } from '../../../../src/testing/faults/traffic.js'
import { TenantShares } from '../../../server/src/sessions/tenant-shares.js'
import { Admission } from '../../src/engines/admission.js'

const stepMs = 100
const sessionMs = 30_000
const speechMs = 2_500
const silenceMs = 3_050
const durationMs = 4 * 60_000
/** When the small tenant comes. */
const smallFromMs = 60_000
/** Refused clients ask again, three times on average. */
const asksAgain = 0.75

interface Session {
  readonly tenant: string
  readonly endMs: number
  readonly isSpeaking: (atMs: number) => boolean
}

interface Outcome {
  asked: number
  refused: number
  /** Of these, the attempts and refusals while it was below its share. */
  askedBelow: number
  refusedBelow: number
  /** The mean of its sessions once both tenants are there, as a part of those for which there is room. */
  share: number
}

type Outcomes = Readonly<Record<'large' | 'small', Outcome>>

const nothing: Outcome = { asked: 0, refused: 0, askedBelow: 0, refusedBelow: 0, share: 0 }

/** The large tenant wants three times as many sessions as there is room for, the small one a fifth of them. */
const offerOnce = (places: number, reservePercent: number, seed: number): Outcomes => {
  const random = seededRandom(seed)
  const room = (places * (speechMs + silenceMs)) / speechMs
  const wants = { large: 3 * room, small: 0.2 * room }
  const outcomes = { large: { ...nothing }, small: { ...nothing } }
  let nowMs = 0
  const admission = new Admission(() => nowMs, random)
  const shares = new TenantShares({ now: () => nowMs })
  let sessions: readonly Session[] = []
  let asking: readonly { readonly tenant: 'large' | 'small'; readonly atMs: number }[] = []

  const ask = (tenant: 'large' | 'small'): void => {
    outcomes[tenant].asked += 1
    shares.saw(tenant)
    const isAbove = shares.isAbove(tenant)
    outcomes[tenant].askedBelow += isAbove ? 0 : 1
    try {
      admission.admit(0, isAbove ? reservePercent : 0)
    } catch (error) {
      if (!isSpeechError(error)) throw error
      outcomes[tenant].refused += 1
      outcomes[tenant].refusedBelow += isAbove ? 0 : 1
      const again = { tenant, atMs: nowMs + (error.retryAfterMs ?? 0) }
      if (random() < asksAgain) asking = [...asking, again]
      return
    }
    shares.add(tenant, 1)
    const phaseMs = nowMs - random() * speechMs
    const isSpeaking = (atMs: number): boolean => (atMs - phaseMs) % (speechMs + silenceMs) < speechMs
    sessions = [...sessions, { tenant, endMs: nowMs + sessionMs * (0.5 + random()), isSpeaking }]
  }

  for (; nowMs < durationMs; nowMs += stepMs) {
    for (const { tenant } of sessions.filter(({ endMs }) => endMs <= nowMs)) shares.add(tenant, -1)
    sessions = sessions.filter(({ endMs }) => endMs > nowMs)
    const used = Math.min(places, sessions.filter(({ isSpeaking }) => isSpeaking(nowMs)).length)
    admission.sample([{ used, capacity: places }])
    const due = asking.filter(({ atMs }) => atMs <= nowMs)
    asking = asking.filter(({ atMs }) => atMs > nowMs)
    for (const { tenant } of due) ask(tenant)
    for (const tenant of ['large', 'small'] as const) {
      if (tenant === 'small' && nowMs < smallFromMs) continue
      if (random() < (wants[tenant] * stepMs) / sessionMs) ask(tenant)
      const own = sessions.filter((session) => session.tenant === tenant).length
      if (nowMs >= smallFromMs) outcomes[tenant].share += ((own / room) * stepMs) / (durationMs - smallFromMs)
    }
  }
  return outcomes
}

/** The sums of several runs, and the mean of the shares: the calls of few come in bursts. */
const offer = (places: number, reservePercent: number): Outcomes => {
  const runs = Array.from({ length: 4 }, (_none, index) => offerOnce(places, reservePercent, 7 * (index + 1)))
  const totalOf = (tenant: 'large' | 'small'): Outcome => {
    const sum = (name: keyof Outcome): number => runs.reduce((total, run) => total + run[tenant][name], 0)
    return {
      asked: sum('asked'),
      refused: sum('refused'),
      askedBelow: sum('askedBelow'),
      refusedBelow: sum('refusedBelow'),
      share: sum('share') / runs.length,
    }
  }
  return { large: totalOf('large'), small: totalOf('small') }
}

describe('a tenant that wants 0.2 of the places beside one that wants 3 times all of them', () => {
  it.each([
    [10, 0.2],
    [20, 0.08],
    [40, 0.03],
  ])('gets them while it is below its share, of %i places, and not without shares', (places, maxRefused) => {
    const { small: before } = offer(places, 0)
    expect(before.refused / before.asked).toBeGreaterThan(0.8)
    expect(before.share).toBeLessThan(0.06)
    const { small, large } = offer(places, 10)
    expect(small.refusedBelow / small.askedBelow).toBeLessThan(maxRefused)
    expect(small.share).toBeGreaterThan(0.13)
    expect(large.share).toBeGreaterThan(0.45)
  })
})

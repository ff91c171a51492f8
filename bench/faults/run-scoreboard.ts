import type { NamedFault } from '../../src/testing/faults/named-faults.js'
import type { FaultTarget, Transport } from './fault-session.js'
import { judgeRun, type Verdict } from './judge-run.js'
import { runFault } from './run-fault.js'
import { runStoppedReading } from './run-stopped-reading.js'

/** One fault over one transport. */
export interface ScoredRun {
  readonly name: NamedFault
  readonly over: Transport
  readonly verdict: Verdict
}

export interface ScoreboardPlan {
  readonly names: readonly NamedFault[]
  readonly transports: readonly Transport[]
  /** Creates the service of each run. */
  readonly open: () => Promise<FaultTarget>
}

/** Number of concurrent sessions: they mostly wait. */
const atOnce = 8

/**
 * Plays every fault over every transport, several at a time; runs that measure the memory of the process come last, one
 * by one. `report` is called after each run. Resolves with the runs in the order of the names. Rejects with the
 * signal's reason, or with the error that prevented a run.
 */
export const runScoreboard = async (
  { names, transports, open }: ScoreboardPlan,
  report: (run: ScoredRun) => void,
  signal: AbortSignal,
): Promise<readonly ScoredRun[]> => {
  const runs = names.flatMap((name) => transports.map((over) => ({ name, over })))
  const scored = new Map<string, ScoredRun>()
  const play = async ({ name, over }: (typeof runs)[number]): Promise<void> => {
    const target = await open()
    try {
      const run = { name, over, verdict: await verdictOn(name, over, target, signal) }
      scored.set(`${name} ${over}`, run)
      report(run)
    } finally {
      await target.close()
    }
  }
  // The longest runs start first, to shorten the total time.
  const together = runs.filter(({ name }) => name !== 'stopped-reading').reverse()
  const work = async (): Promise<void> => {
    for (let run = together.shift(); run !== undefined; run = together.shift()) await play(run)
  }
  const workers = await Promise.allSettled(Array.from({ length: atOnce }, work))
  for (const worker of workers) if (worker.status === 'rejected') throw worker.reason
  for (const run of runs.filter(({ name }) => name === 'stopped-reading')) await play(run)
  return runs.flatMap(({ name, over }) => scored.get(`${name} ${over}`) ?? [])
}

const verdictOn = async (
  name: NamedFault,
  over: Transport,
  target: FaultTarget,
  signal: AbortSignal,
): Promise<Verdict> => {
  if (name === 'fresh-token' && target.token.type === 'fixed') {
    const findings = 'a fixed token cannot be renewed; set --auth-url and --client-id'
    return { promise: 'skipped', inShort: 'not tested', findings }
  }
  if (name === 'stopped-reading') return runStoppedReading(over, target, signal)
  return judgeRun(name, await runFault(name, over, target, signal))
}

import { reachedTarget, sampleSpeech } from '../faults/reached-target.js'
import { runScoreboard, type ScoredRun } from '../faults/run-scoreboard.js'
import { scriptedTargets, type ScriptedTargets } from '../faults/scripted-target.js'
import { planFaults, type FaultsFlags, type FaultsPlan } from '../options/plan-faults.js'
import { acquire } from '../process/acquire.js'
import { exitCode } from '../process/exit-code.js'
import { QuietEnd } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { watchInterruption } from '../process/interruption.js'
import type { Output } from '../process/output.js'
import { reachService } from '../service/reach-service.js'
import { paintFor } from '../view/paint.js'
import { legend, paragraph, runLine, scoreboardTable } from '../faults/scoreboard.js'

/**
 * `rxspeech faults`: plays the named faults through this client, and prints what it promises of each beside what other
 * clients were measured to do. Ends with 1 when a promise is broken.
 */
export const faults = async (flags: FaultsFlags, host: Host, output: Output): Promise<void> => {
  const plan = planFaults(flags, host.env)
  const interruption = watchInterruption(host, { also: output.gone })
  try {
    const targets = await acquire(openTargets(plan, host), interruption.signal)
    try {
      const err = paintFor(host.stderr, host.env)
      if (!plan.json) host.stderr.write(`${paragraph(introduction(plan), columnsOf(host.stderr))}\n`)
      const told = (run: ScoredRun): void => {
        if (!plan.json) host.stderr.write(runLine(run, columnsOf(host.stderr), err))
      }
      const runs = await runScoreboard({ ...plan, open: targets.open }, told, interruption.signal)
      tell(plan, runs, host, output)
      const broken = runs.filter(({ verdict }) => verdict.promise === 'broken').length
      if (broken > 0) throw new QuietEnd(exitCode.failed)
    } finally {
      await targets.close()
    }
  } finally {
    interruption.release()
  }
}

/** Who is no terminal gets lines as they are. */
const columnsOf = ({ columns }: { readonly columns?: number }): number => columns ?? Infinity

const introduction = ({ names, transports, service: { where } }: FaultsPlan): string => {
  const what = {
    scripted: 'a scripted service of this process, which proves what arrived sample by sample',
    here: 'the development service of this process; what arrived is as the ledger of each session has it',
    elsewhere: 'the service; what arrived is as the ledger of each session has it',
  }[where]
  const longest = names.includes('outage-30s') || names.includes('half-open') ? 'up to a minute' : 'some seconds'
  return `${names.length * transports.length} runs against ${what}. That takes ${longest}.`
}

const tell = ({ json }: FaultsPlan, runs: readonly ScoredRun[], host: Host, output: Output): void => {
  if (json) {
    const rows = runs.map(({ name, over, verdict }) => ({ fault: name, over, ...verdict }))
    output.write(`${JSON.stringify(rows)}\n`)
    return
  }
  const paint = paintFor(host.stdout, host.env)
  host.stderr.write('\n')
  const columns = output.terminal.columns ?? 80
  output.write(`${scoreboardTable(runs, columns, paint)}\n${legend(columns)}`)
  const broken = runs.filter(({ verdict }) => verdict.promise === 'broken').length
  const summary = broken === 0 ? 'Every promise is kept.' : `${broken} of ${runs.length} promises are broken.`
  output.write(`${paint(broken === 0 ? 'green' : 'magenta', summary)}\n`)
}

const openTargets = async (plan: FaultsPlan, host: Host): Promise<ScriptedTargets> => {
  if (plan.service.where === 'scripted') return scriptedTargets()
  const reached = await reachService(plan.service, host)
  try {
    const audio = await sampleSpeech()
    const open = () => Promise.resolve(reachedTarget(reached.access, audio, plan.timeoutMs))
    return { open, close: reached.close }
  } catch (error) {
    await reached.close()
    throw error
  }
}

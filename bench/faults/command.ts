import type { Command } from 'commander'
import { defineCommand, type CommandCall, type CommandContext } from '../../packages/service/src/cli/parsing/command.js'
import { flag, repeatedFlag, switchFlag, type FlagValues } from '../../packages/service/src/cli/parsing/flags.js'
import {
  jsonFlag,
  planService,
  serviceFlags,
  type Environment,
} from '../../packages/service/src/cli/parsing/service-flags.js'
import { oneOf, text } from '../../packages/service/src/cli/parsing/values.js'
import { exitCode, SilentExit, usageError } from '../../packages/service/src/cli/process/failure.js'
import type { Host } from '../../packages/service/src/cli/process/host.js'
import { acquire, watchInterruption } from '../../packages/service/src/cli/process/interruption.js'
import { createRootCommand } from '../../packages/service/src/cli/program.js'
import {
  reachService,
  type EmbeddedPlan,
  type RemotePlan,
} from '../../packages/service/src/cli/service/reach-service.js'
import { paintFor } from '../../packages/service/src/cli/view/paint.js'
import { namedFaults, type NamedFault } from '../../src/testing/faults/named-faults.js'
import type { Transport } from './fault-session.js'
import { runScoreboard, type ScoredRun } from './run-scoreboard.js'
import { legend, paragraph, runLine, scoreboardTable } from './scoreboard.js'
import { reachedTarget, sampleSpeech, scriptedTargets, type ScriptedTargets } from './targets.js'

const transports = ['websocket', 'grpc'] as const

/** Splits a comma-separated list of names. */
const faultNames = (typed: string, flagName: string): readonly NamedFault[] =>
  typed.split(',').map((name) => oneOf(namedFaults)(name.trim(), flagName))

export const faultsFlags = {
  only: repeatedFlag('<names>', 'only these faults, separated by commas; may be repeated', faultNames),
  over: flag('<transport>', 'grpc or websocket (default: both, if there are addresses for both)', oneOf(transports)),
  dev: switchFlag('use the development service in this process'),
  clients: switchFlag('instead: play the faults of a stand-in with clients of Deepgram and OpenAI, which it installs'),
  json: jsonFlag,
  ...serviceFlags,
  model: flag('<name>', 'the model, for 8 kHz', text),
}

type FaultsFlags = FlagValues<typeof faultsFlags>

/** The validated arguments of the command. */
export interface FaultsPlan {
  readonly names: readonly NamedFault[]
  readonly transports: readonly Transport[]
  /** A scripted service in this process, the development service, or a service that is already running. */
  readonly service: { readonly where: 'scripted' } | EmbeddedPlan | RemotePlan
  readonly json: boolean
  readonly timeoutMs?: number | undefined
}

/** The program behind `npm run faults`. */
export const createFaultsProgram = async (_args: readonly string[], context: CommandContext): Promise<Command> => {
  const command = await createRootCommand('npm run faults --', context)
  defineCommand(command, context, {
    description:
      'Runs sessions of this client under faults of the network and of services (drops, outages, half-open connections, ' +
      'refused tokens and more) and prints the results beside those measured for other clients. Without an address, the ' +
      'sessions use a scripted service in this process, which verifies for each sample whether it arrived. The exit code ' +
      `is 1 if a promise is broken. The faults: ${namedFaults.join(', ')}.`,
    flags: faultsFlags,
    examples: [
      ['npm run faults', 'all faults, over both transports'],
      ['npm run faults -- --only drop,half-open --over grpc', 'two faults over one transport'],
      ['npm run --silent faults -- --clients', 'the table of bench/faults/CLIENTS.md'],
      [
        'npm run faults -- --url wss://speech.example.com --model sales \\\n' +
          '      --auth-url https://auth.example.com --client-id acme',
        'with another service; the secret is in RXSPEECH_CLIENT_SECRET',
      ],
    ],
    run: playFaults,
  })
  return command
}

/**
 * Checks the combination of the flags. Throws `invalid-options` with a sentence that says what to set, before anything
 * is opened.
 */
export const planFaults = (flags: FaultsFlags, env: Environment): FaultsPlan => {
  const { over, json, timeoutMs } = flags
  const service = serviceOf(flags, env)
  const only = flags.only.flat()
  return {
    names: only.length === 0 ? namedFaults : namedFaults.filter((name) => only.includes(name)),
    transports: transportsOf(over, service),
    service,
    json,
    timeoutMs,
  }
}

const serviceOf = (flags: FaultsFlags, env: Environment): FaultsPlan['service'] => {
  const isElsewhere = flags.url !== undefined || flags.grpc !== undefined
  if (isElsewhere && flags.dev) throw usageError('--dev starts its own service; omit --url and --grpc.')
  // Also rejects flags that apply only to a service that is already running.
  // The sample call is compared with what its own model reads, the same in every run.
  const model = flags.model ?? (flags.dev ? 'call' : undefined)
  const plan = planService({ ...flags, model, models: [], modelTenant: undefined }, env)
  return isElsewhere || flags.dev ? plan : { where: 'scripted' }
}

const transportsOf = (over: Transport | undefined, service: FaultsPlan['service']): readonly Transport[] => {
  const wanted = over === undefined ? transports : [over]
  if (service.where !== 'elsewhere') return wanted
  if (service.url !== undefined && service.model === undefined) {
    throw usageError('A session over WebSocket needs a model; set --model NAME.')
  }
  const reached = wanted.filter((transport) => (transport === 'grpc' ? service.grpc : service.url) !== undefined)
  if (reached.length > 0) return reached
  throw usageError(
    `A session over ${over ?? 'either'} needs an address; set ${over === 'grpc' ? '--grpc HOST:PORT' : '--url wss://HOST'}.`,
  )
}

/** Plays the faults and prints the scoreboard. Fails with exit code 1 when a promise is broken. */
const playFaults = async ({ flags, host, output }: CommandCall<typeof faultsFlags, undefined>): Promise<void> => {
  if (flags.clients) {
    await playClients({ host, output })
    return
  }
  const plan = planFaults(flags, host.env)
  const interruption = watchInterruption(host, { also: output.closed })
  try {
    const targets = await acquire(openTargets(plan, host), interruption.signal)
    try {
      const paint = paintFor(host.stderr, host.env)
      if (!plan.json) host.stderr.write(`${paragraph(introduction(plan), columnsOf(host.stderr))}\n`)
      const reportRun = (run: ScoredRun): void => {
        if (!plan.json) host.stderr.write(runLine(run, columnsOf(host.stderr), paint))
      }
      const runs = await runScoreboard({ ...plan, open: targets.open }, reportRun, interruption.signal)
      printRuns(plan, runs, { host, output })
      if (countBroken(runs) > 0) throw new SilentExit(exitCode.failed)
    } finally {
      await targets.close()
    }
  } finally {
    interruption.release()
  }
}

/** Prints the table of `CLIENTS.md`; the clients are installed into a folder that is removed. */
const playClients = async ({ host, output }: CommandContext): Promise<void> => {
  host.stderr.write('Installing the clients; then this takes some 10 minutes.\n')
  const { installClients, playVendorClients, vendorTables } = await import('./vendor-clients.js')
  const { clients, remove } = await installClients()
  try {
    const runs = await playVendorClients(clients, ({ client, fault, reported }) => {
      host.stderr.write(`${client}, ${fault}: ${reported}\n`)
    })
    output.write(vendorTables(clients, runs))
  } finally {
    await remove()
  }
}

/** Output that is not a terminal gets unformatted lines. */
const columnsOf = ({ columns }: { readonly columns?: number }): number => columns ?? Infinity

const introduction = ({ names, transports: over, service: { where } }: FaultsPlan): string => {
  const what = {
    scripted: 'a scripted service in this process, which verifies each sample',
    here: 'the development service in this process; losses are those in the ledger of each session',
    elsewhere: 'the service; losses are those in the ledger of each session',
  }[where]
  const time = names.includes('outage-30s') || names.includes('half-open') ? 'up to a minute' : 'a few seconds'
  return `${names.length * over.length} runs with ${what}. This takes ${time}.`
}

const countBroken = (runs: readonly ScoredRun[]): number =>
  runs.filter(({ verdict }) => verdict.promise === 'broken').length

const printRuns = ({ json }: FaultsPlan, runs: readonly ScoredRun[], { host, output }: CommandContext): void => {
  if (json) {
    const rows = runs.map(({ name, over, verdict }) => ({ fault: name, over, ...verdict }))
    output.write(`${JSON.stringify(rows)}\n`)
    return
  }
  const paint = paintFor(host.stdout, host.env)
  host.stderr.write('\n')
  const columns = output.terminal.columns ?? 80
  output.write(`${scoreboardTable(runs, columns, paint)}\n${legend(columns)}`)
  const broken = countBroken(runs)
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

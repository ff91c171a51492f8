import { basename } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { usableCpus } from 'rxspeech-engines/threads/usable-cpus'
import { createModelRegistry } from 'rxspeech-engines/models/model-registry'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import type { ModelDescription } from 'rxspeech-engines/engine'
import { msForBytes, type Encoding } from 'rxspeech/internal/audio/format'
import { builtInEngines } from '../../start/built-ins.js'
import type { CommandContext } from '../parsing/command.js'
import { CommandError, usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { acquire, watchInterruption } from '../process/interruption.js'
import { packageModels, packageVersion, sampleCall } from '../process/package-files.js'
import { existingUserModels } from '../process/user-folders.js'
import { tokenOf, type Access } from '../service/access.js'
import { chooseModel, reachService, type EmbeddedPlan, type ServicePlan } from '../service/reach-service.js'
import { LiveScreen } from '../view/live-screen.js'
import { paintFor } from '../view/paint.js'
import { benchReport, machineFacts, type BenchReport, type BenchSetting } from './bench-report.js'
import { progressLine, reportText, stepLine } from './bench-view.js'
import { readCallRecording } from './call-recording.js'
import { startGenerator } from './generator.js'
import { startMeasuredService, type MeasuredService } from './measured-service.js'
import { runBench, type BenchResult, type StepReport } from './run-bench.js'
import { checkWritable, limitsOf, writeLimits } from './write-limits.js'

/** What was typed. */
export interface BenchRequest {
  readonly recording: string | undefined
  readonly channels: number | undefined
  readonly encoding: Encoding | undefined
  readonly targetP95: number
  readonly rounds: number
  readonly seconds: number
  readonly warmUp: number
  readonly maxCalls: number
  readonly format: 'text' | 'json'
  readonly write: string | undefined
  readonly over: 'grpc' | 'websocket' | undefined
  readonly workers: number | 'auto' | undefined
  readonly language: string | undefined
}

/** Measures, prints the report, and writes the limits. Rejects with the reason of an interruption, after the report. */
export const bench = async (
  flags: BenchRequest,
  plan: ServicePlan,
  { host, output }: CommandContext,
): Promise<void> => {
  if (flags.write !== undefined) await checkWritable(flags.write)
  const { signal, release } = watchInterruption(host, { also: output.closed })
  const screen = new LiveScreen({ out: { write: () => true }, err: host.stderr, env: host.env })
  try {
    const file = flags.recording ?? sampleCall()
    const { encoding, language, targetP95: targetMs, rounds } = flags
    const recording = await readCallRecording({ file, encoding, channels: channelsOf(flags.channels) }, host, signal)
    const durationMs = msForBytes(recording.format, recording.bytes.length)
    const model = plan.where === 'here' ? await modelOf(plan, host) : undefined
    const over = overOf(flags.over, plan)
    const setting: BenchSetting = {
      targetP95Ms: targetMs,
      rounds,
      model: model === undefined ? modelName(plan) : modelLabel(model),
      engine: model?.options.engine,
      recording: {
        name: flags.recording === undefined ? 'the sample call' : basename(file),
        durationMs,
        ...recording.format,
      },
      over,
      workers: model === undefined ? undefined : (flags.workers ?? 1),
      version: packageVersion(),
    }
    const service = await acquire(openService(plan, model, flags.workers ?? 1, host), signal)
    let result: BenchResult | undefined
    let shown: StepReport | undefined
    try {
      const access = await withToken(service.access)
      const generator = startGenerator({ recording, access, over, language })
      try {
        await runBench(
          {
            targetMs,
            rounds,
            warmUpMs: flags.warmUp * 1000,
            measureMs: flags.seconds * 1000,
            maxCalls: flags.maxCalls,
            recordingMs: durationMs,
            channels: recording.format.channels,
            cpus: model === undefined ? undefined : usableCpus(),
          },
          { generator, service },
          {
            progress: (progress) => screen.paint([], [progressLine(progress, screen.columns)]),
            finished: (known) => {
              result = known
              const last = known.steps.at(-1)
              if (last !== undefined && last !== shown) screen.note(`${stepLine(last)}\n`)
              shown = last
            },
          },
          signal,
        )
      } finally {
        screen.clear()
        await generator.close()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      await service.close()
    }
    if (result !== undefined) {
      const report = benchReport(setting, result, machineFacts(host.nodeVersion))
      output.write(
        flags.format === 'json' ? `${JSON.stringify(report)}\n` : reportText(report, paintFor(host.stdout, host.env)),
      )
      await finish(report, flags.write, host)
    }
    signal.throwIfAborted()
  } finally {
    release()
  }
}

const withoutResults = 'One call alone had no results; pass a --recording with speech that the model reads.'

/** The report is printed; writes the limits, or rejects if there are none. */
const finish = async (report: BenchReport, file: string | undefined, host: Host): Promise<void> => {
  if (!report.isComplete) {
    const { faults, resultsPerSecond } = report.alone
    const [fault] = faults
    if (fault !== undefined) throw new CommandError(`One call alone failed: ${fault.reason}`)
    if (resultsPerSecond === 0) throw new CommandError(withoutResults)
    if (file !== undefined)
      host.stderr.write(`rxspeech: ${file} is unchanged, because the measurement is incomplete.\n`)
    return
  }
  if (file === undefined) return
  const limits = limitsOf(report)
  if (limits === undefined) throw new CommandError(`${file} is unchanged, because not even one call is carried.`)
  await writeLimits(file, limits)
  const set = Object.entries(limits).map(([name, value]) => `limits.${name} is ${value}`)
  host.stderr.write(`rxspeech: ${file}: ${set.join(', ')}.\n`)
}

const channelsOf = (count: number | undefined): 1 | 2 | undefined => (count === 1 || count === 2 ? count : undefined)

const modelName = (plan: ServicePlan): string =>
  (plan.where === 'elsewhere' ? plan.model?.name : plan.model) ?? 'the default model'

const overOf = (over: 'grpc' | 'websocket' | undefined, plan: ServicePlan): 'grpc' | 'websocket' =>
  over ?? (plan.where === 'elsewhere' && plan.grpc === undefined ? 'websocket' : 'grpc')

/** As for a session with the embedded service. */
const foldersOf = ({ modelFolders }: EmbeddedPlan, env: Host['env']): readonly string[] =>
  modelFolders.length > 0 ? modelFolders : existingUserModels(env)

/** The model of the calls, without loading it. */
const modelOf = async (plan: EmbeddedPlan, { env }: Host): Promise<ModelDescription> => {
  const folders = [...foldersOf(plan, env), ...packageModels()]
  const registry = createModelRegistry({ folders, kinds: builtInEngines(env) })
  try {
    return chooseModel(registry, plan.modelFolders, plan)
  } finally {
    await registry.close()
  }
}

const openService = async (
  plan: ServicePlan,
  model: ModelDescription | undefined,
  workers: number | 'auto',
  host: Host,
): Promise<MeasuredService> => {
  if (plan.where === 'elsewhere') return reachService(plan, host)
  if (model === undefined) throw usageError('There is no model.')
  const { tenant, project } = plan
  const { name, tenant: modelTenant } = model
  const modelFolders = foldersOf(plan, host.env)
  return startMeasuredService({ modelFolders, model: { name, tenant: modelTenant }, tenant, project, workers }, host)
}

/** One token for all calls. */
const withToken = async (access: Access): Promise<Access> => {
  const { credentials, ca, proxy } = access
  if (credentials.type === 'token') return access
  const { accessToken } = await firstValueFrom(tokenOf(credentials, { ca, proxy }))
  return { ...access, credentials: { type: 'token', token: accessToken } }
}

import { checkService } from '../../service/start/models-and-projects.js'
import type { LogFormat } from '../../service/configuration/service-configuration.js'
import { openJsonLogger, type Logger, type LogLevel, textLogger } from '../../service/operations/logger.js'
import { exitCode } from '../process/exit-code.js'
import { QuietEnd, usageError } from '../process/failure.js'
import type { EndingSignal, Host } from '../process/host.js'
import { watchInterruption } from '../process/interruption.js'
import { planLog, planServe, refuseBeside, type ServeFlags } from '../options/plan-serve.js'
import type { Output } from '../process/output.js'
import { ConfigurationFaults, loadConfiguration, type LoadedConfiguration } from '../service/load-configuration.js'
import { serviceOptions, startConfigured } from '../service/start-configured.js'
import { startPlanned, type PlannedService } from '../service/start-planned.js'
import { howToTry } from '../view/how-to-try.js'
import { logPaint } from '../view/log-paint.js'
import { paintFor } from '../view/paint.js'

/**
 * `rxspeech serve`: the service until a signal ends it. One line of JSON on stdout when everything listens, and nothing
 * else there ever; the log on stderr. The first signal drains: sessions get their finals. The second ends at once.
 */
export const serve = async (flags: ServeFlags, host: Host, output: Output): Promise<void> => {
  const loaded = flags.config === undefined ? undefined : await configured(flags, flags.config, host)
  if (flags.check === true) {
    await checked(loaded, host, output)
    return
  }
  const logger = await openLog(host, { ...loaded?.values.log, ...planLog(flags) })
  const drainMs = loaded?.values.limits?.drainMs
  await untilEnded(flags, host, output, logger, drainMs, () =>
    loaded === undefined
      ? startPlanned(planServe(flags, host.env), logger, host.env)
      : startConfigured(loaded, logger, host.env),
  )
}

/** The file, or the command ends with a line for each of its faults. */
const configured = async (flags: ServeFlags, file: string, host: Host): Promise<LoadedConfiguration> => {
  refuseBeside(flags)
  try {
    return await loadConfiguration(file)
  } catch (error) {
    if (!(error instanceof ConfigurationFaults)) throw error
    for (const line of error.lines) host.stderr.write(`${line}\n`)
    host.stderr.write(`rxspeech: ${error.message}\n`)
    throw new QuietEnd(exitCode.usage)
  }
}

const checked = async (loaded: LoadedConfiguration | undefined, host: Host, output: Output): Promise<void> => {
  if (loaded === undefined) {
    throw usageError('--check is for a file; name it with --config.')
  }
  const problems = await checkService(await serviceOptions(loaded, host.env))
  if (problems.length === 0) {
    output.write(`${loaded.file} is sound.\n`)
    return
  }
  for (const { message } of problems) host.stderr.write(`${message}\n`)
  const count = problems.length === 1 ? 'a model or project' : `${problems.length} models or projects`
  host.stderr.write(`rxspeech: ${loaded.file} is sound, but names ${count} with faults; nothing was started.\n`)
  throw new QuietEnd(exitCode.usage)
}

const untilEnded = async (
  flags: Pick<ServeFlags, 'dev'>,
  host: Host,
  output: Output,
  logger: Logger,
  drainMs: number | undefined,
  start: () => Promise<PlannedService>,
): Promise<void> => {
  let told: (signal: EndingSignal) => void = () => undefined
  const ended = new Promise<EndingSignal>((resolve) => {
    told = resolve
  })
  const interruption = watchInterruption(host, {
    first: (signal) => {
      told(signal)
      return true
    },
  })
  try {
    const { service, access, hasSubscribers } = await start()
    const problems = [...service.models.problems(), ...service.projects.problems()]
    for (const { code, message } of problems) logger.log('warn', message, { code })
    // Nobody may read it any more, which is no reason to end.
    output.write(`${JSON.stringify(access)}\n`)
    const { authUrl: http, grpc, operations, model } = access
    logger.log('info', 'The service listens.', { http, grpc, operations, model })
    if (!hasSubscribers) {
      logger.log(
        'warn',
        'Nobody can get a token yet; make a subscription with: rxspeech subscription create --state DIR',
      )
    }
    // In a terminal the line of JSON is wrapped, and nobody is there to parse it.
    if (flags.dev === true && host.stdout.isTTY && host.stderr.isTTY) host.stderr.write(howToTry(access) ?? '')
    const signal = await ended
    logger.log('info', 'The service takes no more sessions and ends those that run with their finals.', { signal })
    await service.close(drainMs === undefined ? {} : { drainMs })
    logger.log('info', 'The service has ended.')
  } finally {
    interruption.release()
  }
}

interface LogOptions {
  readonly level?: LogLevel
  readonly format?: LogFormat
}

/** A line for people in a terminal, JSON for everything else. */
const openLog = async (
  { stderr, env }: Host,
  { level = env['RXSPEECH_DEBUG'] === undefined ? 'info' : 'debug', format }: LogOptions,
): Promise<Logger> => {
  // A log that nobody reads must not end the service.
  stderr.on('error', () => undefined)
  if ((format ?? (stderr.isTTY ? 'text' : 'json')) === 'json') return openJsonLogger(stderr, level)
  return textLogger(stderr, { level, now: () => new Date(), paint: logPaint(paintFor(stderr, env)) })
}

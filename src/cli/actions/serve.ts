import pino, { type Logger } from 'pino'
import { isSpeechError } from '../../errors/speech-error.js'
import type { EndingSignal, Host } from '../process/host.js'
import { watchInterruption } from '../process/interruption.js'
import { planServe, type ServeFlags } from '../options/plan-serve.js'
import type { Output } from '../process/output.js'
import { startPlanned } from '../service/start-planned.js'

/**
 * `rxspeech serve`: the service until a signal ends it. One line of JSON on stdout when everything listens, and nothing
 * else there ever; the log on stderr. The first signal drains: sessions get their finals. The second ends at once.
 */
export const serve = async (flags: ServeFlags, host: Host, output: Output): Promise<void> => {
  const plan = planServe(flags, host.env)
  const log = openLog(host)
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
    const { service, access, hasSubscribers } = await startPlanned(plan, (error) => logFault(log, host, error))
    for (const { code, message } of service.models.problems()) log.warn({ code }, message)
    // Nobody may read it any more, which is no reason to end.
    output.write(`${JSON.stringify(access)}\n`)
    log.info({ http: access.authUrl, grpc: access.grpc, model: access.model }, 'The service listens.')
    if (!hasSubscribers) {
      log.warn('Nobody can get a token yet; make a subscription with: rxspeech subscription create --state DIR')
    }
    const signal = await ended
    log.info({ signal }, 'The service takes no more sessions and ends those that run with their finals.')
    await service.close()
    log.info('The service has ended.')
  } finally {
    interruption.release()
  }
}

const openLog = ({ stderr, env }: Host): Logger => {
  // A log that nobody reads must not end the service.
  stderr.on('error', () => undefined)
  return pino({ base: null, level: env['RXSPEECH_DEBUG'] === undefined ? 'info' : 'debug' }, stderr)
}

/** Where it came from is for who looks for the fault; what it said may hold anything, so only our own words are kept. */
const logFault = (log: Logger, { env }: Host, error: unknown): void => {
  const known = isSpeechError(error) ? { code: error.code } : {}
  // What is amiss with a model's files is the operator's business, whom the client was told to ask.
  const why = isSpeechError(error) && isSpeechError(error.cause) ? { cause: error.cause.message } : {}
  const message = isSpeechError(error) ? error.message : 'A fault inside; run with RXSPEECH_DEBUG=1 to see where.'
  const stack = env['RXSPEECH_DEBUG'] !== undefined && error instanceof Error ? { stack: error.stack } : {}
  log.error({ ...known, ...why, ...stack }, message)
}

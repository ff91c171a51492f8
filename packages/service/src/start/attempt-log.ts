import type { AttemptReport } from 'rxspeech-nats/engines/attempt-report'
import type { ProcessAddress } from 'rxspeech-nats/engines/protocol'
import type { LogFields, Logger } from 'rxspeech-server/operations/logger'
import type { RateLimitedLog } from 'rxspeech-server/operations/service-log'

/**
 * Logs attempts to recognize a segment: those that begin at the level debug, without a limit, and those that end
 * without a result. Failures are faults, with the same fields.
 *
 * @param sentence of those without a result
 * @param peerFields the fields of the process at the other end
 */
export const attemptLog =
  (
    { logger, log }: { readonly logger: Logger; readonly log: RateLimitedLog },
    sentence: string,
    peerFields: (peer: ProcessAddress) => LogFields,
  ) =>
  ({ peer, lost, ...attempt }: AttemptReport): void => {
    const fields = { ...attempt, ...peerFields(peer) }
    if (lost === undefined) logger.log('debug', 'Segment begun', fields)
    else log.write(sentence, 'warn', sentence, { ...fields, cause: lost })
  }

import type { LogFormat } from '../../configuration/service-configuration.js'
import {
  type Logger,
  type LogLevel,
  openJsonLogger,
  textLogger,
  type TextStyle,
} from 'rxspeech-server/operations/logger'
import { processIdentity } from 'rxspeech-server/operations/process-identity'
import type { Host } from '../process/host.js'
import { outdatedNode } from '../process/node-lines.js'
import { paintFor, type Paint } from '../view/paint.js'

interface LogOptions {
  /** @default 'debug' with RXSPEECH_DEBUG, else 'info' */
  readonly level?: LogLevel | undefined
  /** @default 'text' in a terminal, else 'json' */
  readonly format?: LogFormat | undefined
}

/** The log of the service, on stderr: as text for a person, or as JSON with the identity of this process. */
export const openLog = async (
  { stderr, env }: Pick<Host, 'stderr' | 'env'>,
  { level = env['RXSPEECH_DEBUG'] === undefined ? 'info' : 'debug', format }: LogOptions,
): Promise<Logger> => {
  // A closed stderr must not end the service.
  stderr.on('error', () => undefined)
  if ((format ?? (stderr.isTTY ? 'text' : 'json')) === 'json') return openJsonLogger(stderr, level, processIdentity())
  return textLogger(stderr, { level, now: () => new Date(), paint: logPaint(paintFor(stderr, env)) })
}

/** Warns of a Node that is out of support; called when the service is ready, not beside the error of a failed start. */
export const warnOfOutdatedNode = (logger: Logger, { nodeVersion }: Pick<Host, 'nodeVersion'>): void => {
  const outdated = outdatedNode(nodeVersion)
  if (outdated !== undefined) logger.log('warn', outdated)
}

/** The log in a terminal: warnings and errors stand out, the fields of every line are dim. */
const logPaint =
  (paint: Paint) =>
  (style: TextStyle, text: string): string => {
    switch (style) {
      case 'dim':
        return paint('dim', text)
      case 'warn':
        return paint('magenta', text)
      case 'error':
        return paint('bold', paint('magenta', text))
      case 'plain':
        return paint('cyan', text)
    }
  }

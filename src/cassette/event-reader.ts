import type { SessionEvent } from '../protocol/session-event.js'
import { DataflowProtocol } from '../client/dataflow/protocol.js'
import { RecognizerProtocol } from '../client/recognizer/protocol.js'
import type { CassetteHeader, TapedMessage } from './cassette.js'
import { stepOf } from './mismatch.js'
import { dataflowMessageOf, socketMessageOf } from './taped-message.js'

/** Reads the service's messages of one connection, as the session of that connection would. */
export interface EventReader {
  /** A plain service does not name its responses: they are known by what was asked. */
  readonly asked: (message: TapedMessage) => void
  readonly eventOf: (message: TapedMessage) => SessionEvent
}

export const eventReader = ({ transport, format }: CassetteHeader): EventReader => {
  if (transport === 'websocket') {
    const dialogue = new RecognizerProtocol({
      request: { audioFormat: 'pcm', modelName: '', sampleRateHz: format.sampleRateHz },
      encoding: 'pcm',
    })
    return { asked: () => undefined, eventOf: (message) => dialogue.read(socketMessageOf(message)).event }
  }
  const dialogue = new DataflowProtocol({
    start: { audio: format, tenant: '', projectName: '' },
    dialect: 'pascal',
  })
  const asking: Readonly<Record<string, () => unknown>> = {
    start: () => dialogue.start(''),
    finalize: () => dialogue.finalize(),
    stop: () => dialogue.stop(),
  }
  return {
    asked: (message) => asking[stepOf(message)]?.(),
    eventOf: (message) => dialogue.read(dataflowMessageOf(message)).event,
  }
}

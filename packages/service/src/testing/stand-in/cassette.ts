import { join } from 'node:path'
import { asyncScheduler } from 'rxjs'
import { LineQueue } from 'rxspeech/internal/cassette/record/line-queue'
import { Recorder } from 'rxspeech/internal/cassette/record/recorder'
import { Secrets } from 'rxspeech/internal/cassette/record/secrets'
import { openerOf, toFile } from 'rxspeech/internal/cassette/record/sink'
import type { SocketMessage } from 'rxspeech/internal/transport/link'
import type { ClientSession, WireObserver } from './session.js'

interface Waiting {
  readonly direction: 'received' | 'sent'
  readonly message: SocketMessage
  readonly atMs: number
}

const maxQueueBytes = 32 * 1_048_576
/** How many messages may come before the format of the audio is known. */
const maxWaiting = 1_000

/**
 * Records the socket of a client into a cassette in this folder, which exists: its own messages, and those of the stand-in. The file is opened when
 * the format of the audio is known, which its first line states.
 */
export const recordSession = (folder: string, session: ClientSession, key: string): WireObserver => {
  const path = join(folder, `${session.dialect}-${session.number}.jsonl`)
  let nowMs = asyncScheduler.now()
  let waiting: Waiting[] | undefined = []
  let queue: LineQueue | undefined
  let recorder: Recorder | undefined
  let connection: ReturnType<Recorder['connect']> | undefined

  const begin = (sampleRateHz: number): void => {
    const held = waiting ?? []
    waiting = undefined
    const laterMs = nowMs
    nowMs = held[0]?.atMs ?? laterMs
    const secrets = new Secrets([key])
    const clock = { now: () => nowMs, schedule: asyncScheduler.schedule.bind(asyncScheduler) }
    queue = new LineQueue(openerOf(toFile(path))(), { maxQueueBytes, onLoss: () => undefined })
    recorder = new Recorder(
      queue,
      { scheduler: clock, secrets, audio: 'embedded' },
      { transport: 'websocket', format: { encoding: 'pcm', sampleRateHz, channels: 1 } },
    )
    connection = recorder.connect({ address: `ws://stand-in${session.path.split('?')[0] ?? ''}` })
    connection.opened()
    for (const { direction, message, atMs } of held) {
      nowMs = atMs
      write(direction, message)
    }
    nowMs = laterMs
  }

  const write = (direction: 'received' | 'sent', message: SocketMessage): void => {
    // The cassette is the client's: what the stand-in receives was sent.
    if (direction === 'received') connection?.sent(message)
    else connection?.received(message)
  }

  return {
    message: (direction, message) => {
      nowMs = asyncScheduler.now()
      if (waiting !== undefined) {
        waiting.push({ direction, message, atMs: nowMs })
        if (session.audio.sampleRateHz > 0 || waiting.length > maxWaiting) begin(session.audio.sampleRateHz || 16_000)
        return
      }
      write(direction, message)
    },
    end: () => {
      nowMs = asyncScheduler.now()
      if (waiting !== undefined) begin(session.audio.sampleRateHz || 16_000)
      connection?.closed()
      recorder?.end('complete')
      queue?.finish(() => undefined)
    },
  }
}

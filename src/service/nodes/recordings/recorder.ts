import type * as t from 'io-ts'
import { Observable } from 'rxjs'
import { bytesPerFrame, type AudioFormat } from '../../../audio/format.js'
import { SpeechError } from '../../../errors/speech-error.js'
import { defineNode } from '../core/define-node.js'
import { allChannels } from '../core/events.js'
import type { Node, NodeContext, NodeItem } from '../core/node.js'
import { nodeOptions, oneOfWords, wholeNumberFrom } from '../core/node-options.js'
import { Recording, type Recorded } from './recording.js'
import { eventItem } from '../core/node-steps.js'

/** A WAV file ends at 4 GiB; so much is left for its header. */
const largestBytes = 2 ** 32 - 2 ** 16
const dayMs = 86_400_000

const options = nodeOptions(
  {},
  {
    channels: oneOfWords('together', 'apart'),
    maxDurationMs: wholeNumberFrom(1, dayMs),
    maxBytes: wholeNumberFrom(1024, largestBytes),
  },
)
type Options = t.TypeOf<typeof options>

/**
 * Writes the audio as it comes, µ-law as µ-law, into WAV files of the operator's folder for recordings; without one the
 * session is refused. One file, or with `channels: apart` one for each channel. A file is named by the ids of session and
 * node and the channel, never by a client's word, and made for its owner alone. It ends at `maxDurationMs` (default 4
 * hours) or `maxBytes` (default 2 GiB); audio after that is let go. Each file is told when it is whole, as the event
 * `Recorded` with `Data` {File, DurationMsec, Truncated}. A session without audio leaves no file and no event, a cancelled one
 * files that can be read, and no event; what a process that is killed leaves is mended at the next start.
 *
 * Audio waits for the disk upstream; where nobody waits, 4 MiB may be under way. A disk that is full, too slow or broken
 * is a fault of the node.
 */
export const recorder = defineNode({
  name: 'recorder',
  summary: 'Writes the audio to WAV files of the service.',
  inputs: { audio: 'audio' },
  outputs: { events: 'event' },
  needs: ['recordings'],
  manualAck: true,
  options,
  open: (given, context) => openRecorder(given, context),
})

const openRecorder = (given: Options, context: NodeContext): Node => {
  const { node, inputs, recordingsFolder: folder } = context
  const format = inputs['audio']
  if (folder === undefined) throw new SpeechError('refused', `${node} records, and this service keeps no recordings.`)
  if (format === undefined) throw new SpeechError('internal', 'The node has no audio port.')
  return (input$) => record(input$, given, context, folder, format)
}

const record = (
  input$: Observable<NodeItem>,
  { channels, maxDurationMs = dayMs / 6, maxBytes = 2 ** 31 }: Options,
  { node, session, ack, log, offsetMs = 0 }: NodeContext,
  folder: string,
  format: AudioFormat,
): Observable<NodeItem> =>
  new Observable((subscriber) => {
    const apart = channels === 'apart'
    const frameBytes = bytesPerFrame(format) / (apart ? format.channels : 1)
    const maxFrames = Math.floor(Math.min(maxBytes / frameBytes, (maxDurationMs * format.sampleRateHz) / 1000))
    const recording = new Recording({
      folder,
      name: `${nameOf(session.id)}-${nameOf(node)}`,
      format,
      apart,
      maxFrames,
      consumed: ack,
      onFault: (fault) => {
        subscriber.error(fault)
      },
    })
    let isEnded = false
    const end = (truncated: boolean): void => {
      isEnded = true
      recording.close().then(
        (files) => {
          for (const file of files) subscriber.next(recordedEvent(file, truncated, offsetMs))
          subscriber.complete()
        },
        (error: unknown) => {
          subscriber.error(error)
        },
      )
    }
    // However it ends, and also when it never ended by itself.
    subscriber.add(() => {
      recording.close().catch((error: unknown) => {
        log('a recording could not be ended', { node, cause: error instanceof SpeechError ? error.message : 'unknown' })
      })
    })
    subscriber.add(
      input$.subscribe({
        next: (item) => {
          if (item.type !== 'audio' || isEnded) return
          recording.add(item.bytes)
          if (!recording.isTruncated) return
          end(true)
          ack(Infinity)
        },
        error: (error: unknown) => {
          subscriber.error(error)
        },
        complete: () => {
          if (!isEnded) end(false)
        },
      }),
    )
  })

/** What can stand in the name of a file anywhere. */
const nameOf = (id: string): string => id.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 64)

const recordedEvent = ({ file, channel, durationMs }: Recorded, truncated: boolean, offsetMs: number): NodeItem =>
  eventItem({
    name: 'Recorded',
    channel: channel ?? allChannels,
    startMs: offsetMs,
    endMs: offsetMs + durationMs,
    data: { File: file, DurationMsec: durationMs, ...(truncated ? { Truncated: true } : {}) },
  })

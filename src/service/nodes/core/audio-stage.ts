import { endWith, filter, map } from 'rxjs'
import type { AudioFormat } from '../../../audio/format.js'
import { SpeechError } from '../../../errors/speech-error.js'
import { useResource } from '../../recognition/use-resource.js'
import type { Node, NodeItem, PortFormats } from './node.js'

type AudioItem = Extract<NodeItem, { type: 'audio' }>

/** What a node does with audio, piece by piece: its state, one for each subscription. */
export interface AudioStage {
  /** Takes whole frames and gives what can be said by now. */
  readonly take: (item: AudioItem) => readonly NodeItem[]
  /** The input ended: what is left to say. */
  readonly finish?: () => readonly NodeItem[]
  /** Gives memory back, however the subscription ends. */
  readonly free?: () => void
}

/** A freed stage is one that frees nothing where it holds nothing. */
const holding = ({ take, finish = () => [], free = () => undefined }: AudioStage): Required<AudioStage> => ({
  take,
  finish,
  free,
})

/**
 * A node of a stage. Pieces are dealt with one after the other, also where one comes in the middle of an output; completion
 * of the input flushes, errors pass through, and what does not open ends the output with its error.
 */
export const audioStage =
  (open: () => AudioStage | Promise<AudioStage>): Node =>
  (input$) =>
    input$.pipe(
      filter((item) => item.type === 'audio'),
      map((item): AudioItem | undefined => item),
      endWith(undefined),
      useResource(
        () => {
          const stage = open()
          return stage instanceof Promise ? stage.then(holding) : holding(stage)
        },
        (stage, item) => (item === undefined ? stage.finish() : stage.take(item)),
      ),
    )

/** The format of one of a node's ports; a project gives one to every audio port that is wired. */
export const portFormat = (formats: PortFormats, port: string): AudioFormat => {
  const format = formats[port]
  if (format === undefined) throw new SpeechError('internal', `The node has no audio at its port ${port}.`)
  return format
}

/** Audio for the wire, or nothing where there are no bytes: an empty piece tells nobody anything. */
export const audioItem = (bytes: Uint8Array, port?: string): readonly NodeItem[] =>
  bytes.length === 0 ? [] : [port === undefined ? { type: 'audio', bytes } : { type: 'audio', bytes, port }]

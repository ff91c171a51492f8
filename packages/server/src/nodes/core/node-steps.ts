import { filter, type OperatorFunction } from 'rxjs'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { useResource } from './use-resource.js'
import type { AudioItem, Node, NodeItem, PortFormats } from './node.js'

/** What a node does with one item after another: the state of one subscription. */
export interface NodeSteps<Item extends NodeItem = NodeItem> {
  /** Takes an item, of audio whole frames, and returns what is decided by now. */
  readonly take: (item: Item) => readonly NodeItem[]
  /** The input completed: returns the remaining items. */
  readonly finish?: () => readonly NodeItem[]
  /** Frees memory, at any end of the subscription. */
  readonly free?: () => void
}

/**
 * Runs the steps of a node. `open` is called for each subscription. Items that arrive while an answer is emitted wait,
 * so answers keep the order of the items. Completes after `finish`; errors of the source and of the steps pass through.
 */
export const stepItems = <Item extends NodeItem = NodeItem>(
  open: () => NodeSteps<Item> | Promise<NodeSteps<Item>>,
): OperatorFunction<Item, NodeItem> =>
  useResource(
    open,
    (steps, item) => steps.take(item),
    (steps) => steps.finish?.() ?? [],
  )

/** A node of steps that take audio only. */
export const audioNode =
  (open: () => NodeSteps<AudioItem> | Promise<NodeSteps<AudioItem>>): Node =>
  (input$) =>
    input$.pipe(
      filter((item) => item.type === 'audio'),
      stepItems(open),
    )

/** The format of an audio port; a project provides one for every audio port that has a wire. */
export const portFormat = (formats: PortFormats, port = 'audio'): AudioFormat => {
  const format = formats[port]
  if (format === undefined) throw new SpeechError('internal', `The node has no audio at its port ${port}.`)
  return format
}

/** Audio as items: none if there are no bytes, because an empty item means nothing. */
export const audioItems = (bytes: Uint8Array, port?: string): readonly NodeItem[] =>
  bytes.length === 0 ? [] : [port === undefined ? { type: 'audio', bytes } : { type: 'audio', bytes, port }]

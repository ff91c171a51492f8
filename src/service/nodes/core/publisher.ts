import { endWith, map } from 'rxjs'
import type { AudioFormat } from '../../../audio/format.js'
import { useResource } from '../../recognition/use-resource.js'
import { audioItem } from './audio-stage.js'
import { openConverter } from './convert-audio.js'
import { defineNode } from './define-node.js'
import { noOptions } from './node-options.js'
import type { Node, NodeItem } from './node.js'
import { outputFormat } from './output-format.js'

/**
 * What goes to the client: events as EVENT messages, audio as AUDIO messages, in the order in which they come. Audio is
 * told in the format that `Audio.Output` asks for, else in the one that the client sends. Refuses the session with
 * `invalid-field` for an `Audio.Output` that is none.
 */
export const publisher = defineNode({
  name: 'publisher',
  summary: 'Tells the client what comes in: events, and audio to be heard.',
  inputs: { events: 'event', audio: 'audio' },
  optionalInputs: ['audio'],
  outputs: {},
  options: noOptions,
  open: async (_options, { inputs: { audio }, sessionFormat, audioOutput }) => {
    if (audio === undefined || sessionFormat === undefined) return (input$) => input$
    const wanted = outputFormat(audioOutput, sessionFormat)
    if (isSame(audio, wanted)) return (input$) => input$
    // Loads what changes rates, or refuses the session before it is started.
    const probe = await openConverter(audio, wanted)
    probe.free()
    return converting(audio, wanted)
  },
})

const isSame = (one: AudioFormat, other: AudioFormat): boolean =>
  one.encoding === other.encoding && one.sampleRateHz === other.sampleRateHz && one.channels === other.channels

const converting =
  (from: AudioFormat, to: AudioFormat): Node =>
  (input$) =>
    input$.pipe(
      map((item): NodeItem | undefined => item),
      endWith(undefined),
      useResource(
        () => openConverter(from, to),
        (converter, item): readonly NodeItem[] => {
          if (item === undefined) return audioItem(converter.finish())
          return item.type === 'event' ? [item] : audioItem(converter.take(item.bytes))
        },
      ),
    )

import { decodeSamples, encodeSamples } from 'rxspeech/internal/audio/codec'
import { amplify, gainFactor } from '../core/mix.js'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Settings } from 'rxspeech/internal/protocol/dataflow-messages'
import { defineNode } from '../core/define-node.js'
import { nodeOptions, numberFrom, nonEmptyText } from '../core/node-options.js'
import { audioItems, audioNode, portFormat } from '../core/node-steps.js'

const minDb = -60
const maxDb = 60

interface GainOptions {
  readonly gainDb: number
  /** The name of a setting of the session that overrides `gainDb` while it is set. */
  readonly setting?: string | undefined
}

/** Changes the level of all channels and clips at full scale. An `Update` applies from the next chunk on. */
export const gain = defineNode({
  name: 'gain',
  summary: 'Makes audio louder or softer.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio' },
  options: nodeOptions({ gainDb: numberFrom(minDb, maxDb) }, { setting: nonEmptyText }),
  checkSettings: (next, _now, options) => refusal(next, options),
  open: (options, { inputs, settings }) => {
    const refused = refusal(settings(), options)
    if (refused !== undefined) throw refused
    const { encoding } = portFormat(inputs)
    return audioNode(() => {
      let factor = 1
      return {
        take: ({ bytes }) => {
          const gainDb = gainOf(settings(), options)
          if (gainDb !== undefined) factor = gainFactor(gainDb)
          return audioItems(
            factor === 1 ? bytes : encodeSamples(amplify(decodeSamples(bytes, encoding), factor), encoding),
          )
        },
      }
    })
  },
})

const refusal = (settings: Settings, options: GainOptions): SpeechError | undefined =>
  gainOf(settings, options) === undefined
    ? new SpeechError('invalid-field', `${String(options.setting)} must be a number from ${minDb} to ${maxDb}.`)
    : undefined

/** The present gain in dB, which a setting may give as a number or as text; undefined if that is not a valid gain. */
const gainOf = (settings: Settings, { gainDb, setting }: GainOptions): number | undefined => {
  const given = setting === undefined || !Object.hasOwn(settings, setting) ? gainDb : settings[setting]
  const value = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  return typeof value === 'number' && value >= minDb && value <= maxDb ? value : undefined
}

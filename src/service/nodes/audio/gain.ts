import { decodeSamples, encodeSamples } from '../../../audio/codec.js'
import { amplify, gainFactor } from '../../../audio/gain.js'
import { SpeechError } from '../../../errors/speech-error.js'
import type { Settings } from '../../../protocol/dataflow-messages.js'
import { audioItem, audioStage, portFormat } from '../core/audio-stage.js'
import { defineNode } from '../core/define-node.js'
import { nodeOptions, numberFrom, text } from '../core/node-options.js'

const lowestDb = -60
const highestDb = 60

interface GainOptions {
  readonly gainDb: number
  /** The name of a setting of the session that overrides `gainDb` while it is there. */
  readonly setting?: string
}

/** The gain that holds now, in dB; a number may come as a string (decisions.md: field dialects). Undefined: not one. */
const gainOf = (settings: Settings, { gainDb, setting }: GainOptions): number | undefined => {
  const given = setting === undefined || !Object.hasOwn(settings, setting) ? gainDb : settings[setting]
  const value = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  return typeof value === 'number' && value >= lowestDb && value <= highestDb ? value : undefined
}

const refusal = (settings: Settings, options: GainOptions): SpeechError | undefined =>
  gainOf(settings, options) === undefined
    ? new SpeechError('invalid-field', `${String(options.setting)} must be a number from ${lowestDb} to ${highestDb}.`)
    : undefined

/** Louder or softer, all channels alike, held at full scale; an Update of the setting works from the next piece on. */
export const gain = defineNode({
  name: 'gain',
  summary: 'Makes audio louder or softer.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio' },
  options: nodeOptions({ gainDb: numberFrom(lowestDb, highestDb) }, { setting: text }),
  checkSettings: (next, _now, options) => refusal(next, options),
  open: (options, { inputs, settings }) => {
    const refused = refusal(settings(), options)
    if (refused !== undefined) throw refused
    const { encoding } = portFormat(inputs, 'audio')
    return audioStage(() => {
      let factor = 1
      return {
        take: ({ bytes }) => {
          const gainDb = gainOf(settings(), options)
          if (gainDb !== undefined) factor = gainFactor(gainDb)
          return audioItem(
            factor === 1 ? bytes : encodeSamples(amplify(decodeSamples(bytes, encoding), factor), encoding),
          )
        },
      }
    })
  },
})

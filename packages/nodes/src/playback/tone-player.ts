import type * as t from 'io-ts'
import { defineNode, listOf, nodeOptions, numberFrom, wholeNumberFrom } from 'rxspeech-server/nodes'
import { optionsItem } from 'rxspeech-server/nodes/core/node-options'
import { portFormat } from 'rxspeech-server/nodes/core/node-steps'
import { knownTones, toneCadence, type ToneStep } from './tone-cadence.js'
import { codec, oneOf } from 'rxspeech/internal/protocol/validation'
import { playback, playerFormats, playerOptions } from './playback.js'

const step = optionsItem(
  'a step',
  { frequenciesHz: listOf(numberFrom(20, 20_000), 4), onMs: wholeNumberFrom(1, 60_000) },
  { offMs: wholeNumberFrom(0, 60_000), levelDbm0: numberFrom(-60, 0) },
)
type StepOptions = t.TypeOf<typeof step>
const steps = listOf(step, 16)

type ToneName = keyof typeof knownTones
const toneNames = Object.keys(knownTones)
const tone = codec(
  `${oneOf(...toneNames).name}, or ${steps.name}`,
  (value): value is ToneName | readonly StepOptions[] =>
    (typeof value === 'string' && toneNames.includes(value)) || (steps.is(value) && value.length > 0),
)

const options = nodeOptions({ tone }, { ...playerOptions, durationMs: wholeNumberFrom(1, 600_000) })

/**
 * Plays a tone to the client, by name (ITU-T E.180) or as steps of frequencies, level and pause, repeated for
 * `durationMs` or once. `playback` documents when, `playerFormats` in which format.
 */
export const tonePlayer = defineNode({
  name: 'tone-player',
  summary: 'Plays a tone to the client when an event arrives or at the start.',
  inputs: { events: 'event', audio: 'audio' },
  optionalInputs: ['audio'],
  outputs: { audio: 'audio', events: 'event' },
  options,
  formats: playerFormats,
  open: (given, context) => {
    const { sampleRateHz } = portFormat(context.outputs)
    return playback(toneCadence(stepsOf(given.tone), sampleRateHz, given.durationMs), given, context)
  },
})

const stepsOf = (given: ToneName | readonly StepOptions[]): readonly ToneStep[] =>
  typeof given === 'string'
    ? knownTones[given]
    : given.map(({ offMs = 0, levelDbm0 = -10, ...rest }) => ({ ...rest, offMs, levelDbm0 }))

import * as t from 'io-ts'
import { knownTones, toneCadence, type ToneStep } from '../../../audio/tone-cadence.js'
import { SpeechError } from '../../../errors/speech-error.js'
import { defineNode } from '../core/define-node.js'
import { tableWith } from '../core/events.js'
import { listOf, nodeOptions, numberFrom, wholeNumberFrom } from '../core/node-options.js'
import { playback } from './playback.js'
import { playerFormats, playerOptions } from './player-options.js'

const stepOptions = nodeOptions(
  { frequenciesHz: listOf(numberFrom(20, 20_000), 4), onMs: wholeNumberFrom(1, 60_000) },
  { offMs: wholeNumberFrom(0, 60_000), levelDbm0: numberFrom(-60, 0) },
)
type StepOptions = t.TypeOf<typeof stepOptions>
const steps = listOf(
  tableWith(
    stepOptions,
    ['frequenciesHz', 'onMs', 'offMs', 'levelDbm0'],
    'a step of frequenciesHz, onMs, offMs, levelDbm0',
  ),
  16,
)

type ToneName = keyof typeof knownTones
const toneNames = Object.keys(knownTones)
const isTone = (value: unknown): value is ToneName | readonly StepOptions[] =>
  (typeof value === 'string' && toneNames.includes(value)) || (steps.is(value) && value.length > 0)
const tone = new t.Type<ToneName | readonly StepOptions[], unknown>(
  `one of ${toneNames.join(', ')}, or ${steps.name}`,
  isTone,
  (input, context) => (isTone(input) ? t.success(input) : t.failure(input, context)),
  (value) => value,
)

const options = nodeOptions({ tone }, { ...playerOptions, durationMs: wholeNumberFrom(1, 600_000) })

/**
 * Plays a tone to the client, by name (ITU-T E.180) or as steps of frequencies, level and pause, over and over for
 * `durationMs`, or once. When and how is told at `playback`, in which format at `playerFormats`.
 */
export const tonePlayer = defineNode({
  name: 'tone-player',
  summary: 'Plays a tone to the client when an event comes or at the start.',
  inputs: { events: 'event', audio: 'audio' },
  optionalInputs: ['audio'],
  outputs: { audio: 'audio', events: 'event' },
  options,
  formats: playerFormats,
  open: (given, context) => {
    const format = context.outputs['audio']
    if (format === undefined) throw new SpeechError('internal', 'The node has no audio port.')
    return playback(toneCadence(stepsOf(given.tone), format.sampleRateHz, given.durationMs), given, context)
  },
})

const stepsOf = (given: ToneName | readonly StepOptions[]): readonly ToneStep[] =>
  typeof given === 'string'
    ? knownTones[given]
    : given.map(({ offMs = 0, levelDbm0 = -10, ...step }) => ({ ...step, offMs, levelDbm0 }))

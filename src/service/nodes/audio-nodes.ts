import { channelMix } from './audio/channel-mix.js'
import { channelSplit } from './audio/channel-split.js'
import { downmix } from './audio/downmix.js'
import { gain } from './audio/gain.js'
import { levelMeter } from './signals/level-meter.js'
import type { AnyNodeDefinition } from './core/node.js'
import { recognizer } from './speech/recognizer.js'
import { resample } from './audio/resample.js'
import { transcode } from './audio/transcode.js'
import { voiceActivity } from './speech/voice-activity.js'

/** The built-in nodes that change audio, measure it or recognize what is said in it. */
export const audioNodes: readonly AnyNodeDefinition[] = [
  channelSplit,
  channelMix,
  downmix,
  gain,
  levelMeter,
  resample,
  transcode,
  voiceActivity,
  recognizer,
]

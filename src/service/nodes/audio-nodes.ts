import { channelMix } from './channel-mix.js'
import { channelSplit } from './channel-split.js'
import { downmix } from './downmix.js'
import { gain } from './gain.js'
import { levelMeter } from './level-meter.js'
import type { AnyNodeDefinition } from './node.js'
import { recognizer } from './recognizer.js'
import { resample } from './resample.js'
import { transcode } from './transcode.js'
import { voiceActivity } from './voice-activity.js'

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

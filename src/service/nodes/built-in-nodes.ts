import { resample, transcode } from './audio/conversion.js'
import { gain } from './audio/gain.js'
import { channelMix, channelSplit, downmix } from './audio/stereo.js'
import { entry, publisher } from './core/endpoints.js'
import type { AnyNodeDefinition } from './core/node.js'
import { eventFilter } from './events/event-filter.js'
import { eventTagger } from './events/event-tagger.js'
import { phraseSpotter } from './events/phrase-spotter.js'
import { promptPlayer } from './playback/prompt-player.js'
import { tonePlayer } from './playback/tone-player.js'
import { recorder } from './recordings/recorder.js'
import { dtmfDetector } from './signals/dtmf-detector.js'
import { levelMeter } from './signals/level-meter.js'
import { talkStatistics } from './signals/talk-statistics.js'
import { recognizer } from './speech/recognizer.js'
import { voiceActivity } from './speech/voice-activity.js'
import { webhook } from './webhook/webhook.js'

/** The nodes that every project can use. */
export const builtInNodes: readonly AnyNodeDefinition[] = [
  entry,
  publisher,
  channelSplit,
  channelMix,
  downmix,
  gain,
  levelMeter,
  resample,
  transcode,
  voiceActivity,
  recognizer,
  phraseSpotter,
  dtmfDetector,
  talkStatistics,
  eventTagger,
  eventFilter,
  recorder,
  webhook,
  tonePlayer,
  promptPlayer,
]

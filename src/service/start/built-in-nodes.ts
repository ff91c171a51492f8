import { SpeechError } from '../../errors/speech-error.js'
import { resample, transcode } from '../nodes/audio/conversion.js'
import { gain } from '../nodes/audio/gain.js'
import { channelMix, channelSplit, downmix } from '../nodes/audio/stereo.js'
import { entry, publisher } from '../nodes/core/endpoints.js'
import type { AnyNodeDefinition } from '../nodes/core/node.js'
import { eventFilter } from '../nodes/events/event-filter.js'
import { eventTagger } from '../nodes/events/event-tagger.js'
import { phraseSpotter } from '../nodes/events/phrase-spotter.js'
import { promptPlayer } from '../nodes/playback/prompt-player.js'
import { tonePlayer } from '../nodes/playback/tone-player.js'
import { recorder } from '../nodes/recordings/recorder.js'
import { dtmfDetector } from '../nodes/signals/dtmf-detector.js'
import { levelMeter } from '../nodes/signals/level-meter.js'
import { talkStatistics } from '../nodes/signals/talk-statistics.js'
import { recognizer } from '../nodes/speech/recognizer.js'
import { voiceActivity } from '../nodes/speech/voice-activity.js'
import { webhook } from '../nodes/webhook/webhook.js'

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

/** The nodes that projects can use: the built-in ones and `more`. Throws `invalid-options` for a name that occurs twice. */
export const nodeCatalog = (more: readonly AnyNodeDefinition[] = []): readonly AnyNodeDefinition[] => {
  const nodes = [...builtInNodes, ...more]
  const names = nodes.map(({ name }) => name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated === undefined) return nodes
  throw new SpeechError('invalid-options', `There are two nodes with the name ${repeated}; rename one of them.`)
}
